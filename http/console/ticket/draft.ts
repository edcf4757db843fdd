/** Draft of an order as typed into the ticket, and the order that it describes. */

import { rulesOf, type TimeInForce } from "../../../actors/market/time-in-force.js";
import type { SelfTrade } from "../../../actors/market/types.js";
import { MAX_TTL_MS, MIN_TTL_MS } from "../../../actors/limits.js";
import {
  contracts,
  type Contracts,
  formatPrice,
  MAX_CONTRACTS,
  parsePrice,
  type Ticks,
} from "../../../actors/units.js";
import { showQuantity } from "../data/money.js";
import { nearest } from "./steps.js";

/** Fields of the ticket as they are typed. */
export interface Draft {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: string;
  readonly tif: TimeInForce;
  /** Time to live in minutes, for a time in force that takes one. */
  readonly minutes: string;
  readonly selfTrade: SelfTrade;
}

/** Order that a draft describes, ready to be sent. */
export interface DraftOrder {
  readonly outcomeId: string;
  readonly price: Ticks;
  readonly qty: Contracts;
  readonly tif: TimeInForce;
  readonly ttl?: number;
  readonly selfTrade: SelfTrade;
}

/** Errors of the fields of a draft, in words. */
export interface DraftErrors {
  readonly price?: string;
  readonly qty?: string;
  readonly minutes?: string;
}

const MINUTE_MS = 60_000;

/** Reads a price. Returns the price, or the error of its field. */
export function readPrice(typed: string, table: readonly Ticks[]): Ticks | string {
  const text = typed.trim();
  const price = parsePrice(text.startsWith(".") ? `0${text}` : text);
  if (price === undefined && text === "") return "Enter a price, such as 0.625.";
  if (price !== undefined && (table.length === 0 || table.includes(price))) return price;
  const near = nearest(table, text);
  if (near.length === 0) return "Enter a price between 0 and 1, such as 0.625.";
  return `${text} is not on the tick table. Nearest: ${near.join(" or ")}.`;
}

/** Reads a quantity. Returns the contracts, or the error of its field. */
export function readQty(typed: string): Contracts | string {
  const text = typed.trim().replaceAll(",", "");
  if (text === "") return "Enter a number of contracts.";
  const qty = Number(text);
  if (/^\d+$/.test(text) && qty >= 1 && qty <= MAX_CONTRACTS) return contracts(qty);
  return `Enter a whole number from 1 to ${showQuantity(MAX_CONTRACTS)}.`;
}

function readTtl({ tif, minutes }: Draft): number | undefined | string {
  const rule = rulesOf(tif).ttl;
  const text = minutes.trim();
  if (rule === "refused" || (rule === "optional" && text === "")) return undefined;
  const ttlMs = Math.round(Number(text) * MINUTE_MS);
  if (/^\d+(\.\d+)?$/.test(text) && ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS) return ttlMs;
  return "Enter minutes, from 0.02 (1 s) to 43200 (30 days).";
}

/** Reads a draft. Returns the order, or the errors of its fields. */
export function readDraft(
  draft: Draft,
  table: readonly Ticks[],
): { readonly order: DraftOrder } | { readonly errors: DraftErrors } {
  const price = readPrice(draft.price, table);
  const qty = readQty(draft.qty);
  const ttl = readTtl(draft);
  if (typeof price !== "string" && typeof qty !== "string" && typeof ttl !== "string") {
    const { outcomeId, tif, selfTrade } = draft;
    return { order: { outcomeId, price, qty, tif, selfTrade, ...(ttl === undefined ? {} : { ttl }) } };
  }
  return {
    errors: {
      ...(typeof price === "string" ? { price } : {}),
      ...(typeof qty === "string" ? { qty } : {}),
      ...(typeof ttl === "string" ? { minutes: ttl } : {}),
    },
  };
}

/** Returns the body of the request that previews or places the order. */
export function bodyOf({ price, ...order }: DraftOrder) {
  return { ...order, price: formatPrice(price) };
}
