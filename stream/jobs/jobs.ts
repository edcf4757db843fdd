/** Workers of the `jobs` role. BullMQ only drives them; the market actor alone decides and remembers payouts. */

import { Queue, UnrecoverableError, Worker } from "bullmq";
import type { Clock } from "../log/clock.js";
import type { Logger } from "../log/logger.js";
import type { Exchange } from "../log/ports.js";
import { connectJobs, JOBS_PREFIX } from "./connection.js";
import { retryPauseMs, SETTLEMENT_QUEUE, SWEEP_QUEUE } from "./queues.js";
import { NothingToSettle, settleMarket, type SettlementJob } from "./settlement.js";
import { sweep, type SweepPorts } from "./sweep.js";

/** Everything the workers depend on. */
export interface JobsOptions {
  readonly redisUrl: string;
  readonly exchange: Exchange;
  readonly ports: SweepPorts & {
    /** Called when a market is settled: its event may now be settled too. */
    marketSettled(job: SettlementJob): Promise<void>;
  };
  readonly log: Logger;
  /** Engine time. */
  readonly clock: Pick<Clock, "now">;
  /** Prefix of the job keys; tests set it to stay apart from each other. */
  readonly prefix?: string | undefined;
  /** Interval of the sweep, in ms (default 3,000). */
  readonly sweepEveryMs?: number | undefined;
  /** Time after which a job of a process that died is taken over, in ms (default 10,000). */
  readonly lockMs?: number | undefined;
}

/** The running workers. */
export interface RunningJobs {
  /** Stops the workers after the current step of each job. */
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 3_000;
const LOCK_MS = 10_000;
/** Number of settlements that this process drives at the same time. */
const SETTLEMENTS = 8;

/** Starts the workers. Resolves once Redis has answered. */
export async function startJobs(options: JobsOptions): Promise<RunningJobs> {
  const { redisUrl, exchange, ports, log, clock } = options;
  const prefix = options.prefix ?? JOBS_PREFIX;
  const lockMs = options.lockMs ?? LOCK_MS;
  const connection = connectJobs(redisUrl, "work");
  // A process that dies must never make a job fail for good, so the number of stalls is not limited.
  const common = {
    connection,
    prefix,
    lockDuration: lockMs,
    stalledInterval: lockMs / 2,
    maxStalledCount: 1_000_000_000,
  };
  const stopping = new AbortController();

  const settlements = new Worker<SettlementJob>(
    SETTLEMENT_QUEUE,
    async (job) => {
      try {
        await settleMarket(exchange, job.data.marketId, async (progress) => {
          await job.updateProgress({ ...progress });
          // The error returns the job to the queue, and another process continues it.
          if (stopping.signal.aborted) throw new Error("this process is stopping");
        });
      } catch (error) {
        if (error instanceof NothingToSettle) throw new UnrecoverableError(error.message);
        throw error;
      }
      await ports.marketSettled(job.data);
    },
    { ...common, concurrency: SETTLEMENTS, settings: { backoffStrategy: retryPauseMs } },
  );
  settlements.on("failed", (job, error) =>
    log.warn({ err: error, job: job?.data }, "a settlement failed and will be retried"),
  );
  settlements.on("completed", ({ data }) => log.info({ job: data }, "a settlement is finished"));

  const sweepQueue = new Queue(SWEEP_QUEUE, { connection, prefix });
  const sweeps = new Worker(SWEEP_QUEUE, () => sweep(ports, log, clock.now()), common);
  const onError = (error: Error): void => log.warn({ err: error }, "the job queues failed");
  settlements.on("error", onError);
  sweeps.on("error", onError);
  sweepQueue.on("error", onError);
  await sweepQueue.upsertJobScheduler(
    "sweep",
    { every: options.sweepEveryMs ?? SWEEP_EVERY_MS },
    { name: "sweep", opts: { removeOnComplete: true, removeOnFail: 10 } },
  );

  return {
    async stop() {
      stopping.abort();
      await Promise.all([settlements.close(), sweeps.close()]);
      await sweepQueue.close();
      connection.disconnect();
    },
  };
}
