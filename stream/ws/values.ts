/** Single values on the stream: their shapes, and their wire form (contract sections 6.6 to 6.9). */

import { z } from "zod";
import { type Currency, type Level, MARKET_STATUSES } from "../../actors/market/types.js";
import { assert, formatPrice, PRICE_TEXT } from "../../actors/units.js";
import { CHANNELS } from "./channels.js";
import type { MarketIdentity } from "./ports.js";

export const id = z.uuid();
export const seq = z
  .int()
  .min(0)
  .describe("Number of the batch in its channel: one more than the number of the batch before.");
export const ts = z.int().min(0).describe("Unix time, ms.");
export const price = z.string().regex(PRICE_TEXT).describe("Probability with three decimals.");
export const qty = z.int().min(0).describe("Number of contracts.");
export const nonce = z.int().min(1).describe("Nonce of the request that this frame answers.");
export const currency = z.literal("COIN").optional().describe("Present only in the COIN book.");
export const level = z.strictObject({ price, qty, currency });
export const channel = z.enum(CHANNELS);
export const status = z.enum(MARKET_STATUSES);

/** Returns `{ currency: "COIN" }` for the COIN book and an empty object for the CASH book. */
export function currencyTag(currency: Currency): { readonly currency?: "COIN" } {
  return currency === "COIN" ? { currency } : {};
}

/** Returns the uuid of the outcome with this index in the market. */
export function outcomeId(market: MarketIdentity, outcome: number): string {
  const definition = market.outcomes[outcome];
  assert(definition !== undefined, `market ${market.marketId} has no outcome ${outcome}`);
  return definition.outcomeId;
}

/** Returns the wire form of a price level. */
export function levelOnWire(level: Level, currency: Currency): object {
  return { price: formatPrice(level.price), qty: level.qty, ...currencyTag(currency) };
}
