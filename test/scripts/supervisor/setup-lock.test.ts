import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { exclusively, LockHeld } from "../../../scripts/supervisor/setup-lock.mjs";

const SHORT_WAIT_MS = 300;

describe("the lock of the set-up", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), "setup-lock-"));
    file = path.join(folder, "setup.lock");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  function run(onWait: (holder: number) => void = () => undefined): boolean {
    let ran = false;
    exclusively(file, { waitMs: SHORT_WAIT_MS, onWait }, () => {
      ran = existsSync(file);
    });
    return ran;
  }

  it("is held while the work runs, and removed after it, also when the work fails", () => {
    expect(run()).to.equal(true);
    expect(existsSync(file)).to.equal(false);
    const failing = (): void =>
      exclusively(file, { waitMs: SHORT_WAIT_MS, onWait: () => undefined }, () => {
        throw new Error("the work failed");
      });
    expect(failing).to.throw("the work failed");
    expect(existsSync(file)).to.equal(false);
  });

  it("is taken from a process that has ended", () => {
    writeFileSync(file, "999999999");
    expect(run()).to.equal(true);
  });

  it("is taken from a process that died before it wrote its id", () => {
    writeFileSync(file, "");
    const longAgo = Date.now() / 1_000 - 60;
    utimesSync(file, longAgo, longAgo);
    expect(run()).to.equal(true);
  });

  it("waits for a live process, names it once, and gives up without removing its lock", () => {
    writeFileSync(file, String(process.ppid));
    const waited: number[] = [];
    expect(() => run((holder) => waited.push(holder))).to.throw(
      LockHeld,
      `another set-up (process ${process.ppid}) has not ended`,
    );
    expect(waited).to.deep.equal([process.ppid]);
    expect(existsSync(file)).to.equal(true);
  });
});
