import { expect } from "chai";
import fs from "node:fs";
import path from "node:path";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { startRedis } from "../../../scripts/embedded/redis.js";
import { isRunning, markOf } from "../../../scripts/supervisor/identity.js";
import { openLog } from "../../../scripts/supervisor/log.js";
import { type ProcessSet, type SetPlan, startSet } from "../../../scripts/supervisor/supervisor.js";
import { cacheDir } from "../../support/servers.js";
import { inTemporaryDirectory } from "../../support/temporary.js";
import { until } from "../../support/until.js";

const ROLE = path.join(import.meta.dirname, "fixtures", "role.mjs");
const quiet = (): void => undefined;
/** Longest stop of a set, in ms (contract section 9.3), and what the machine of the tests may add. */
const STOP_MS = 10_000 + 1_000;

/** Runs `use` with a set of stand-in roles, given by name and mode, on an embedded Redis and Postgres. */
async function withSet(
  modes: Readonly<Record<string, string>>,
  use: (set: ProcessSet) => Promise<void>,
  plan: Partial<SetPlan> = {},
): Promise<void> {
  await inTemporaryDirectory(async (dataDir) => {
    const log = openLog(path.join(dataDir, "overround.log"));
    const set = startSet({
      postgres: { start: (_, signal) => startPostgres({ dataDir, log: quiet, durable: false, signal }) },
      redis: { start: (_, signal) => startRedis({ dataDir, cacheDir, fsync: "always", log: quiet, signal }) },
      migrate: () => Promise.resolve(),
      roles: Object.entries(modes).map(([name, mode]) => ({
        role: name.replace(/-\d+$/, ""),
        name,
        entry: ROLE,
        env: { NAME: name, MODE: mode, JOURNAL: "/dev/null" },
      })),
      replaceMs: 10_000,
      log,
      say: quiet,
      ...plan,
    });
    try {
      await use(set);
    } finally {
      set.kill();
      await set.stop();
      log.close();
    }
  });
}

/** Stops the set and returns how long that took, in ms, and the names of the processes that still run. */
async function stop(set: ProcessSet) {
  const marks = [...set.pids()].map(([name, pid]) => [name, markOf(pid)] as const);
  const begunMs = Date.now();
  await set.stop();
  const tookMs = Date.now() - begunMs;
  return { tookMs, left: marks.filter(([, mark]) => isRunning(mark)).map(([name]) => name) };
}

function signal(set: ProcessSet, name: string, signalName: "SIGSTOP" | "SIGKILL"): void {
  process.kill(set.pids().get(name) ?? 0, signalName);
}

describe("the stop of a supervised set", function () {
  this.timeout(90_000);
  const stubborn = { worker: "stubborn", projector: "stubborn", jobs: "stubborn", gateway: "stubborn" };

  for (const [title, modes, prepare] of [
    ["no role drains", stubborn, quiet],
    ["no role drains and Redis is paused", stubborn, (set) => signal(set, "redis", "SIGSTOP")],
    ["Postgres is paused", { worker: "" }, (set) => signal(set, "postgres", "SIGSTOP")],
    ["Redis has just been killed", stubborn, (set) => signal(set, "redis", "SIGKILL")],
  ] as const satisfies readonly (readonly [string, Record<string, string>, (set: ProcessSet) => void])[]) {
    it(`takes ten seconds at most when ${title}`, () =>
      withSet(modes, async (set) => {
        await set.ready;
        prepare(set);
        const { tookMs, left } = await stop(set);
        expect(left).to.deep.equal([]);
        expect(tookMs).to.be.below(STOP_MS);
      }));
  }

  it("ends a role and a server that are still starting", () =>
    withSet({ worker: "hang" }, async (set) => {
      await until(() => set.pids().size === 2);
      await new Promise((resolve) => setTimeout(resolve, 500));
      const { tookMs, left } = await stop(set);
      expect(left).to.deep.equal([]);
      expect(tookMs).to.be.below(4_000);
    }));

  it("does not wait for a migration that hangs", () =>
    withSet(
      {},
      async (set) => {
        const { tookMs } = await stop(set);
        expect(tookMs).to.be.below(STOP_MS);
      },
      {
        postgres: { url: "postgres://elsewhere/db" },
        redis: { url: "redis://elsewhere" },
        migrate: () => new Promise<void>(quiet),
      },
    ));

  it("ends a Redis that never becomes ready", () =>
    inTemporaryDirectory(async (directory) => {
      const program = path.join(directory, "redis-server");
      const script = `#!/bin/sh\n[ "$1" = --version ] && echo 'Redis server v=7.2.4' && exit\nexec sleep 1000\n`;
      fs.writeFileSync(program, script, { mode: 0o755 });
      await withSet(
        {},
        async (set) => {
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          const { tookMs } = await stop(set);
          expect(tookMs).to.be.below(5_000);
        },
        {
          postgres: { url: "postgres://elsewhere/db" },
          redis: {
            start: (_, signal) =>
              startRedis({
                dataDir: directory,
                cacheDir,
                fsync: "always",
                log: quiet,
                serverBin: program,
                signal,
              }),
          },
        },
      );
    }));
});
