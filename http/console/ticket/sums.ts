/** Sums of the ticket: what an order pays, wins and loses, and the profit of holdings, all in whole millicents. */

import type { z } from "zod";
import { highestTakerFee, isCharged } from "../../../actors/market/fees.js";
import { rulesOf, type TimeInForce } from "../../../actors/market/time-in-force.js";
import type { FeeSchedule } from "../../../actors/market/types.js";
import {
  add,
  contracts,
  cost,
  fullValue,
  type Contracts,
  type Millicents,
  subtract,
  type Ticks,
  ZERO,
} from "../../../actors/units.js";
import type { Fee } from "../../surface-a/schemas/catalog.js";
import type { OrderPreview } from "../../surface-a/schemas/orders.js";
import { moneyOf } from "../data/money.js";
import { ticksOf } from "../data/prices.js";

/** Effect of an order on the money of its wallet. */
export interface Bill {
  /** Price of all contracts that the order buys or bids for. */
  readonly pays: Millicents;
  readonly fee: Millicents;
  /** Payout if the outcome wins. */
  readonly wins: Millicents;
  /** Worst loss of the order by itself: its price and its fee. */
  readonly loses: Millicents;
}

/** Contracts held of one outcome, and their cost without fees. */
export interface Held {
  readonly outcomeId: string;
  readonly qty: Contracts;
  readonly cost: Millicents;
}

const SHARE = /^(\d+)(?:\.(\d{1,6}))?$/;

/** Returns a share of the wire, such as `0.03`, in millionths. */
function millionths(share: string): number {
  const [, whole = "0", fraction = ""] = SHARE.exec(share) ?? [];
  return Number(whole) * 1_000_000 + Number(fraction.padEnd(6, "0"));
}

/** Returns the fee schedule of a market of the catalog. */
export function scheduleOf(fee: z.infer<typeof Fee>): FeeSchedule {
  return {
    coefficientPpm: millionths(fee.coefficient),
    makerCreditPpm: millionths(fee.makerCredit),
    charged: fee.charged,
  };
}

function billOf(pays: Millicents, fee: Millicents, qty: Contracts): Bill {
  return { pays, fee, wins: fullValue(qty), loses: add(pays, fee) };
}

/** Returns the bill of an order at its limit, with the highest fee that it can be charged. */
export function worstBill(
  { price, qty, tif }: { readonly price: Ticks; readonly qty: Contracts; readonly tif: TimeInForce },
  schedule: FeeSchedule,
  live: boolean,
): Bill {
  const mayPayFee = rulesOf(tif).mayTake && isCharged(schedule, live);
  return billOf(cost(price, qty), mayPayFee ? highestTakerFee(schedule, price, qty) : ZERO, qty);
}

/** Preview of an order with its numbers read. */
export interface PreviewedOrder {
  readonly bill: Bill;
  readonly fills: readonly { readonly price: Ticks; readonly qty: Contracts }[];
  /** Contracts that fill at once. */
  readonly filled: Contracts;
  readonly rests: Contracts;
  readonly queueAhead: number;
  readonly reserve: Millicents;
  /** Code by which the order would be refused or rejected now. */
  readonly reject?: string | undefined;
}

/** Returns the preview of an order with this limit: what fills pays the prices of the fills, what rests the limit. */
export function previewed(limit: Ticks, preview: z.infer<typeof OrderPreview>): PreviewedOrder {
  const fills = preview.fills.map(({ price, qty }) => ({ price: ticksOf(price), qty: contracts(qty) }));
  const filled = contracts(fills.reduce((sum, { qty }) => sum + qty, 0));
  const rests = contracts(preview.rests);
  const paid = fills.reduce((sum, { price, qty }) => add(sum, cost(price, qty)), ZERO);
  return {
    bill: billOf(add(paid, cost(limit, rests)), moneyOf(preview.fee), contracts(filled + rests)),
    fills,
    filled,
    rests,
    queueAhead: preview.queueAhead,
    reserve: moneyOf(preview.reserve),
    reject: preview.reject,
  };
}

/** Returns the profit of all holdings for each outcome as the winner, in the order of the outcomes. */
export function profits(outcomeIds: readonly string[], held: readonly Held[]): readonly Millicents[] {
  const spent = held.reduce((sum, holding) => add(sum, holding.cost), ZERO);
  return outcomeIds.map((winner) => {
    const paid = held
      .filter(({ outcomeId }) => outcomeId === winner)
      .reduce((sum, { qty }) => add(sum, fullValue(qty)), ZERO);
    return subtract(paid, spent);
  });
}
