import { expect } from "chai";
import { fork } from "node:child_process";
import path from "node:path";

interface Sizes {
  readonly largest: number;
  readonly smallest: number;
}

describe("the heap of a role", () => {
  it("is collected before it is many times as large as what is live", async () => {
    const child = fork(path.join(import.meta.dirname, "fixtures", "churning-role.ts"), [], {
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    try {
      const { largest, smallest } = await new Promise<Sizes>((resolve, reject) => {
        child.on("message", (message) => {
          if (message !== "ready") resolve(message as Sizes);
        });
        child.once("exit", (code) => reject(new Error(`ended with ${code ?? "a signal"}`)));
      });
      // With the default of V8 the factor is above 5.
      expect(largest / smallest).to.be.lessThan(4);
    } finally {
      child.kill("SIGKILL");
    }
  }).timeout(60_000);
});
