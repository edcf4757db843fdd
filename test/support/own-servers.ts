/** Redis and Postgres that one test has to itself, so that it may stop their processes with SIGSTOP. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { migrate } from "../../db/migrate.js";
import { startPostgres } from "../../scripts/embedded/postgres.js";
import { startRedis } from "../../scripts/embedded/redis.js";
import { cacheDir, type FreshDatabase, type FreshRedis } from "./servers.js";

export interface OwnServers {
  readonly redis: FreshRedis;
  readonly database: FreshDatabase;
  /** Stops every process of a server; the returned function lets them continue. */
  hang(server: "redis" | "postgres"): () => void;
}

/** Returns a process and its children: Postgres has one for each connection. */
function processesOf(pid: number): number[] {
  try {
    const children = execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
    return [pid, ...children.trim().split("\n").map(Number)];
  } catch {
    return [pid];
  }
}

/** Starts both servers; the database has its tables. `drop` of each stops it. */
export async function startOwnServers(): Promise<OwnServers> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  const log = (): void => undefined;
  const redis = await startRedis({ dataDir, log, cacheDir, fsync: "everysec" });
  const postgres = await startPostgres({ dataDir, log, durable: false });
  await migrate(postgres.url);
  const pids = { redis: redis.pid, postgres: postgres.pid };
  return {
    redis: { url: redis.url, prefix: "", drop: () => redis.stop(1_000) },
    database: {
      url: postgres.url,
      drop: async () => {
        await postgres.stop(1_000);
        fs.rmSync(dataDir, { recursive: true, force: true });
      },
    },
    hang: (server) => {
      const stopped = processesOf(pids[server]);
      for (const pid of stopped) process.kill(pid, "SIGSTOP");
      return () => {
        for (const pid of stopped) process.kill(pid, "SIGCONT");
      };
    },
  };
}
