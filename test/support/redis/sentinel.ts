/** A primary, its two replicas and one sentinel, on this machine. */

import fs from "node:fs";
import type { Redis } from "ioredis";
import { untilWithin } from "../until.js";
import {
  administer,
  freePorts,
  PASSWORD,
  ServerProcess,
  serverDirectory,
  writeConfig,
} from "./server-process.js";

const NAME = "exchange";
/** Silence in ms after which the sentinel replaces the primary. */
const DOWN_MS = 1_000;
const READY_MS = 30_000;

export interface SentinelSet {
  /** Address of the sentinel, in the form that `RedisLog.open` expects. */
  readonly url: string;
  /** Ends the replication, and kills the primary after `lagMs`. Resolves when a replica is the primary. */
  failOver(lagMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the processes; resolves when the sentinel knows the replicas. */
export async function startSentinelSet(): Promise<SentinelSet> {
  const directory = serverDirectory();
  const [first = 0, second = 0, third = 0, sentinelPort = 0] = await freePorts(4);
  const start = (port: number, primary?: number): ServerProcess =>
    new ServerProcess(
      directory,
      writeConfig(directory, `${port}.conf`, [
        ["port", port],
        ["bind", "127.0.0.1"],
        ["requirepass", `"${PASSWORD}"`],
        ["masterauth", `"${PASSWORD}"`],
        ["repl-diskless-sync-delay", 0],
        ["dbfilename", `${port}.rdb`],
        ["save", '""'],
        ...(primary === undefined ? [] : ([["replicaof", `127.0.0.1 ${primary}`]] as const)),
      ]),
    );
  const primaryServer = start(first);
  const servers = [primaryServer, start(second, first), start(third, first)];
  const primary = administer(first);
  const replicas = [administer(second), administer(third)];
  const anyHas = async (line: string): Promise<boolean> =>
    (await Promise.all(replicas.map((replica) => hasLine(replica, line)))).includes(true);
  for (const replica of replicas)
    await untilWithin(READY_MS, async () => hasLine(replica, "master_link_status:up"));
  const config = writeConfig(directory, "sentinel.conf", [
    ["port", sentinelPort],
    ["bind", "127.0.0.1"],
    ["sentinel monitor", `${NAME} 127.0.0.1 ${first} 1`],
    ["sentinel auth-pass", `${NAME} "${PASSWORD}"`],
    ["sentinel down-after-milliseconds", `${NAME} ${DOWN_MS}`],
    ["sentinel failover-timeout", `${NAME} 10000`],
  ]);
  const sentinelServer = new ServerProcess(directory, config, ["--sentinel"]);
  const sentinel = administer(sentinelPort, "");
  await untilWithin(
    READY_MS,
    async () => ((await sentinel.call("SENTINEL", "REPLICAS", NAME)) as unknown[]).length === replicas.length,
  );
  return {
    url: `redis+sentinel://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${sentinelPort}/${NAME}`,
    async failOver(lagMs) {
      await primary.call("ACL", "SETUSER", "default", "-psync", "-sync");
      await primary.call("CLIENT", "KILL", "TYPE", "replica");
      await new Promise((resolve) => setTimeout(resolve, lagMs));
      await primaryServer.kill();
      await untilWithin(READY_MS, () => anyHas("role:master"));
    },
    async stop() {
      for (const admin of [primary, ...replicas, sentinel]) admin.disconnect();
      await Promise.all([sentinelServer, ...servers].map((server) => server.kill()));
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function hasLine(admin: Redis, line: string): Promise<boolean> {
  return String(await admin.call("INFO", "replication")).includes(line);
}
