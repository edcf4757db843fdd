/** The `jobs` role: workers on the queues. BullMQ only drives; what is paid is the market actor's to know. */

import { Queue, UnrecoverableError, Worker } from "bullmq";
import type { Logger } from "../log/logger.js";
import type { Exchange } from "../log/ports.js";
import { connectJobs, JOBS_PREFIX } from "./connection.js";
import { retryPauseMs, SETTLEMENT_QUEUE, SWEEP_QUEUE } from "./queues.js";
import { NothingToSettle, settleMarket, type SettlementJob } from "./settlement.js";
import { sweep, type SweepPorts } from "./sweep.js";

export interface JobsOptions {
  readonly redisUrl: string;
  readonly exchange: Exchange;
  readonly ports: SweepPorts & {
    /** A market is through: its event may be as well. */
    marketSettled(job: SettlementJob): Promise<void>;
  };
  readonly log: Logger;
  /** Keeps tests apart. */
  readonly prefix?: string | undefined;
  readonly sweepEveryMs?: number | undefined;
  /** How long a job of a process that died is left alone, ms (default 10,000). */
  readonly lockMs?: number | undefined;
}

export interface RunningJobs {
  /** Lets the jobs under way come to the end of their step. */
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 3_000;
const LOCK_MS = 10_000;
/** Settlements at once in this process. */
const SETTLEMENTS = 8;

/** Starts working; resolves once Redis has answered. */
export async function startJobs(options: JobsOptions): Promise<RunningJobs> {
  const { redisUrl, exchange, ports, log } = options;
  const prefix = options.prefix ?? JOBS_PREFIX;
  const lockMs = options.lockMs ?? LOCK_MS;
  const connection = connectJobs(redisUrl, "work");
  // A process that died must never make a job fail for good, so stalling is not counted.
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
          // Given back to the queue, the job goes on in another process.
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
    log.warn({ err: error, job: job?.data }, "a settlement is put off"),
  );
  settlements.on("completed", ({ data }) => log.info({ job: data }, "a settlement is through"));

  const sweepQueue = new Queue(SWEEP_QUEUE, { connection, prefix });
  const sweeps = new Worker(SWEEP_QUEUE, () => sweep(ports, log, Date.now()), common);
  const onError = (error: Error): void => log.warn({ err: error }, "the job queues do not answer");
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
