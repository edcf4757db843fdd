import { expect } from "chai";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { sessionOf } from "../../../scripts/supervisor/identity.js";
import { openLog } from "../../../scripts/supervisor/log.js";
import { BACKGROUND, GATEWAY, Priorities, REDIS, WORKER } from "../../../scripts/supervisor/priorities.js";
import { SpareTime } from "../../../scripts/supervisor/spare-time.js";
import { startSet } from "../../../scripts/supervisor/supervisor.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const ROLE = path.join(import.meta.dirname, "fixtures", "role.mjs");
const quiet = (): void => undefined;
const hasAutogroups = fs.existsSync("/proc/self/autogroup");

/** Returns the nice value of the session of a process. */
function autogroupNice(pid: number): number {
  return Number(/nice (-?\d+)/.exec(fs.readFileSync(`/proc/${pid}/autogroup`, "utf8"))?.[1]);
}

const SCHED_OTHER = 0;
const SCHED_IDLE = 5;

/** Returns the scheduling policy of a process. */
function policyOf(pid: number): number {
  // The name of the process, which may contain spaces, is in parentheses; the policy is the 39th field after it.
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[38]);
}

/** Bit of the permission to raise priorities, among the capabilities of a process. */
const CAP_SYS_NICE = 23n;

/** Returns whether this process has a capability of Linux. */
function hasCapability(bit: bigint): boolean {
  const status = fs.readFileSync("/proc/self/status", "utf8");
  return ((BigInt(`0x${/CapEff:\s*([0-9a-f]+)/.exec(status)?.[1] ?? "0"}`) >> bit) & 1n) === 1n;
}

/** Nice values of a worker, and of what no order waits for. */
const worker = hasCapability(CAP_SYS_NICE) ? -12 : 0;
const background = hasCapability(CAP_SYS_NICE) ? 8 : 4;

/** Runs `use` with a worker, a gateway, a projector of low priority and an embedded Postgres; `backend` opens a session there. */
async function withSet(
  use: (parts: { pidOf: (name: string) => number; backend: () => Promise<number> }) => Promise<void>,
): Promise<void> {
  await inTemporaryDirectory(async (dataDir) => {
    const log = openLog(path.join(dataDir, "overround.log"));
    const clients: pg.Client[] = [];
    let url = "";
    const role = (name: string) => ({
      role: name,
      name,
      entry: ROLE,
      env: { NAME: name, MODE: "", JOURNAL: "/dev/null" },
    });
    const set = startSet({
      postgres: {
        start: async (_, signal) => {
          const server = await startPostgres({ dataDir, log: quiet, durable: false, signal });
          url = server.url;
          return server;
        },
      },
      redis: { url: "redis://elsewhere" },
      migrate: () => Promise.resolve(),
      roles: [
        { ...role("worker"), niceness: WORKER },
        { ...role("projector"), niceness: BACKGROUND },
        { ...role("gateway"), niceness: GATEWAY },
      ],
      replaceMs: 10_000,
      log,
      say: quiet,
    });
    const backend = async (): Promise<number> => {
      const client = new pg.Client({ connectionString: url });
      clients.push(client);
      client.on("error", quiet);
      await client.connect();
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      return rows[0]?.pid ?? expect.fail("the backend has no process id");
    };
    try {
      await set.ready;
      await use({ pidOf: (name) => set.pids().get(name) ?? expect.fail(`${name} does not run`), backend });
    } finally {
      await Promise.all(clients.map((client) => client.end()));
      await set.stop();
      log.close();
    }
  });
}

