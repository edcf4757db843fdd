import { expect } from "chai";
import { type ChildProcess, fork, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { roleOutput } from "../../../scripts/roles/output.js";
import { type Program, programOf } from "../../support/run/program.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

/** Supervisors that are killed; CI kills a few, `KILLS=12` more. */
const KILLS = Number(process.env["KILLS"] ?? 4);
const ROOT = path.join(import.meta.dirname, "..", "..", "..");
const FIXTURES = path.join(import.meta.dirname, "fixtures");

/** Returns the processes whose environment has the mark, which children inherit. */
function processesWith(mark: string): number[] {
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return fs.readFileSync(`/proc/${pid}/environ`, "utf8").includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Waits until no process has the mark; kills those that remain after `timeoutMs`, and returns their ids. */
async function remaining(mark: string, timeoutMs: number): Promise<number[]> {
  for (const deadline = Date.now() + timeoutMs; processesWith(mark).length > 0 && Date.now() < deadline;) {
    await sleep(50);
  }
  const pids = processesWith(mark);
  for (const pid of pids) process.kill(pid, "SIGKILL");
  return pids;
}

function supervise(mark: string, { entry, execArgv }: Program, redisUrl: string, mode = ""): ChildProcess {
  const args = [entry, execArgv.join(" "), redisUrl, mode];
  return spawn(process.execPath, ["--import", "tsx", path.join(FIXTURES, "orphans.ts"), ...args], {
    cwd: ROOT,
    env: { ...process.env, MARK: mark, LOG_LEVEL: "trace" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function ready(supervisor: ChildProcess): Promise<void> {
  if (supervisor.stdout !== null) await once(supervisor.stdout, "data");
}

describe("the roles of a supervisor that is killed", function () {
  this.timeout(60_000 + KILLS * 20_000);
  let redis: FreshRedis;

  before(async function () {
    // Only Linux shows the environment of a process.
    if (process.platform !== "linux") this.skip();
    redis = await freshRedis();
  });

  after(() => redis.drop());

  it(`end within seconds (${KILLS} kills of three workers)`, async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const mark = randomUUID();
      const supervisor = supervise(mark, programOf("scripts/worker.ts"), redis.url);
      await ready(supervisor);
      await sleep(Math.random() * 500);
      supervisor.kill("SIGKILL");
      expect(await remaining(mark, 9_000), `kill ${kill}`).to.deep.equal([]);
    }
  });

  it("end when that happens during their start", async () => {
    for (const delayMs of [0, 300, 600]) {
      const mark = randomUUID();
      const supervisor = supervise(mark, programOf("scripts/worker.ts"), redis.url);
      // The supervisor itself is one of them.
      await until(() => processesWith(mark).length >= 4);
      await sleep(delayMs);
      supervisor.kill("SIGKILL");
      expect(await remaining(mark, 12_000), `killed after ${delayMs} ms`).to.deep.equal([]);
    }
  });

  it("end even when their event loop is blocked", async () => {
    const mark = randomUUID();
    const spinning = { entry: path.join(FIXTURES, "role.mjs"), execArgv: [] };
    const supervisor = supervise(mark, spinning, redis.url, "spin");
    await ready(supervisor);
    supervisor.kill("SIGKILL");
    expect(await remaining(mark, 14_000)).to.deep.equal([]);
  });
});

describe("the output of a role", () => {
  it("does not keep the process alive when nobody reads it", async () => {
    const child = fork(path.join(FIXTURES, "talkative.ts"), [], {
      cwd: ROOT,
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    if (child.stdout !== null) await once(child.stdout, "data");
    child.stdout?.destroy();
    child.send("end");
    const exited = once(child, "exit");
    const outcome = await Promise.race([exited, sleep(10_000, "still runs", { ref: false })]);
    child.kill("SIGKILL");
    expect(outcome).to.deep.equal([0, null]);
  });

  it("has every line, in order, also those of the last moment", () =>
    inTemporaryDirectory(async (directory) => {
      const file = path.join(directory, "log");
      const descriptor = fs.openSync(file, "a");
      const output = roleOutput(descriptor);
      const lines = Array.from({ length: 5_000 }, (_, line) => `line ${line}\n`);
      for (const line of lines.slice(0, 2_000)) output.write(line);
      await sleep(100);
      for (const line of lines.slice(2_000)) output.write(line);
      await sleep(100);
      output.write("last\n");
      output.write("very last\n");
      output.flushSync();
      await sleep(100);
      fs.closeSync(descriptor);
      const written = fs.readFileSync(file, "utf8");
      expect(written.startsWith(lines.join(""))).to.equal(true);
      expect(written.slice(lines.join("").length).split("\n").toSorted()).to.deep.equal([
        "",
        "last",
        "very last",
      ]);
    }));
});
