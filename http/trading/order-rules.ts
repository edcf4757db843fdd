/**
 * Rules that the gateway checks of an order before the ledger checks its money: the outcome, the status of the market and
 * of the event, the tick table, the quantity and the time in force (contract sections 1.4, 2.6 and 5.15).
 */

import { MAX_BATCH, MAX_TTL_MS, MIN_TTL_MS } from "../../actors/limits.js";
import { rulesOf } from "../../actors/market/time-in-force.js";
import type { MarketTerms, OrderRequest } from "../../actors/ledger/types.js";
import {
  CONTRACT_TICKS,
  contracts,
  formatPrice,
  MAX_CONTRACTS,
  parsePrice,
  type Ticks,
} from "../../actors/units.js";
import type { MarketRecord } from "../../db/queries/catalog/markets.js";
import type { EventStatus } from "../../db/schema/catalog.js";
import { meaningOf, Refused, type Code } from "../request/errors.js";
import type { Grid, OutcomeRef, Reference } from "../reference/reference.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";

/** Refusal of an order: the code, which decides the status, and the message. */
export interface OrderRefusal {
  readonly code: Code;
  readonly reason: string;
}

/** Market of an order, and the outcome of the order in it. */
export interface Market {
  readonly record: MarketRecord;
  readonly outcomeRef: OutcomeRef;
}

const TRADABLE: ReadonlySet<EventStatus> = new Set(["OPEN_PREGAME", "OPEN_INGAME"]);

/** Returns the market of an outcome from the cache of the gateway. */
export async function marketOf(
  reference: Pick<Reference, "outcome" | "market">,
  outcomeId: string,
): Promise<Market | undefined> {
  const outcomeRef = await reference.outcome(outcomeId);
  const record = outcomeRef === undefined ? undefined : await reference.market(outcomeRef.marketId);
  return outcomeRef === undefined || record === undefined ? undefined : { outcomeRef, record };
}

/** Checks an order, and returns the request to the ledger or the refusal. */
export function checkOrder(
  order: PlaceOrder,
  orderId: string,
  market: Market | undefined,
  grid: Grid,
): OrderRequest | OrderRefusal {
  if (market === undefined) {
    return refuse(
      "OUTCOME_NOT_FOUND",
      `no outcome has the outcomeId ${order.outcomeId}; send the outcomeId of one of the market's outcomes`,
    );
  }
  const closed = refuseMarket(market.record);
  if (closed !== undefined) return closed;
  const read = readOrderPrice(order.price, grid);
  if ("code" in read) return read;
  const wrongQty = refuseQty(order.qty);
  if (wrongQty !== undefined) return wrongQty;
  const ttl = refuseTtl(order);
  if (ttl !== undefined) return ttl;
  return requestOf(order, orderId, market, read.price);
}

/** Returns the request to the ledger of an order with a valid price and quantity. */
export function requestOf(
  order: PlaceOrder,
  orderId: string,
  { record, outcomeRef }: Market,
  price: Ticks,
): OrderRequest {
  return {
    orderId,
    terms: termsOf(record),
    currency: order.currency,
    outcome: outcomeRef.outcome,
    price,
    qty: contracts(order.qty),
    tif: order.tif,
    ttlMs: order.ttl,
    clientId: order.clientId,
    selfTrade: order.selfTrade,
    notAfter: order.notAfter,
    groupId: order.groupId,
  };
}

function refuse(code: Code, reason = meaningOf(code)): OrderRefusal {
  return { code, reason };
}

/** Reads the price of an order, which must be on the tick table. */
export function readOrderPrice(text: string, grid: Grid): { readonly price: Ticks } | OrderRefusal {
  const price = parsePrice(text);
  if (price !== undefined && grid.allowed.has(price)) return { price };
  const near = pricesNear(CONTRACT_TICKS * Number(text), grid).map(formatPrice);
  const remedy =
    near.length === 0 ? "send a price of the table" : `the nearest prices are ${near.join(" and ")}`;
  return refuse("INVALID_PRICE", `price ${text.slice(0, 20)} is not on the tick table; ${remedy}`);
}

/** Returns the prices of the table around a number of ticks, or its first or last two; none for what is no number. */
function pricesNear(wanted: number, { prices }: Grid): readonly Ticks[] {
  if (Number.isNaN(wanted)) return [];
  const above = prices.findIndex((price) => price > wanted);
  const last = prices.length - 1;
  const end = above === -1 ? last : Math.max(above, 1);
  return prices.slice(end - 1, end + 1);
}

/** Returns the refusal of a number that is not a quantity of an order. */
export function refuseQty(qty: number): OrderRefusal | undefined {
  if (Number.isInteger(qty) && qty >= 1 && qty <= MAX_CONTRACTS) return undefined;
  return refuse("QTY_OUT_OF_RANGE");
}

/** Returns the refusal of a market that takes no orders now. */
export function refuseMarket(market: MarketRecord): OrderRefusal | undefined {
  if (market.status !== "OPEN") return refuse("MARKET_CLOSED");
  if (market.paused) return refuse("MARKET_PAUSED");
  const { status } = market.event;
  if (TRADABLE.has(status)) return undefined;
  return refuse(
    "EVENT_NOT_TRADABLE",
    `the event of outcomeId takes no orders while its status is ${status}; wait until it opens`,
  );
}

function refuseTtl({ tif, ttl }: PlaceOrder): OrderRefusal | undefined {
  const rule = rulesOf(tif).ttl;
  if (ttl === undefined) return rule === "required" ? refuse("TTL_REQUIRED") : undefined;
  if (rule === "refused")
    return refuse("TTL_NOT_ALLOWED", `ttl is not allowed with the tif ${tif}; leave ttl out`);
  if (Number.isInteger(ttl) && ttl >= MIN_TTL_MS && ttl <= MAX_TTL_MS) return undefined;
  return refuse("TTL_OUT_OF_RANGE");
}

/** Returns the terms of a market that a ledger needs to reserve money. */
export function termsOf(market: MarketRecord): MarketTerms {
  return {
    marketId: market.marketId,
    outcomes: market.outcomes.length,
    voids: market.voids,
    fee: market.fee,
    live: market.live,
  };
}

/** Refuses a batch without an item, and one with too many. */
export function requireBatch(size: number): void {
  if (size === 0) throw new Refused("EMPTY_BATCH");
  if (size > MAX_BATCH) throw new Refused("BATCH_TOO_LARGE");
}
