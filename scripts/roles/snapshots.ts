/** Threads of a worker that take the snapshots of its actors. */

import os from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { pino } from "pino";
import { systemClock } from "../../stream/log/clock.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { actorOf } from "../../stream/runtime/actors.js";
import { SnapshotLanes } from "../../stream/runtime/snapshots/snapshot-lanes.js";
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

interface LaneData extends SnapshotThreadData {
  readonly isForMoves: boolean;
}

/** Returns snapshots that are taken on two threads, those for moves with the priority of the worker. */
export function snapshotThreads(data: SnapshotThreadData): SnapshotLanes {
  const lane = (isForMoves: boolean): SnapshotThread =>
    new SnapshotThread(new URL(import.meta.url), { ...data, isForMoves } satisfies LaneData);
  return new SnapshotLanes(lane(true), lane(false));
}

/** Added to the nice value of the other thread, because it shares the cores with the event loop of the worker. */
const NICE = 14;
const HIGHEST_NICE = 19;

/** Lowers the priority of this thread. Elsewhere than on Linux a nice value is that of the whole process, which keeps it. */
function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    os.setPriority(Math.min(HIGHEST_NICE, os.getPriority() + NICE));
  } catch {
    // A sandbox may forbid the call. The thread then shares the cores as an equal.
  }
}

if (parentPort !== null) {
  const { redisUrl, prefix, logLevel, isForMoves } = workerData as LaneData;
  if (!isForMoves) giveWay();
  const base = { role: "worker", thread: isForMoves ? "snapshots for moves" : "snapshots", pid: process.pid };
  const logger = pino({ level: logLevel, base }, roleOutput());
  const log = await RedisLog.open({ url: redisUrl, prefix, logger });
  const ports = { log, actorOf, logger, clock: systemClock };
  // An actor that moves needs no further snapshot here.
  const keptBytes = isForMoves ? 0 : undefined;
  serveSnapshots(parentPort, new SnapshotWriter({ ...ports, isPaced: true, keptBytes }));
}
