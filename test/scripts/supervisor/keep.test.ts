import { expect } from "chai";
import { keepRunning, type Running } from "../../../scripts/supervisor/keep.js";
import { until } from "../../support/until.js";

/** Process that runs until `end` or `stop` is called. */
class FakeProcess implements Running {
  static count = 0;
  readonly pid = ++FakeProcess.count;
  stopped = false;
  private listener: (how: string) => void = () => undefined;

  onExit(listener: (how: string) => void): void {
    this.listener = listener;
  }

  end(how: string): void {
    this.listener(how);
  }

  stop(): Promise<void> {
    this.stopped = true;
    this.end("SIGTERM");
    return Promise.resolve();
  }
}

function setUp(start?: () => Promise<Running>) {
  const runs: FakeProcess[] = [];
  const lines: string[] = [];
  const begin = (): Promise<Running> => {
    const run = new FakeProcess();
    runs.push(run);
    return Promise.resolve(run);
  };
  const kept = (options: { firstAttempts?: number; mayFinish?: boolean } = {}) =>
    keepRunning({
      name: "worker",
      start: start ?? begin,
      say: (line) => lines.push(line),
      firstAttempts: 1,
      ...options,
    });
  return { runs, lines, kept };
}

/** Begins to replace a process by a successor, which runs when `finish` is called. */
async function replacing() {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  let starts = 0;
  let started: (running: Running) => void = () => undefined;
  const { kept } = setUp(() =>
    ++starts === 1 ? Promise.resolve(first) : new Promise((resolve) => (started = resolve)),
  );
  const worker = kept();
  await worker.ready;
  const replaced = worker.replace();
  return { first, second, worker, replaced, finish: () => started(second), starts: () => starts };
}

describe("a kept process", () => {
  it("restarts when it ends, after a pause that doubles", async () => {
    const { runs, lines, kept } = setUp();
    const worker = kept();
    await worker.ready;
    const startedMs = Date.now();
    runs[0]?.end("SIGKILL");
    await until(() => runs.length === 2);
    runs[1]?.end("exit code 1");
    await until(() => runs.length === 3);
    expect(Date.now() - startedMs).to.be.within(280, 2_000);
    expect(lines[0]).to.match(/^worker \(process \d+\) ended: SIGKILL; restarting it$/);
    expect(lines[1]).to.match(/^worker is running again \(process \d+\)$/);
    expect(worker.pid()).to.equal(runs[2]?.pid);
    await worker.stop();
  });

  it("is replaced by a successor that is ready before the process stops", async () => {
    const { runs, lines, kept } = setUp();
    const worker = kept();
    await worker.ready;
    await worker.replace();
    const [first, second] = runs;
    expect(first?.stopped).to.equal(true);
    expect(second?.stopped).to.equal(false);
    expect(lines).to.deep.equal([
      `worker is process ${second?.pid ?? 0} from now on; process ${first?.pid ?? 0} stops`,
    ]);
    await until(() => worker.pid() === second?.pid);
    second?.end("SIGKILL");
    await until(() => runs.length === 3);
    await until(() => worker.pid() === runs[2]?.pid);
    await worker.stop();
    expect(runs[2]?.stopped).to.equal(true);
  });

  it("goes on when its successor cannot start", async () => {
    const first = new FakeProcess();
    let starts = 0;
    const { lines, kept } = setUp(() =>
      ++starts === 1 ? Promise.resolve(first) : Promise.reject(new Error("no successor")),
    );
    const worker = kept();
    await worker.ready;
    const outcome = await worker.replace().then(String, String);
    expect(outcome).to.equal("Error: no successor");
    expect(worker.pid()).to.equal(first.pid);
    expect(first.stopped).to.equal(false);
    expect(lines).to.deep.equal([]);
    await worker.stop();
    expect(first.stopped).to.equal(true);
  });

  it("goes on as its successor when it ends while the successor starts", async () => {
    const { first, second, worker, replaced, finish, starts } = await replacing();
    first.end("SIGKILL");
    finish();
    await replaced;
    await until(() => worker.pid() === second.pid);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(starts()).to.equal(2);
    await worker.stop();
    expect(second.stopped).to.equal(true);
  });

  it("stops its successor too when the stop comes during a replacement", async () => {
    const { first, second, worker, replaced, finish } = await replacing();
    const stopped = worker.stop();
    finish();
    await Promise.all([replaced, stopped]);
    expect([first.stopped, second.stopped]).to.deep.equal([true, true]);
    expect(worker.pid()).to.equal(undefined);
  });

  it("stays down after a stop", async () => {
    const { runs, kept } = setUp();
    const worker = kept();
    await worker.ready;
    await worker.stop();
    expect(runs.map(({ stopped }) => stopped)).to.deep.equal([true]);
    expect(worker.pid()).to.equal(undefined);
  });

  it("can be stopped between two runs", async () => {
    const { runs, kept } = setUp();
    const worker = kept();
    await worker.ready;
    runs[0]?.end("SIGKILL");
    await worker.stop();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(runs).to.have.length(1);
  });

  it("stops as soon as it has started when the stop came during the start", async () => {
    const run = new FakeProcess();
    let finish: (running: Running) => void = () => undefined;
    const { kept } = setUp(() => new Promise((resolve) => (finish = resolve)));
    const worker = kept();
    const stopped = worker.stop();
    finish(run);
    await stopped;
    expect(run.stopped).to.equal(true);
  });

  it("rejects when the first start has failed the given number of times", async () => {
    let attempts = 0;
    const { lines, kept } = setUp(() => Promise.reject(new Error(`attempt ${++attempts}`)));
    const outcome = await kept({ firstAttempts: 3 }).ready.then(String, String);
    expect(outcome).to.equal("Error: attempt 3");
    expect(lines).to.have.length(2);
  });

  it("does not restart when it may finish and has ended with 0", async () => {
    const { runs, lines, kept } = setUp();
    const demo = kept({ mayFinish: true });
    await demo.ready;
    runs[0]?.end("exit code 0");
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(runs).to.have.length(1);
    expect(lines).to.deep.equal([]);
    await demo.stop();
  });
});
