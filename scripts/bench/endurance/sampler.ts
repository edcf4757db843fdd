/** Samples of the sizes of a running exchange: its processes, Redis, Postgres and the disk. */

import fs from "node:fs/promises";
import path from "node:path";
import { Redis } from "ioredis";
import { PARTITIONS } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { type ProcessReport, ProcessReports } from "../../../stream/services/process-reports.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { embeddedRedisUrl } from "../../embedded/redis.js";
import { processesIn } from "../../embedded/server.js";

/** Sizes of the exchange at one moment. */
export interface Sizes {
  /** RSS by role, in bytes. */
  readonly rssBytes: Readonly<Record<string, number>>;
  /** JavaScript heap of the workers with its free room, what of it is in use, and the buffers outside of it, in bytes. */
  readonly workerHeap: Readonly<Record<"total" | "used" | "external", number>>;
  /** Ids of the processes that report, by name. */
  readonly processes: Readonly<Record<string, string>>;
  /** Longest pause of the event loop of a worker within the last minute, in ms. */
  readonly pauseMs: number;
  /** The same without the time that the host of a virtual machine took. */
  readonly guestPauseMs: number;
  /** And without the time in which the thread of the worker waited for a core. */
  readonly ownPauseMs: number;
  /** Number of partitions that each worker has taken, by the id of its process. */
  readonly moves: Readonly<Record<string, number>>;
  /**
   * Memory of the processes of Postgres that stay, without files and shared buffers, in bytes; known on Linux only. Those
   * that vacuum a table come and go.
   */
  readonly postgresBytes: number | undefined;
  readonly redisBytes: number;
  /** Used share of the memory limit of Redis. */
  readonly redisShare: number;
  readonly aofBytes: number;
  readonly diskBytes: number;
  /** Bytes of the delta streams, the snapshots and the mailboxes in Redis. */
  readonly deltaBytes: number;
  readonly snapshotBytes: number;
  readonly mailboxBytes: number;
  /** Bytes of the filters of the ids of a day, in the memory of the workers and in the snapshots. */
  readonly filterBytes: number;
  readonly filterSnapshotBytes: number;
  /** Entries in the delta streams. */
  readonly entries: number;
  /** Entries that Postgres lacks. */
  readonly lag: number;
  /** Entries that the projector has written. */
  readonly projected: number;
}

export class Sampler {
  readonly #dataDir: string;
  readonly #redis: Redis;
  readonly #log: RedisLog;
  readonly #reports: ProcessReports;

  private constructor(dataDir: string, redis: Redis, log: RedisLog, reports: ProcessReports) {
    this.#dataDir = dataDir;
    this.#redis = redis;
    this.#log = log;
    this.#reports = reports;
  }

  /** Connects to the embedded Redis of a data directory. */
  static async open(dataDir: string): Promise<Sampler> {
    const url = embeddedRedisUrl(dataDir);
    if (url === undefined) throw new Error("the data directory of the bench has no record of its Redis");
    const log = await RedisLog.open({ url });
    const reports = await ProcessReports.subscribe(log, systemClock);
    return new Sampler(dataDir, new Redis(url), log, reports);
  }

  async take(): Promise<Sizes> {
    const [memory, persistence, diskBytes, actors] = await Promise.all([
      this.#redis.info("memory"),
      this.#redis.info("persistence"),
      bytesIn(this.#dataDir),
      this.#actors(),
    ]);
    const reports = this.#reports.latest();
    const workers = reports.filter(({ role }) => role === "worker");
    const redisBytes = numberIn(memory, "used_memory");
    const sum = (of: readonly ProcessReport[], size: (report: ProcessReport) => number | undefined): number =>
      of.reduce((total, report) => total + (size(report) ?? 0), 0);
    const most = (of: (report: ProcessReport) => number | undefined): number =>
      1_000 * Math.max(0, ...workers.map((worker) => of(worker) ?? 0));
    const rssBytes: Record<string, number> = {};
    for (const { role, figures } of reports) {
      rssBytes[role] = (rssBytes[role] ?? 0) + (figures.rss_bytes ?? 0);
    }
    return {
      rssBytes,
      workerHeap: {
        total: sum(workers, ({ figures }) => figures.heap_total_bytes),
        used: sum(workers, ({ figures }) => figures.heap_bytes),
        external: sum(workers, ({ figures }) => figures.external_bytes),
      },
      processes: Object.fromEntries(reports.map(({ name, process }) => [name, process])),
      pauseMs: most(({ figures }) => figures.event_loop_pause_seconds),
      guestPauseMs: most(({ figures }) => figures.event_loop_guest_pause_seconds),
      ownPauseMs: most(({ figures }) => figures.event_loop_own_pause_seconds),
      filterBytes: sum(reports, ({ figures }) => figures.id_filter_bytes),
      filterSnapshotBytes: sum(reports, ({ figures }) => figures.id_filter_snapshot_bytes),
      moves: Object.fromEntries(
        workers.map(({ process, figures }) => [process, figures.partitions_taken_total ?? 0]),
      ),
      postgresBytes: await anonymousBytes(processesIn(path.join(this.#dataDir, "postgres"), ["postgres"])),
      redisBytes,
      redisShare: redisBytes / numberIn(memory, "maxmemory"),
      aofBytes: numberIn(persistence, "aof_current_size"),
      diskBytes,
      ...actors,
      projected: sum(reports, ({ figures }) => figures.projected_entries_total),
    };
  }

  /** Adds up the sizes of all actors. */
  async #actors(): Promise<Pick<Sizes, "deltaBytes" | "snapshotBytes" | "mailboxBytes" | "entries" | "lag">> {
    const sizes = { deltaBytes: 0, snapshotBytes: 0, mailboxBytes: 0, entries: 0, lag: 0 };
    for (const partition of PARTITIONS) {
      const statuses = await this.#log.scan(partition);
      for (const { head } of statuses) sizes.lag += head.seq - head.projected;
      const actors = statuses.map(({ actor }) => actor);
      for (const { deltas, mailbox, snapshotBytes } of await this.#log.sizes(partition, actors)) {
        sizes.entries += deltas.entries;
        sizes.deltaBytes += deltas.bytes;
        sizes.mailboxBytes += mailbox.bytes;
        sizes.snapshotBytes += snapshotBytes;
      }
    }
    return sizes;
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
    await this.#reports.close();
    await this.#log.close();
  }
}

function numberIn(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
}

/**
 * Returns the memory of those processes of Postgres that stay, which is no copy of a file and not shared. A process may end
 * meanwhile.
 */
async function anonymousBytes(pids: readonly number[]): Promise<number | undefined> {
  if (pids.length === 0) return undefined;
  const sizes = await Promise.all(
    pids.map(async (pid) => {
      const read = (file: string): Promise<string> =>
        fs.readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
      if (/autovacuum worker|parallel worker/.test(await read("cmdline"))) return 0;
      return 1_024 * Number(/^RssAnon:\s+(\d+)/m.exec(await read("status"))?.[1] ?? 0);
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Returns the size of all files of a directory. A file may disappear meanwhile. */
async function bytesIn(directory: string): Promise<number> {
  const entries = await fs.readdir(directory, { withFileTypes: true, recursive: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    bytes += (await fs.stat(file).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}
