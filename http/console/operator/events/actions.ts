/** Actions of the life of an event, and what each of them changes (contract section 4.2). */

import type { EventAction } from "../../../../stream/jobs/event-actions.js";
import { moneyOf, showMoney } from "../../data/money.js";
import { add, formatMoney, ZERO } from "../../../../actors/units.js";
import type { EventStatus, MarketAnswer, MarketExposure } from "../answers.js";
import { plural } from "../words.js";

export type { EventAction };

interface ActionWords {
  readonly name: string;
  readonly from: readonly EventStatus[];
  /** Effect on the markets, said after the orders that are canceled. */
  readonly effect: string;
  readonly cancelsOrders: boolean;
  readonly reason: "required" | "optional";
}

export const EVENT_ACTION_WORDS: Readonly<Record<EventAction, ActionWords>> = {
  golive: {
    name: "Go live",
    from: ["OPEN_PREGAME", "CLOSED_PREGAME", "DELAYED"],
    effect:
      "The event goes in play with empty books. Fees that are charged in play begin, and markets delay orders by their in-play delay.",
    cancelsOrders: true,
    reason: "optional",
  },
  close: {
    name: "Close",
    from: ["OPEN_PREGAME"],
    effect: "All its markets close, and take no orders until the event opens or goes live.",
    cancelsOrders: true,
    reason: "required",
  },
  open: {
    name: "Open",
    from: ["CLOSED_PREGAME", "DELAYED"],
    effect: "All its markets that are not graded open.",
    cancelsOrders: false,
    reason: "optional",
  },
  unlive: {
    name: "Leave play",
    from: ["OPEN_INGAME"],
    effect: "The event is delayed: its markets take no orders until it goes live or opens again.",
    cancelsOrders: true,
    reason: "required",
  },
  delay: {
    name: "Delay",
    from: ["OPEN_PREGAME"],
    effect: "The event is delayed: its markets take no orders until it goes live or opens again.",
    cancelsOrders: true,
    reason: "required",
  },
  finalise: {
    name: "End",
    from: ["OPEN_INGAME", "DELAYED", "CLOSED_PREGAME"],
    effect: "The event is over and all its markets close. They wait for their grades. This cannot be undone.",
    cancelsOrders: true,
    reason: "optional",
  },
  cancel: {
    name: "Cancel the event",
    from: ["OPEN_PREGAME", "CLOSED_PREGAME", "OPEN_INGAME", "DELAYED"],
    effect: "This cannot be undone.",
    cancelsOrders: true,
    reason: "required",
  },
};

/** Returns why an event does not take an action now, or `undefined`. */
export function whyNotNow(action: EventAction, status: EventStatus, words: (status: EventStatus) => string) {
  const { from, name } = EVENT_ACTION_WORDS[action];
  if (from.includes(status)) return undefined;
  return `${name} is possible for an event that is ${from.map(words).join(" or ")}.`;
}

/** Sums of what some markets hold. */
export function sumOf(exposures: readonly MarketExposure[]) {
  let [orders, contracts, cash, coin] = [0, 0, ZERO, ZERO];
  for (const { openOrders, openContracts, escrow } of exposures) {
    orders += openOrders;
    contracts += openContracts;
    cash = add(cash, moneyOf(escrow.CASH));
    coin = add(coin, moneyOf(escrow.COIN));
  }
  return { orders, contracts, cash: formatMoney(cash), coin: formatMoney(coin) };
}

/** Returns how many orders the closing or emptying of some markets cancels. */
export function canceledOrders(exposures: readonly MarketExposure[]): string {
  const { orders, contracts } = sumOf(exposures);
  if (orders === 0) return "No open order is canceled.";
  return `${plural(orders, "open order")} with ${plural(contracts, "unfilled contract")} ${orders === 1 ? "is" : "are"} canceled.`;
}

function heldWords({ cash, coin }: { readonly cash: string; readonly coin: string }): string {
  return moneyOf(coin) === 0 ? showMoney(cash) : `${showMoney(cash)} and ${showMoney(coin, "COIN")}`;
}

/** Returns in sentences what an action on an event will do. */
export function consequences(
  action: EventAction,
  markets: readonly MarketAnswer[],
  exposures: readonly MarketExposure[],
): readonly string[] {
  const { cancelsOrders, effect } = EVENT_ACTION_WORDS[action];
  const unsettled = markets.filter(({ status }) => status !== "SETTLED");
  const lines = [
    `${plural(unsettled.length, "market")} of the event ${unsettled.length === 1 ? "follows" : "follow"}.`,
  ];
  if (cancelsOrders) lines.push(canceledOrders(exposures));
  if (action === "cancel") {
    const held = (voids: MarketAnswer["voids"]) => {
      const ids = new Set(
        unsettled.filter((market) => market.voids === voids).map(({ marketId }) => marketId),
      );
      return { count: ids.size, ...sumOf(exposures.filter(({ marketId }) => ids.has(marketId))) };
    };
    const [pushed, priced] = [held("PUSH"), held("FMV")];
    if (pushed.count > 0)
      lines.push(
        `${plural(pushed.count, "market")} without a fair price: every position is paid back what it cost, ${heldWords(pushed)} in all.`,
      );
    if (priced.count > 0)
      lines.push(
        `${plural(priced.count, "market")} with ${heldWords(priced)}: closed, and then settled at prices that you enter.`,
      );
  }
  lines.push(effect);
  return lines;
}
