/** Records as surface A writes them: outcomes by UUID, prices and money as decimal strings, `currency` only for COIN. */

import type { OpenOrder, WalletPosition } from "../../actors/ledger/types.js";
import type { Currency, FeeSchedule } from "../../actors/market/types.js";
import { formatMoney, formatPrice } from "../../actors/units.js";
import type { EventRecord } from "../../db/queries/catalog/events.js";
import type { FillRecord } from "../../db/queries/trading/fills.js";
import type { MarketRecord } from "../../db/queries/catalog/markets.js";
import type { OrderRecord } from "../../db/queries/trading/orders.js";
import type { TradeRecord } from "../../db/queries/trading/trades.js";
import type { TransactionRecord } from "../../db/queries/trading/transactions.js";
import type { Preview } from "../trading/previewing.js";

/** Returns `{ currency: "COIN" }`, or `{}` for CASH. */
export function coin(currency: Currency): { currency?: "COIN" } {
  return currency === "COIN" ? { currency } : {};
}

/** Returns `{ name: value }`, or `{}` for `null` and `undefined`. */
function present<Name extends string, Value>(
  name: Name,
  value: Value | null | undefined,
): Partial<Record<Name, Value>> {
  return value === null || value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);
}

/** Returns the id of an outcome by its index in the market. */
export function outcomeIdOf(market: MarketRecord | undefined, outcome: number): string {
  const found = market?.outcomes[outcome];
  if (found === undefined) throw new Error(`the market is unknown, or has no outcome ${outcome}`);
  return found.outcomeId;
}

const MILLION = 1_000_000;

/** Formats millionths as a decimal string without trailing zeros, such as `0.03`. */
function formatShare(ppm: number): string {
  const fraction = String(ppm % MILLION)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const whole = Math.floor(ppm / MILLION);
  return fraction === "" ? String(whole) : `${whole}.${fraction}`;
}

function feeOnWire(fee: FeeSchedule) {
  return {
    coefficient: formatShare(fee.coefficientPpm),
    makerCredit: formatShare(fee.makerCreditPpm),
    charged: fee.charged,
  };
}

export function eventOnWire({ eventId, sport, league, status, description, startsTs }: EventRecord) {
  return { eventId, sport, league, status, description, startsTs };
}

export function marketOnWire(market: MarketRecord) {
  return {
    marketId: market.marketId,
    eventId: market.event.eventId,
    marketType: market.marketType,
    ...present("strike", market.strike),
    status: market.status,
    ...(market.paused ? { paused: true as const } : {}),
    voids: market.voids,
    description: market.description,
    startsTs: market.event.startsTs,
    fee: feeOnWire(market.fee),
    outcomes: market.outcomes.map(({ outcomeId, name, status }) => ({ outcomeId, name, status })),
  };
}

export function tradeOnWire(market: MarketRecord, trade: TradeRecord) {
  return {
    tradeId: trade.tradeId,
    outcomeId: outcomeIdOf(market, trade.outcome),
    price: formatPrice(trade.price),
    qty: trade.qty,
    ts: trade.ts,
    matchId: trade.matchId,
  };
}

export function orderOnWire(market: MarketRecord | undefined, order: OrderRecord) {
  return {
    orderId: order.orderId,
    ...present("clientId", order.clientId),
    ...present("replaces", order.replaces),
    marketId: order.marketId,
    outcomeId: outcomeIdOf(market, order.outcome),
    price: formatPrice(order.price),
    qty: order.qty,
    remaining: order.remaining,
    tif: order.tif,
    status: order.status,
    ...present("reason", order.reason),
    createdTs: order.ts,
    ...present("expiresTs", order.expiresTs),
    ...coin(order.currency),
  };
}

export function openOrderOnWire(market: MarketRecord | undefined, order: OpenOrder) {
  return {
    orderId: order.orderId,
    ...present("clientId", order.clientId),
    marketId: order.marketId,
    outcomeId: outcomeIdOf(market, order.outcome),
    price: formatPrice(order.price),
    qty: order.qty,
    tif: order.tif,
    ...present("expiresAt", order.expiresAt),
    ...coin(order.currency),
  };
}

export function previewOnWire({ reserve, fee, fills, rests, queueAhead, reject, partial }: Preview) {
  return {
    reserve: formatMoney(reserve),
    fee: formatMoney(fee),
    fills: fills.map(({ price, qty }) => ({ price: formatPrice(price), qty })),
    rests,
    queueAhead,
    ...present("reject", reject),
    ...present("partial", partial),
  };
}

export function positionOnWire(outcomeId: string, position: Omit<WalletPosition, "outcome">) {
  return {
    marketId: position.marketId,
    outcomeId,
    qty: position.qty,
    cost: formatMoney(position.cost),
    ...coin(position.currency),
  };
}

export function fillOnWire(market: MarketRecord | undefined, fill: FillRecord) {
  return {
    fillId: fill.fillId,
    orderId: fill.orderId,
    ...present("clientId", fill.clientId),
    marketId: fill.marketId,
    outcomeId: outcomeIdOf(market, fill.outcome),
    qty: fill.qty,
    cost: formatMoney(fill.cost),
    taker: fill.taker,
    ...(fill.fee > 0 ? { fee: formatMoney(fill.fee) } : {}),
    ...(fill.wash ? { wash: true as const } : {}),
    ts: fill.ts,
    ...coin(fill.currency),
  };
}

export function transactionOnWire(entry: TransactionRecord) {
  return {
    transactionId: entry.transactionId,
    kind: entry.kind,
    amount: formatMoney(entry.amount),
    ts: entry.ts,
    ref: entry.ref,
    ...coin(entry.currency),
  };
}
