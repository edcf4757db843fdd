import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect } from "chai";

describe("a role that must not go on", () => {
  it("says why, drains and ends with 1", () => {
    const entry = path.join(import.meta.dirname, "fixtures", "ending-role.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", entry], {
      encoding: "utf8",
      timeout: 15_000,
    });
    expect({ status, stderr }).to.deep.equal({
      status: 1,
      stderr: "ending: the tables have rows of a later build\n",
    });
    expect(stdout).to.match(/drained\n$/);
  });
});
