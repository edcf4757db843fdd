/** Picks up what a crash left lying: settlements nobody enqueued, event steps nobody finished. */

import type { Logger } from "../log/logger.js";
import type { EventStep } from "./event-actions.js";
import type { SettlementJob } from "./settlement.js";

/** What the sweep looks at and sets going; the composition root hands it in. */
export interface SweepPorts {
  /** Markets whose settlement, or its remediation, is not through. */
  unsettled(): Promise<readonly SettlementJob[]>;
  enqueue(job: SettlementJob): Promise<void>;
  /** Event steps written before `beforeTs` (Unix ms) that nobody has finished. */
  unfinishedSteps(beforeTs: number): Promise<readonly EventStep[]>;
  /** Has the markets follow the step and marks it finished. */
  finishStep(step: EventStep): Promise<void>;
  /** Turns FINAL events whose markets are all settled into SETTLED. */
  settleFinalEvents(): Promise<void>;
}

/** A step younger than this is still in the hands of whoever took it. */
const STEP_GRACE_MS = 5_000;

/** Looks once. One thing that fails does not keep the others from being tried; the next sweep tries it again. */
export async function sweep(ports: SweepPorts, log: Logger, nowMs: number): Promise<void> {
  const attempt = async (what: string, result: () => Promise<void>): Promise<void> => {
    try {
      await result();
    } catch (error) {
      log.warn({ err: error }, `sweep: ${what} failed`);
    }
  };
  await attempt("looking for unsettled markets", async () => {
    for (const job of await ports.unsettled()) {
      await attempt(`enqueuing the settlement of ${job.marketId}`, () => ports.enqueue(job));
    }
  });
  await attempt("looking for unfinished event steps", async () => {
    for (const step of await ports.unfinishedSteps(nowMs - STEP_GRACE_MS)) {
      await attempt(`step ${step.actionId} of event ${step.eventId}`, () => ports.finishStep(step));
    }
  });
  await attempt("settling final events", () => ports.settleFinalEvents());
}
