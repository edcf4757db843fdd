/**
 * The rules that an order meets at the gateway, before any money is looked at (contract sections 1, 2 and 5): its
 * outcome, the market's and the event's status, the tick table, the quantity, the time in force.
 */

import type { MarketTerms, OrderRequest } from "../actors/ledger/types.js";
import { contracts, MAX_CONTRACTS, parsePrice } from "../actors/units.js";
import type { MarketRecord } from "../db/queries/markets.js";
import type { EventStatus } from "../db/schema/catalog.js";
import { meaningOf, type Code } from "./errors.js";
import type { Grid, OutcomePlace } from "./reference.js";
import type { PlaceOrder } from "./schemas/orders.js";

/** A refused order: the code that decides the status, and the sentence for people. */
export interface OrderRefusal {
  readonly code: Code;
  readonly reason: string;
}

/** What the rules look at. */
export interface Market {
  readonly record: MarketRecord;
  readonly place: OutcomePlace;
}

const MIN_TTL_MS = 1_000;
const MAX_TTL_MS = 30 * 24 * 60 * 60 * 1_000;
const TRADABLE: ReadonlySet<EventStatus> = new Set(["OPEN_PREGAME", "OPEN_INGAME"]);

/** Judges one order; gives the ledger's request when it passes. */
export function judgeOrder(
  order: PlaceOrder,
  orderId: string,
  market: Market | undefined,
  grid: Grid,
): OrderRequest | OrderRefusal {
  if (market === undefined) {
    return refuse("OUTCOME_NOT_FOUND", `outcomeId ${order.outcomeId}: there is no such outcome`);
  }
  const { record, place } = market;
  const closed = refuseMarket(record);
  if (closed !== undefined) return closed;
  const price = parsePrice(order.price);
  if (price === undefined || !grid.allowed.has(price)) {
    return refuse("INVALID_PRICE", `price ${order.price.slice(0, 20)} is not on the tick table`);
  }
  if (!Number.isInteger(order.qty) || order.qty < 1 || order.qty > MAX_CONTRACTS) {
    return refuse("QTY_OUT_OF_RANGE", `qty must be a whole number from 1 to ${MAX_CONTRACTS}`);
  }
  const ttl = refuseTtl(order);
  if (ttl !== undefined) return ttl;
  return {
    orderId,
    terms: termsOf(record),
    currency: order.currency,
    outcome: place.outcome,
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

function refuseMarket(market: MarketRecord): OrderRefusal | undefined {
  if (market.status !== "OPEN") return refuse("MARKET_CLOSED");
  if (market.paused) return refuse("MARKET_PAUSED");
  const { status } = market.event;
  if (TRADABLE.has(status)) return undefined;
  return refuse("EVENT_NOT_TRADABLE", `the event takes no orders while it is ${status}`);
}

function refuseTtl({ tif, ttl }: PlaceOrder): OrderRefusal | undefined {
  if (ttl === undefined) return tif === "GTT" ? refuse("TTL_REQUIRED") : undefined;
  if (tif !== "GTT" && tif !== "PO") return refuse("TTL_NOT_ALLOWED", `${tif} takes no ttl; leave it out`);
  if (Number.isInteger(ttl) && ttl >= MIN_TTL_MS && ttl <= MAX_TTL_MS) return undefined;
  return refuse("TTL_OUT_OF_RANGE");
}

function termsOf(market: MarketRecord): MarketTerms {
  return {
    marketId: market.marketId,
    outcomes: market.outcomes.length,
    voids: market.voids,
    fee: market.fee,
    live: market.live,
  };
}
