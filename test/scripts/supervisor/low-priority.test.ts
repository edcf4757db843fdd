import { expect } from "chai";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { openLog } from "../../../scripts/supervisor/log.js";
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

/** Runs `use` with a worker, a gateway of low priority and an embedded Postgres; `backend` opens a session there. */
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
      roles: [role("worker"), { ...role("gateway"), hasLowPriority: true }],
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

describe("low priority", function () {
  this.timeout(90_000);

  it("raises the nice value of roles and of Postgres, with its present and future backends, but of no worker", () =>
    withSet(async ({ pidOf, backend }) => {
      const base = os.getPriority();
      const low = Math.min(19, base + 4);
      const first = await backend();
      await until(() => os.getPriority(first) === low);
      const second = await backend();
      await until(() => os.getPriority(second) === low);
      const values = ["worker", "gateway", "postgres"].map((name) => os.getPriority(pidOf(name)));
      expect(values).to.deep.equal([base, low, low]);
    }));

  (hasAutogroups ? it : it.skip)(
    "raises the nice value of their autogroups, which every backend of Postgres has of its own (needs autogroups)",
    () =>
      withSet(async ({ pidOf, backend }) => {
        const backends = [await backend(), await backend()];
        await until(() => backends.every((pid) => autogroupNice(pid) === 4));
        backends.push(await backend());
        const low = [pidOf("gateway"), pidOf("postgres"), ...backends];
        await until(() => low.every((pid) => autogroupNice(pid) === 4));
        expect(autogroupNice(pidOf("worker"))).to.equal(0);
      }),
  );

  (hasAutogroups ? it : it.skip)("holds for a role that was killed and restarts (needs autogroups)", () =>
    withSet(async ({ pidOf }) => {
      const first = pidOf("gateway");
      process.kill(first, "SIGKILL");
      await until(() => {
        try {
          const pid = pidOf("gateway");
          return pid !== first && autogroupNice(pid) === 4;
        } catch {
          return false;
        }
      });
    }),
  );
});
