import { expect } from "chai";
import { keepRunning, type Running } from "../../../scripts/supervisor/keep.js";
import { until } from "../../support/until.js";

/** A process that lives until `end` is called or it is stopped. */
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

function scenario(start?: () => Promise<Running>) {
  const lives: FakeProcess[] = [];
  const said: string[] = [];
  const begin = (): Promise<Running> => {
    const life = new FakeProcess();
    lives.push(life);
    return Promise.resolve(life);
  };
  const kept = (options: { firstAttempts?: number; mayFinish?: boolean } = {}) =>
    keepRunning({
      name: "worker",
      start: start ?? begin,
      say: (l) => said.push(l),
      firstAttempts: 1,
      ...options,
    });
  return { lives, said, kept };
}

describe("a kept process", () => {
  it("is started again when it dies, after a pause that doubles", async () => {
    const { lives, said, kept } = scenario();
    const worker = kept();
    await worker.ready;
    const startedMs = Date.now();
    lives[0]?.end("SIGKILL");
    await until(() => lives.length === 2);
    lives[1]?.end("exit code 1");
    await until(() => lives.length === 3);
    expect(Date.now() - startedMs).to.be.within(280, 2_000);
    expect(said[0]).to.match(/^worker \(process \d+\) ended: SIGKILL; starting it again$/);
    expect(said[1]).to.match(/^worker runs again \(process \d+\)$/);
    expect(worker.pid()).to.equal(lives[2]?.pid);
    await worker.stop();
  });

  it("stays down after a stop", async () => {
    const { lives, kept } = scenario();
    const worker = kept();
    await worker.ready;
    await worker.stop();
    expect(lives.map(({ stopped }) => stopped)).to.deep.equal([true]);
    expect(worker.pid()).to.equal(undefined);
  });

  it("can be stopped between two lives", async () => {
    const { lives, kept } = scenario();
    const worker = kept();
    await worker.ready;
    lives[0]?.end("SIGKILL");
    await worker.stop();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(lives).to.have.length(1);
  });

  it("is stopped as soon as it is up when the stop came during its start", async () => {
    const life = new FakeProcess();
    let finish: (running: Running) => void = () => undefined;
    const { kept } = scenario(() => new Promise((resolve) => (finish = resolve)));
    const worker = kept();
    const stopped = worker.stop();
    finish(life);
    await stopped;
    expect(life.stopped).to.equal(true);
  });

  it("reports a first start that fails as often as it may", async () => {
    let attempts = 0;
    const { said, kept } = scenario(() => Promise.reject(new Error(`attempt ${++attempts}`)));
    const outcome = await kept({ firstAttempts: 3 }).ready.then(String, String);
    expect(outcome).to.equal("Error: attempt 3");
    expect(said).to.have.length(2);
  });

  it("is not started again when it may finish and has done so", async () => {
    const { lives, said, kept } = scenario();
    const demo = kept({ mayFinish: true });
    await demo.ready;
    lives[0]?.end("exit code 0");
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(lives).to.have.length(1);
    expect(said).to.deep.equal([]);
    await demo.stop();
  });
});
