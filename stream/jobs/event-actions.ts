/** Sends an action on an event to the markets of the event (contract section 4.2). */

import { randomUUID } from "node:crypto";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { Voids } from "../../actors/market/types.js";
import type { Exchange } from "../log/ports.js";

/** Actions on an event, as an operator requests them. */
export const EVENT_ACTIONS = ["open", "close", "golive", "unlive", "delay", "finalise", "cancel"] as const;
export type EventAction = (typeof EVENT_ACTIONS)[number];

/** An action on an event that some of its markets may not have followed yet. */
export interface EventStep {
  /** Identity of the step: the same step sent again takes effect once. */
  readonly actionId: number;
  readonly eventId: string;
  readonly action: EventAction;
  /** Markets that have taken the step, and do not receive it again. */
  readonly followed?: readonly string[];
}

/** A market of an event, with its kind of void. */
export interface EventMarket {
  readonly marketId: string;
  readonly voids: Voids;
}

/** Lifecycle actions that each action on an event sends to its markets. */
const STEPS: Readonly<Record<EventAction, readonly LifecycleAction[]>> = {
  open: ["open"],
  close: ["close"],
  golive: ["golive"],
  unlive: ["unlive"],
  delay: ["clear"],
  finalise: ["end", "close"],
  cancel: ["close"],
};

/** Number of markets that receive the step at the same time. */
const PARALLEL = 16;
/** Time that a market remembers its answer, longer than the sweep takes to send a step again, in ms. */
const REMEMBER_MS = 60_000;

export interface EventStepPorts {
  readonly exchange: Pick<Exchange, "market">;
  /** Records that these markets have taken a step that others have not. They remember its command for a minute only. */
  readonly recordFollowed: (step: EventStep, marketIds: readonly string[]) => Promise<void>;
}

/**
 * Sends the step to every market of the event that has not taken it. A market whose own state does not allow it stays as it
 * is: a graded market does not open. Returns the markets that a canceled event leaves to be settled. Throws `Unavailable`
 * when some market did not answer; the step may be sent again.
 */
export async function driveEventStep(
  { exchange, recordFollowed }: EventStepPorts,
  step: EventStep,
  markets: readonly EventMarket[],
): Promise<readonly { marketId: string; settlementId: string }[]> {
  const graded: { marketId: string; settlementId: string }[] = [];
  const followed: string[] = [];
  const waiting = markets.filter(({ marketId }) => step.followed?.includes(marketId) !== true);
  const sendToNext = async (): Promise<void> => {
    for (let market = waiting.pop(); market !== undefined; market = waiting.pop()) {
      const { marketId, voids } = market;
      await send(exchange, step, marketId, {
        kind: "lifecycle",
        actions: STEPS[step.action],
        byEvent: true,
      });
      if (step.action === "cancel" && voids === "PUSH") {
        const push = { kind: "grade", settlementId: randomUUID(), grade: { kind: "PUSH" } } as const;
        const reply = await send(exchange, step, marketId, push);
        if (reply.ok && reply.kind === "settlement")
          graded.push({ marketId, settlementId: reply.settlementId });
      }
      followed.push(marketId);
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, sendToNext));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed === undefined) return graded;
  // The sweep queues the settlements of the markets that this step has graded.
  if (followed.length > 0) await recordFollowed(step, followed);
  throw failed.reason;
}

/** Sends a command of a step to a market. The command id makes a repeat of the step take effect once. */
async function send(
  exchange: EventStepPorts["exchange"],
  step: EventStep,
  marketId: string,
  command: MarketCommand,
): Promise<MarketReply> {
  const id = `event-step:${step.actionId}:${command.kind}:${marketId}`;
  return exchange.market(marketId, command, { id, rememberMs: REMEMBER_MS });
}
