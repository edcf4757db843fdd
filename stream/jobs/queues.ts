/** Names of the queues, and the side that adds jobs to them. */

import { Queue } from "bullmq";
import { connectJobs, JOBS_PREFIX } from "./connection.js";
import type { SettlementJob } from "./settlement.js";

/** Queue of settlements and remediations. */
export const SETTLEMENT_QUEUE = "settlement";
/** Queue of the periodic sweep. */
export const SWEEP_QUEUE = "sweep";

/** In effect a job is retried for ever. A job that has ended is removed, so that its market can get another one. */
const JOB_OPTIONS = {
  attempts: 1_000_000_000,
  backoff: { type: "custom" },
  removeOnComplete: true,
  removeOnFail: true,
} as const;

const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 15_000;

/** Returns the pause before attempt number `attempt`, in ms. */
export function retryPauseMs(attempt: number): number {
  return Math.min(RETRY_MIN_MS * 2 ** Math.min(attempt - 1, 10), RETRY_MAX_MS);
}

/** Returns the id of a job: one per settlement and one per remediation of it, however often it is enqueued. */
function settlementJobId({ settlementId, remediating }: SettlementJob): string {
  return remediating ? `${settlementId}-remediation` : settlementId;
}

/** The queue of settlements. */
export interface SettlementQueue {
  /** Enqueues the settlement of a market; a second call makes no second job. Rejects when Redis does not answer. */
  enqueue(job: SettlementJob): Promise<void>;
  close(): Promise<void>;
}

/** Opens the settlement queue; tests set `prefix` to stay apart from each other. */
export function openSettlementQueue(redisUrl: string, prefix = JOBS_PREFIX): SettlementQueue {
  const connection = connectJobs(redisUrl, "enqueue");
  const queue = new Queue<SettlementJob>(SETTLEMENT_QUEUE, { connection, prefix, skipWaitingForReady: true });
  // Failures reject `enqueue`, so the event needs no other handling.
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
