/** Continues work that a crash interrupted: settlements that were not enqueued, event steps that were not finished or were lost. */

import type { Logger } from "../log/logger.js";
import type { EventStep } from "./event-actions.js";
import type { TraderRestriction } from "./restrictions.js";
import type { SettlementJob } from "./settlement.js";

/** Queries and actions of the sweep, implemented by the composition root. */
export interface SweepPorts {
  /** Returns the markets whose settlement or remediation is not finished. */
  unsettled(): Promise<readonly SettlementJob[]>;
  enqueue(job: SettlementJob): Promise<void>;
  /** Sends the steps to markets again that these have lost with the last entries of the log. */
  sendLostSteps(): Promise<void>;
  /** Returns the unfinished event steps that were written before `beforeTs` (Unix ms). */
  unfinishedSteps(beforeTs: number): Promise<readonly EventStep[]>;
  /** Sends the step to its markets and marks it finished. */
  finishStep(step: EventStep): Promise<void>;
  /** Returns some of the traders whose ledgers do not apply the restriction of their states. */
  tradersToRestrict(): Promise<readonly TraderRestriction[]>;
  /** Makes the ledger of a trader apply the restriction. */
  restrict(trader: TraderRestriction): Promise<void>;
  /** Sets FINAL events whose markets are all settled to SETTLED. */
  settleFinalEvents(): Promise<void>;
  /** Restores the removed markets that have received messages. */
  restoreWanted(): Promise<void>;
  /** Removes the markets whose grace period is over at `nowMs` (Unix ms). */
  removeSettled(nowMs: number): Promise<void>;
  /** Creates the partitions of the coming months, at most once an hour. */
  keepMonths(): Promise<void>;
}

/** Age below which a step is left to the request that wrote it, in ms. */
const STEP_GRACE_MS = 5_000;

/** Runs one sweep. A failure does not stop the rest of the sweep, and the next sweep tries again. */
export async function sweep(ports: SweepPorts, log: Logger, nowMs: number): Promise<void> {
  const attempt = async (name: string, task: () => Promise<void>): Promise<void> => {
    try {
      await task();
    } catch (error) {
      log.warn({ err: error }, `the sweep failed at ${name}`);
    }
  };
  await attempt("reading unsettled markets", async () => {
    for (const job of await ports.unsettled()) {
      await attempt(`enqueuing the settlement of ${job.marketId}`, () => ports.enqueue(job));
    }
  });
  await attempt("reading unfinished event steps", async () => {
    for (const step of await ports.unfinishedSteps(nowMs - STEP_GRACE_MS)) {
      await attempt(`step ${step.actionId} of event ${step.eventId}`, () => ports.finishStep(step));
    }
  });
  await attempt("reading traders to restrict", async () => {
    for (const trader of await ports.tradersToRestrict()) {
      await attempt(`restricting trader ${trader.traderId}`, () => ports.restrict(trader));
    }
  });
  await attempt("sending lost event steps", () => ports.sendLostSteps());
  await attempt("settling final events", () => ports.settleFinalEvents());
  await attempt("restoring markets", () => ports.restoreWanted());
  await attempt("removing settled markets", () => ports.removeSettled(nowMs));
  await attempt("creating the partitions of the coming months", () => ports.keepMonths());
}