describe("priorities", function () {
  this.timeout(90_000);

  it("lowers roles and Postgres, with its present and future backends, and raises workers where that is permitted", () =>
    withSet(async ({ pidOf, backend }) => {
      const base = os.getPriority();
      const low = Math.min(19, base + background);
      const first = await backend();
      await until(() => os.getPriority(first) === low);
      const second = await backend();
      await until(() => os.getPriority(second) === low);
      const values = ["worker", "gateway", "projector", "postgres"].map((name) =>
        os.getPriority(pidOf(name)),
      );
      expect(values).to.deep.equal(
        hasCapability(CAP_SYS_NICE) ? [base + worker, base, low, low] : [base, low, low, low],
      );
    }));

  it("raises projectors and Postgres to the priority of gateways while a projector is behind (needs Linux)", function () {
    if (process.platform !== "linux" || !hasCapability(CAP_SYS_NICE)) this.skip();
    return withSet(async ({ pidOf, backend }) => {
      const base = os.getPriority();
      const lowered = [pidOf("postgres"), await backend()];
      const priorities = (): number[] => [pidOf("projector"), ...lowered].map((pid) => os.getPriority(pid));
      const autogroups = (): number[] => [pidOf("projector"), ...lowered].map(autogroupNice);
      const become = async (nice: number): Promise<void> => {
        await until(() => priorities().every((priority) => priority === Math.min(19, base + nice)));
        if (hasAutogroups) await until(() => autogroups().every((value) => value === nice));
      };
      await become(background);
      // The signal makes the role say that it is behind, or no longer.
      process.kill(pidOf("projector"), "SIGUSR2");
      await become(0);
      process.kill(pidOf("projector"), "SIGUSR2");
      await become(background);
      process.kill(pidOf("projector"), "SIGUSR2");
      await become(0);
      process.kill(pidOf("projector"), "SIGKILL");
      await until(() => lowered.every((pid) => os.getPriority(pid) === Math.min(19, base + background)));
    });
  });

  (hasAutogroups ? it : it.skip)(
    "raises the nice value of their autogroups, which every backend of Postgres has of its own (needs autogroups)",
    () =>
      withSet(async ({ pidOf, backend }) => {
        const backends = [await backend(), await backend()];
        await until(() => backends.every((pid) => autogroupNice(pid) === background));
        backends.push(await backend());
        const low = [pidOf("projector"), pidOf("postgres"), ...backends];
        await until(() => low.every((pid) => autogroupNice(pid) === background));
        expect(autogroupNice(pidOf("worker"))).to.equal(worker);
      }),
  );

  (hasAutogroups ? it : it.skip)("holds for a role that was killed and restarts (needs autogroups)", () =>
    withSet(async ({ pidOf }) => {
      const first = pidOf("projector");
      process.kill(first, "SIGKILL");
      await until(() => {
        try {
          const pid = pidOf("projector");
          return pid !== first && autogroupNice(pid) === background;
        } catch {
          return false;
        }
      });
    }),
  );

  it("raises a worker where that is permitted, and reports nothing where it is not (needs Linux)", function () {
    if (process.platform !== "linux") this.skip();
    const lines: string[] = [];
    const base = os.getPriority();
    const child = spawn("sleep", ["60"], { stdio: "ignore", detached: true });
    const pid = child.pid ?? expect.fail();
    const priorities = new Priorities((line) => lines.push(line));
    try {
      priorities.add({ pid, onExit: quiet }, WORKER);
      expect(os.getPriority(pid)).to.equal(base + worker);
      if (hasAutogroups) expect(autogroupNice(pid)).to.equal(worker);
    } finally {
      child.kill();
      priorities.stop();
    }
    expect(lines).to.deep.equal([]);
  });

  it("lowers only the children of Redis, within its session (needs Linux)", async function () {
    if (process.platform !== "linux") this.skip();
    const base = os.getPriority();
    const child = spawn("sh", ["-c", "sleep 60 & echo $!; wait"], { detached: true });
    const pid = child.pid ?? expect.fail();
    const priorities = new Priorities(quiet);
    try {
      priorities.add({ pid, onExit: quiet }, REDIS);
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      const rewrite = Number(line.toString());
      await until(() => os.getPriority(rewrite) === Math.min(19, base + 10));
      expect(os.getPriority(pid)).to.equal(base);
      if (hasAutogroups) expect(autogroupNice(pid)).to.equal(0);
    } finally {
      process.kill(-pid);
      priorities.stop();
    }
  });

  it("gives the children of Redis spare time alone, and only at first (needs Linux and chrt)", async function () {
    if (process.platform !== "linux" || !hasCapability(CAP_SYS_NICE) || spawnSync("chrt", ["-V"]).error)
      this.skip();
    const child = spawn("sh", ["-c", "sleep 60 & echo $!; wait"], { detached: true });
    const pid = child.pid ?? expect.fail();
    const priorities = new Priorities(quiet, new SpareTime(1_500));
    try {
      const [line] = (await once(child.stdout, "data")) as [Buffer];
      const rewrite = Number(line.toString());
      priorities.add({ pid, onExit: quiet }, REDIS);
      await until(() => policyOf(rewrite) === SCHED_IDLE);
      expect(policyOf(pid)).to.equal(SCHED_OTHER);
      await until(() => policyOf(rewrite) === SCHED_OTHER);
      await setTimeout(2_000);
      expect(policyOf(rewrite), "in a later round").to.equal(SCHED_OTHER);
    } finally {
      process.kill(-pid);
      priorities.stop();
    }
  });

  (hasAutogroups ? it : it.skip)(
    "finds the session that a child opens after it was found itself, as a backend of Postgres does (needs autogroups)",
    async () => {
      const script = "(sleep 1.5; exec setsid sleep 60) & echo $!; wait";
      const child = spawn("sh", ["-c", script], { detached: true });
      const pid = child.pid ?? expect.fail();
      const priorities = new Priorities(quiet);
      let backend = 0;
      try {
        const [line] = (await once(child.stdout, "data")) as [Buffer];
        backend = Number(line.toString());
        priorities.add({ pid, onExit: quiet }, BACKGROUND);
        await until(() => sessionOf(backend) === backend && autogroupNice(backend) === background);
      } finally {
        if (backend !== 0) process.kill(backend);
        process.kill(-pid);
        priorities.stop();
      }
    },
  );

  for (const [what, method, code] of [
    ["the list of processes cannot be read", "readdirSync", "EMFILE"],
    ["no change is permitted", "writeFileSync", "EACCES"],
  ] as const)
    it(`reports once, and ends nothing, while ${what} (needs Linux)`, async function () {
      if (process.platform !== "linux") this.skip();
      const lines: string[] = [];
      const children = [1, 2].map(() => spawn("sleep", ["60"], { stdio: "ignore", detached: true }));
      const priorities = new Priorities((line) => lines.push(line));
      const original = fs[method];
      let calls = 0;
      const refuse = (): never => {
        calls += 1;
        throw Object.assign(new Error(`${code}: refused`), { code });
      };
      Object.assign(fs, { [method]: refuse });
      try {
        for (const { pid } of children)
          priorities.add({ pid: pid ?? expect.fail(), onExit: quiet }, BACKGROUND);
        // The rounds after the first run on a timer, where an error would end the process.
        await until(() => calls > 2 || method === "writeFileSync");
      } finally {
        for (const child of children) child.kill();
        Object.assign(fs, { [method]: original });
        priorities.stop();
      }
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include(`${code}: refused`);
    });
});
