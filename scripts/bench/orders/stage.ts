/** Redis and workers of a load bench, in processes of their own, without gateways and projectors. */

import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { PARTITIONS } from "../../../actors/actor.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { loadConfig } from "../../config.js";
import { startRedis } from "../../embedded/redis.js";
import { cpuSeconds, killProcess, startWorker } from "./processes.js";

export type Role = "load generator" | "worker" | "Redis" | "projector" | "gateway" | "jobs" | "Postgres";

/** Counters of a running stage; the differences of two samples are its use in the time between them. */
export interface Sample {
  readonly atMs: number;
  readonly cpuSeconds: Readonly<Partial<Record<Role, number>>>;
  /** Bytes that Redis has received and sent, and those of its append-only file. */
  readonly redis: RedisBytes;
  /** Bytes of the write-ahead log and of the tables of Postgres; absent without Postgres. */
  readonly postgres?: PostgresBytes | undefined;
  /** Longest time in ms from a decision to its rows in the last seconds; absent without a projector. */
  readonly projectorLagMs?: number | undefined;
}

export interface PostgresBytes {
  readonly walBytes: number;
  readonly tableBytes: number;
}

export interface RedisBytes {
  readonly received: number;
  readonly sent: number;
  readonly appended: number;
}

export interface Stage {
  readonly redisUrl: string;
  /** Returns the processes by role. The CPU time of the load generator is that of this process. */
  readonly pids: () => Readonly<Partial<Record<Role, readonly number[]>>>;
  sample(): Promise<Sample>;
  stop(): Promise<void>;
}

/** Redis servers of a stage. */
export interface Servers {
  readonly url: string;
  readonly pids: readonly number[];
  stop(): Promise<unknown>;
}

/** Longest time until the workers share the partitions, in ms. */
const SHARED_MS = 60_000;
const POLL_MS = 100;

/** Starts one Redis with an empty data directory. */
export async function startOneRedis(fsync: "always" | "everysec"): Promise<Servers> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-bench-"));
  const { redisServerBin: serverBin } = loadConfig();
  const ignore = (): void => undefined;
  const redis = await startRedis({
    dataDir,
    log: ignore,
    cacheDir: path.resolve(".cache"),
    fsync,
    serverBin,
  });
  return {
    url: redis.url,
    pids: [redis.pid],
    async stop() {
      await redis.stop();
      fs.rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts workers on Redis servers, which stop with the stage. Resolves when the workers share the partitions. */
export async function startStage(servers: Servers, workers: number): Promise<Stage> {
  const children: ChildProcess[] = [];
  let counters: RedisCounters | undefined;
  const stop = async (): Promise<void> => {
    // Nothing of the stage is kept, so no worker needs to hand over.
    await Promise.all(children.map((child) => killProcess(child)));
    counters?.close();
    await servers.stop();
  };
  try {
    counters = await RedisCounters.open(servers.url);
    const environment = { REDIS_URL: servers.url, LOG_LEVEL: "warn" };
    const starting = Array.from({ length: workers }, async () => {
      children.push(await startWorker(environment));
    });
    await Promise.all(starting);
    await partitionsShared(servers.url, workers);
    const [worker, opened] = [children.map(({ pid = 0 }) => pid), counters];
    const pids: Stage["pids"] = () => ({ worker, Redis: servers.pids });
    return { redisUrl: servers.url, pids, sample: () => sampleOf(pids, opened), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Resolves when every worker has its share of the partitions. */
export async function partitionsShared(redisUrl: string, workers: number): Promise<void> {
  const log = await RedisLog.open({ url: redisUrl });
  try {
    const least = Math.floor(PARTITIONS.length / workers) - 1;
    for (const untilMs = Date.now() + SHARED_MS; Date.now() < untilMs;) {
      const shares = new Map<string, number>();
      for (const { owner } of (await log.leases(PARTITIONS)).values())
        if (owner !== undefined) shares.set(owner, (shares.get(owner) ?? 0) + 1);
      const counts = [...shares.values()];
      const held = counts.reduce((sum, count) => sum + count, 0);
      if (held === PARTITIONS.length && counts.length === workers && Math.min(...counts) >= least) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`the ${workers} workers of the bench do not share the partitions`);
  } finally {
    await log.close();
  }
}

/** Returns a sample of processes and of Redis. */
export async function sampleOf(pids: Stage["pids"], redis: RedisCounters): Promise<Sample> {
  const bytes = await redis.take();
  const { user, system } = process.cpuUsage();
  const used: Partial<Record<Role, number>> = { "load generator": (user + system) / 1e6 };
  for (const [role, ids] of Object.entries(pids())) used[role as Role] = cpuSeconds(ids);
  return { atMs: performance.now(), cpuSeconds: used, redis: bytes };
}

/** Counters of Redis servers, summed up. */
export class RedisCounters {
  readonly #nodes: readonly Redis[];

  private constructor(nodes: readonly Redis[]) {
    this.#nodes = nodes;
  }

  /** Connects to every node, and turns rewrites of the append-only files off, so that their growth is what was appended. */
  static async open(redisUrl: string): Promise<RedisCounters> {
    const nodes = redisUrl.split(",").map((url) => new Redis(url));
    for (const node of nodes) {
      // A command reports a lost connection.
      node.on("error", () => undefined);
      await node.config("SET", "auto-aof-rewrite-percentage", "0");
    }
    return new RedisCounters(nodes);
  }

  async take(): Promise<RedisBytes> {
    const infos = await Promise.all(this.#nodes.map((node) => node.info()));
    const sum = (field: string): number =>
      infos.reduce(
        (total, info) => total + Number(new RegExp(`^${field}:(\\d+)`, "m").exec(info)?.[1] ?? 0),
        0,
      );
    return {
      received: sum("total_net_input_bytes"),
      sent: sum("total_net_output_bytes"),
      appended: sum("aof_current_size"),
    };
  }

  close(): void {
    for (const node of this.#nodes) node.disconnect();
  }
}
