import { expect } from "chai";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { NODE_OPTIONS } from "../../../scripts/roles/node-options.js";
import { MARKS_BESIDE } from "../../../scripts/roles/run-role.js";

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

  it("of a worker is marked to the end while nothing else allocates, and the process can end after it", async () => {
    const worker = start("worker-heap.ts", [...NODE_OPTIONS.worker, MARKS_BESIDE]);
    expect(await once(worker, "exit")).to.deep.equal([0, null]);
  }).timeout(30_000);
});
