import { expect } from "chai";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { NODE_OPTIONS } from "../../../scripts/roles/node-options.js";
import { MARKS_BESIDE } from "../../../scripts/roles/run-role.js";

describe("the heap of a worker", () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill("SIGKILL"));

  it("is marked to the end while nothing else allocates, and the process can end after it", async () => {
    child = fork(path.join(import.meta.dirname, "fixtures", "worker-heap.ts"), [], {
      execArgv: [...NODE_OPTIONS.worker, MARKS_BESIDE, "--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    expect(await once(child, "exit")).to.deep.equal([0, null]);
  }).timeout(30_000);
});
