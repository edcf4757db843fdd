/** What an event's step asks of its markets (contract section 4, the table of actions). */

import { randomUUID } from "node:crypto";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { Voids } from "../../actors/market/types.js";
import type { Exchange } from "../log/ports.js";

/** The steps of an event that an operator requests. */
export const EVENT_ACTIONS = ["open", "close", "golive", "unlive", "delay", "finalise", "cancel"] as const;
export type EventAction = (typeof EVENT_ACTIONS)[number];

/** An event's step that its markets have not all followed. */
export interface EventStep {
  /** The step's own number: the same step sent again takes effect once. */
  readonly actionId: number;
  readonly eventId: string;
  readonly action: EventAction;
}

export interface EventMarket {
  readonly marketId: string;
  readonly voids: Voids;
}

const STEPS: Readonly<Record<EventAction, readonly LifecycleAction[]>> = {
  open: ["open"],
  close: ["close"],
  golive: ["golive"],
  unlive: ["unlive"],
  delay: ["clear"],
  finalise: ["end", "close"],
  cancel: ["close"],
};

/** Markets told at once. */
const PARALLEL = 16;
/** Longer than it takes the sweep to drive a step again. */
const REMEMBER_MS = 60_000;

/**
 * Has every market of the event follow the step. Markets whose own state does not allow it (a graded one does not
 * open) stay as they are. Gives the markets that a cancelled event leaves to be settled. Throws `Unavailable` when
 * not all could be told; driving the step again is safe.
 */
export async function driveEventStep(
  exchange: Exchange,
  step: EventStep,
  markets: readonly EventMarket[],
): Promise<readonly { marketId: string; settlementId: string }[]> {
  const graded: { marketId: string; settlementId: string }[] = [];
  const waiting = [...markets];
  const publish = async (): Promise<void> => {
    for (let market = waiting.pop(); market !== undefined; market = waiting.pop()) {
      const { marketId, voids } = market;
      await send(exchange, step, marketId, { kind: "lifecycle", actions: STEPS[step.action] });
      if (step.action !== "cancel" || voids !== "PUSH") continue;
      const push = { kind: "grade", settlementId: randomUUID(), grade: { kind: "PUSH" } } as const;
      const reply = await send(exchange, step, marketId, push);
      if (reply.ok && reply.kind === "settlement")
        graded.push({ marketId, settlementId: reply.settlementId });
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, publish));
  return graded;
}

async function send(
  exchange: Exchange,
  step: EventStep,
  marketId: string,
  command: MarketCommand,
): Promise<MarketReply> {
  const id = `event-step:${step.actionId}:${command.kind}:${marketId}`;
  return exchange.market(marketId, command, { id, rememberMs: REMEMBER_MS });
}
