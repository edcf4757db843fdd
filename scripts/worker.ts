/** Role `worker`: runs the actors. Any number of workers share the partitions. */

import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { actorOf } from "../stream/runtime/actors.js";
import { systemClock } from "../stream/log/clock.js";
import { EngineClock } from "../stream/services/engine-clock.js";
import { FormatAnnouncer } from "../stream/log/formats.js";
import { checkInstallation } from "../stream/log/installation.js";
import { startHeartbeats } from "../stream/redis/heartbeats.js";
import { RedisLog } from "../stream/redis/redis-log.js";
import { LogUsage } from "../stream/services/log-usage.js";
import { ProcessReporter } from "../stream/services/process-reports.js";
import { SNAPSHOT_LIMITS } from "../stream/runtime/snapshot-policy.js";
import { MeasuredSnapshots } from "../stream/runtime/snapshots/measured-snapshots.js";
import { Worker } from "../stream/runtime/worker.js";
import { ConfigError } from "./config.js";
import { roleOutput } from "./roles/output.js";
import { type RoleConfig, runRole, type RunningRole } from "./roles/run-role.js";
import { snapshotThreads } from "./roles/snapshots.js";
import { WorkerHeap } from "./roles/worker-heap.js";

/** A pause of a worker holds up every trader, so those of a busy one are measured four times as finely as in other roles. */
const OBSERVE_MS = 5;
/** Longest drain, in ms, above the time in which a worker hands its partitions over, which a slow Redis prolongs. */
const DRAIN_MS = 9_000;
/**
 * Twice that of the other roles: the full collections are the longest pauses of a worker, and at half load on two cores they
 * come every 34 s instead of every 25.
 */
const HEAP_GROWTH_PERCENT = 100;

async function start({
  redisUrl,
  waitReplicas,
  logLevel,
  leaseMs,
  format,
  resumeBytes,
  processName,
}: RoleConfig): Promise<RunningRole> {
  if (redisUrl === undefined)
    throw new ConfigError("REDIS_URL: set it to the Redis of the exchange, which a worker needs");
  const logger = pino(
    { level: logLevel, base: { role: "worker", process: processName, pid: process.pid } },
    roleOutput(),
  );
  const log = await RedisLog.open({ url: redisUrl, logger, waitReplicas });
  try {
    await checkInstallation(log);
    const role = { log, clock: systemClock, logger, role: "worker", id: randomUUID(), format } as const;
    const formats = new FormatAnnouncer(role);
    await formats.start();
    const id = formats.name;
    const beats = { url: log.url, worker: id, leaseMs, intervalMs: Math.floor(leaseMs / 3) };
    const snapshots = new MeasuredSnapshots(snapshotThreads({ redisUrl: log.url, logLevel }), systemClock);
    const clock = await EngineClock.start({ log, clock: systemClock, logger, name: id, sets: true });
    const heap = new WorkerHeap();
    const worker = new Worker({
      id,
      snapshots,
      log,
      actorOf,
      clock,
      logger,
      leaseMs,
      formats,
      heartbeats: (listener) => startHeartbeats(beats, listener),
      snapshotLimits: { ...SNAPSHOT_LIMITS, resumeBytes },
    });
    await worker.start();
    const usage = new LogUsage({
      log,
      clock: systemClock,
      logger,
      partitions: () => [...worker.held.keys()],
    });
    const reporter = new ProcessReporter({
      log,
      clock: systemClock,
      role: "worker",
      name: processName,
      process: id,
      observeMs: OBSERVE_MS,
      figures: () => ({
        partitions: worker.held.size,
        partitions_taken_total: worker.taken,
        unsnapshotted_bytes: worker.unsnapshottedBytes,
        ...worker.filterFigures(),
        ...snapshots.figures(),
        ...worker.retention.figures(),
        ...usage.figures(),
      }),
    });
    return {
      async stop() {
        reporter.stop();
        usage.stop();
        await worker.stop();
        heap.stop();
        clock.stop();
        await formats.stop();
        await log.close();
      },
    };
  } catch (error) {
    await log.close();
    throw error;
  }
}

await runRole(
  {
    name: "worker",
    summary: "Runs the actors. Needs REDIS_URL; any number of workers share the partitions.",
    drainMs: DRAIN_MS,
    heapGrowthPercent: HEAP_GROWTH_PERCENT,
  },
  start,
);
