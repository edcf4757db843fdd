import { expect } from "chai";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { NODE_OPTIONS } from "../../../scripts/roles/node-options.js";
import { MARKS_BESIDE } from "../../../scripts/roles/run-role.js";
import { WorkerHeap } from "../../../scripts/roles/worker-heap.js";
import { untilWithin } from "../../support/until.js";

/** Returns the function by which V8 does a full collection at once. */
function exposedCollection(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

interface Sizes {
  readonly largest: number;
  readonly smallest: number;
}

describe("the heap of a role", () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill("SIGKILL"));

  function start(fixture: string, options: readonly string[] = []): ChildProcess {
    child = fork(path.join(import.meta.dirname, "fixtures", fixture), [], {
      execArgv: [...options, "--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    return child;
  }

  it("is collected before it is many times as large as what is live", async () => {
    const role = start("churning-role.ts");
    const { largest, smallest } = await new Promise<Sizes>((resolve, reject) => {
      role.on("message", (message) => {
        if (message !== "ready") resolve(message as Sizes);
      });
      role.once("exit", (code) => reject(new Error(`ended with ${code ?? "a signal"}`)));
    });
    // With the default of V8 the factor is above 5.
    expect(largest / smallest).to.be.lessThan(4);
  }).timeout(60_000);

  it("of a worker is compacted by one full collection in eight", async () => {
    const collect = exposedCollection();
    const flags: string[] = [];
    const heap = new WorkerHeap((flag) => flags.push(flag));
    try {
      for (let n = 1; n <= 16; n += 1) {
        collect();
        await untilWithin(10_000, () => expect(flags).to.have.length(n + 1));
      }
    } finally {
      heap.stop();
    }
    const compacts = flags.flatMap((flag, n) => (flag.startsWith("--no-") ? [n + 1] : []));
    expect(compacts, "the collections before which moves are switched on").to.deep.equal([8, 16]);
  }).timeout(30_000);

  it("of a worker is marked to the end while nothing else allocates, and the process can end after it", async () => {
    const worker = start("worker-heap.ts", [...NODE_OPTIONS.worker, MARKS_BESIDE]);
    expect(await once(worker, "exit")).to.deep.equal([0, null]);
  }).timeout(30_000);
});
