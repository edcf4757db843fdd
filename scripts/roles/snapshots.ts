/** Thread of a worker that takes the snapshots of its actors. */

import os from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { pino } from "pino";
import { systemClock } from "../../stream/log/clock.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { actorOf } from "../../stream/runtime/actors.js";
import { serveSnapshots, SnapshotThread } from "../../stream/runtime/snapshots/snapshot-thread.js";
import { SnapshotWriter } from "../../stream/runtime/snapshots/snapshot-writer.js";
import type { Config } from "../config.js";
import { roleOutput } from "./output.js";

interface SnapshotThreadData {
  readonly redisUrl: string;
  /** Prefix of the keys (default that of an installation). */
  readonly prefix?: string | undefined;
  readonly logLevel: Config["logLevel"];
}

/** Returns snapshots that are taken on a thread. */
export function snapshotThread(data: SnapshotThreadData): SnapshotThread {
  return new SnapshotThread(new URL(import.meta.url), data);
}

/** Bytes of a page of entries. Nothing else runs on the thread, so it reads more at once than an owner does. */
const PAGE_BYTES = 1024 * 1024;
/** Nice value of the thread, which shares the time of its session with the event loop of the worker. */
const NICE = 10;

if (parentPort !== null) {
  // Linux has a nice value for each thread. Elsewhere this would slow down the whole worker.
  if (process.platform === "linux") os.setPriority(Math.min(19, os.getPriority() + NICE));
  const { redisUrl, prefix, logLevel } = workerData as SnapshotThreadData;
  const base = { role: "worker", thread: "snapshots", pid: process.pid };
  const logger = pino({ level: logLevel, base }, roleOutput());
  const log = await RedisLog.open({ url: redisUrl, prefix, logger });
  serveSnapshots(
    parentPort,
    new SnapshotWriter({ log, actorOf, logger, clock: systemClock, pageBytes: PAGE_BYTES }),
  );
}
