import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { lockDataDir } from "../../../scripts/supervisor/lock.js";
import { inTemporaryDirectory } from "../../support/temporary.js";

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => String(error),
  );
}

describe("the lock of a data directory", () => {
  it("belongs to one set at a time, and is free after its release", () =>
    inTemporaryDirectory(async (directory) => {
      const lock = await lockDataDir(directory);
      expect(await failure(lockDataDir(directory))).to.include(
        `${directory} is in use by process ${process.pid}: stop it with kill ${process.pid}`,
      );
      lock.release();
      (await lockDataDir(directory)).release();
      expect(fs.readdirSync(directory)).to.deep.equal([]);
    }));

  it("is taken over from a process that has ended", () =>
    inTemporaryDirectory(async (directory) => {
      const child = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"]);
      await once(child, "spawn");
      const mark = markOf(child.pid ?? 0);
      fs.writeFileSync(path.join(directory, "lock"), JSON.stringify(mark));
      expect(isRunning(mark)).to.equal(true);
      expect(await failure(lockDataDir(directory))).to.include("in use by process");
      child.kill("SIGKILL");
      await once(child, "exit");
      (await lockDataDir(directory)).release();
    }));

  it("is taken over when its process id belongs to a later process", () =>
    inTemporaryDirectory(async (directory) => {
      const reused = { pid: process.pid, started: "long ago" };
      fs.writeFileSync(path.join(directory, "lock"), JSON.stringify(reused));
      (await lockDataDir(directory)).release();
    }));

  it("is not honored in a copy of the directory of a running set, and survives a move", () =>
    inTemporaryDirectory(async (directory) => {
      const [original, copy, moved] = ["original", "copy", "moved"].map((name) =>
        path.join(directory, name),
      ) as [string, string, string];
      const lock = await lockDataDir(original);
      fs.cpSync(original, copy, { recursive: true });
      const other = await lockDataDir(copy);
      expect(await failure(lockDataDir(copy))).to.include(`${copy} is in use by process ${process.pid}`);
      other.release();
      fs.renameSync(original, moved);
      expect(await failure(lockDataDir(moved))).to.include(`${moved} is in use by process ${process.pid}`);
      lock.release();
    }));

  it("is taken over when its file is truncated", () =>
    inTemporaryDirectory(async (directory) => {
      fs.writeFileSync(path.join(directory, "lock"), "");
      (await lockDataDir(directory)).release();
    }));

  it("goes to exactly one of two processes that take it over at once", () =>
    inTemporaryDirectory(async (directory) => {
      fs.writeFileSync(path.join(directory, "lock"), JSON.stringify({ pid: 1, started: "long ago" }));
      const taken = await Promise.allSettled([lockDataDir(directory), lockDataDir(directory)]);
      expect(taken.filter(({ status }) => status === "fulfilled")).to.have.length(1);
    }));

  it("names a directory that cannot be written", () =>
    inTemporaryDirectory(async (directory) => {
      const file = path.join(directory, "file");
      fs.writeFileSync(file, "");
      expect(await failure(lockDataDir(path.join(file, "data")))).to.match(
        /cannot write to .*data .*set DATA_DIR to a directory that you own/,
      );
    }));
});
