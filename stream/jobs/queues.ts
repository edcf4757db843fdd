/** The queues, for those who put work into them. */

import { Queue } from "bullmq";
import { connectJobs, JOBS_PREFIX } from "./connection.js";
import type { SettlementJob } from "./settlement.js";

export const SETTLEMENT_QUEUE = "settlement";
export const SWEEP_QUEUE = "sweep";

/** Tried for ever, in effect; and a market whose job has left the queue may get another. */
const JOB_OPTIONS = {
  attempts: 1_000_000_000,
  backoff: { type: "custom" },
  removeOnComplete: true,
  removeOnFail: true,
} as const;

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 15_000;

/** The pause before attempt number `attempt`, ms. */
export function retryPauseMs(attempt: number): number {
  return Math.min(RETRY_MIN_MS * 2 ** Math.min(attempt - 1, 10), RETRY_MAX_MS);
}

/** One job per settlement, and one per remediation of it, however often it is asked for. */
export function settlementJobId({ settlementId, remediating }: SettlementJob): string {
  return remediating ? `${settlementId}-remediation` : settlementId;
}

export interface SettlementQueue {
  /** Has the market settled soon. Enqueuing twice is one job. Rejects when Redis does not answer. */
  enqueue(job: SettlementJob): Promise<void>;
  close(): Promise<void>;
}

/** Opens the settlement queue; `prefix` keeps tests apart. */
export function openSettlementQueue(redisUrl: string, prefix = JOBS_PREFIX): SettlementQueue {
  const connection = connectJobs(redisUrl, "enqueue");
  const queue = new Queue<SettlementJob>(SETTLEMENT_QUEUE, { connection, prefix, skipWaitingForReady: true });
  // What fails is told to whoever enqueues.
  queue.on("error", () => undefined);
  return {
    async enqueue(job) {
      await queue.add("settle", job, { ...JOB_OPTIONS, jobId: settlementJobId(job) });
    },
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
}
