/** Statuses of events and markets in words (contract sections 4.1, 4.2 and 4.7). */

import type { z } from "zod";
import type { LifecycleKind } from "../../../actors/market/types.js";
import type { EventStatus } from "../../../db/schema/catalog.js";
import type { Market } from "../../surface-a/schemas/catalog.js";
import { showPrice } from "../data/prices.js";

type MarketAnswer = z.infer<typeof Market>;

/** Returns the status of an event. */
export function eventWords(status: EventStatus): string {
  switch (status) {
    case "OPEN_PREGAME":
      return "open before the start";
    case "CLOSED_PREGAME":
      return "closed before the start";
    case "OPEN_INGAME":
      return "in play";
    case "DELAYED":
      return "delayed";
    case "FINAL":
      return "over, result to come";
    case "SETTLED":
      return "settled";
    case "CANCELED":
      return "canceled";
    default:
      return status satisfies never;
  }
}

/**
 * Returns the name of a market below the name of its event, which it does not repeat. Its strike follows where the name
 * does not contain it.
 */
export function marketName(
  { description, strike }: Pick<MarketAnswer, "description" | "strike">,
  eventName = "",
): string {
  const prefix = `${eventName}: `;
  const own = description.startsWith(prefix) ? description.slice(prefix.length) : description;
  const name = own.charAt(0).toUpperCase() + own.slice(1);
  return strike === undefined || name.includes(strike) ? name : `${name} ${strike}`;
}

/** Returns the markets of an event in the order of a timetable: those without a strike first, then type by type. */
export function inOrder<One extends Pick<MarketAnswer, "description" | "marketType" | "strike">>(
  markets: readonly One[],
): readonly One[] {
  const rank = ({ strike, marketType, description }: One): string =>
    [strike === undefined ? 0 : 1, marketType, description, strike].join(" ");
  return markets.toSorted((one, other) => rank(one).localeCompare(rank(other), "en", { numeric: true }));
}

/** Returns the result of an outcome. `TBD` is no result yet. */
export function resultWords(status: string): string | undefined {
  switch (status) {
    case "TBD":
      return undefined;
    case "WIN":
      return "won";
    case "LOSS":
      return "lost";
    case "PUSH":
      return "refunded";
    default:
      return `settled at ${showPrice(status)}`;
  }
}

/** Returns why a market takes no orders now, in words; `undefined` for one that does. */
export function closedWords(market: MarketAnswer, event: EventStatus | undefined): string | undefined {
  switch (market.status) {
    case "OPEN":
      return market.paused === true
        ? "Paused. No new orders are taken and nothing matches; resting orders stay and can be canceled."
        : undefined;
    case "CLOSED":
      if (event === "CANCELED") return "The event is canceled. The market takes no orders.";
      return event === "FINAL"
        ? "The event is over. The market waits for its result and takes no orders."
        : "The market is closed and takes no orders.";
    case "SETTLED": {
      const results = market.outcomes.flatMap(({ name, status }) => {
        const result = resultWords(status);
        return result === undefined || status === "LOSS" ? [] : [`${name} ${result}`];
      });
      return `The market is settled${results.length === 0 ? "" : `: ${results.join(", ")}`}.`;
    }
    default:
      return market.status satisfies never;
  }
}

/** Returns a transition in the life of a market. */
export function transitionWords(kind: LifecycleKind): string {
  switch (kind) {
    case "OPEN":
      return "opened";
    case "CLOSE":
      return "closed, resting orders canceled";
    case "GRADE":
      return "settled";
    case "REMEDIATE":
      return "settlement taken back";
    case "START":
      return "event started";
    case "END":
      return "event over";
    case "GOLIVE":
      return "event in play, resting orders canceled";
    case "UNLIVE":
      return "event out of play, resting orders canceled";
    case "PAUSE":
      return "paused";
    case "RESUME":
      return "resumed";
    default:
      return kind satisfies never;
  }
}
