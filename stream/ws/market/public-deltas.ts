/** Public deltas of a market: their shapes by channel, and the function that writes them (contract section 6.8). */

import { z } from "zod";
import type { BookDelta as MarketBookDelta, PublicDelta } from "../../../actors/market/deltas.js";
import { LIFECYCLE_KINDS } from "../../../actors/market/types.js";
import { formatPrice } from "../../../actors/units.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Channel } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { currency, currencyTag, id, outcomeId, price, qty, status, ts } from "../values.js";

/** A lifecycle transition of a market. */
export const LifecycleDelta = z.strictObject({
  kind: z.enum(LIFECYCLE_KINDS),
  status: status.describe("Market status after the transition."),
});

/** One public trade. */
export const TradeDelta = z.strictObject({
  tradeId: id,
  matchId: id.describe("Shared by all prints of one match."),
  outcomeId: id,
  price,
  qty,
  ts,
  currency,
});

/** The new best bid of an outcome. */
export const BboDelta = z.strictObject({
  outcomeId: id,
  bbo: z
    .strictObject({ price, qty })
    .nullable()
    .describe("Best resting bid, or null when the outcome has none."),
  currency,
});

/** One change of a resting order in the book. */
export const BookDelta = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("add"), orderId: id, outcomeId: id, price, qty, currency }),
  z.strictObject({ kind: z.literal("update"), orderId: id, remaining: qty, currency }),
  z.strictObject({ kind: z.literal("remove"), orderId: id, reason: z.enum(["fill", "cancel"]), currency }),
]);

/** Shape of one delta of each channel. A channel that carries several kinds has a union here. */
export const CHANNEL_DELTAS = {
  lifecycle: LifecycleDelta,
  trades: TradeDelta,
  bbo: BboDelta,
  book: BookDelta,
} as const satisfies Readonly<Record<Channel, z.ZodType>>;

/** Returns the body of a public delta as it goes out. `ts` is the engine time of its batch. */
export function publicOnWire(market: MarketIdentity, delta: PublicDelta, ts: number): object {
  switch (delta.type) {
    case "lifecycle":
      return { kind: delta.kind, status: delta.status };
    case "book":
      return bookOnWire(market, delta);
    case "bbo": {
      const bbo = delta.bbo === null ? null : { price: formatPrice(delta.bbo.price), qty: delta.bbo.qty };
      return { outcomeId: outcomeId(market, delta.outcome), bbo, ...currencyTag(delta.currency) };
    }
    case "trade":
      return {
        tradeId: delta.tradeId,
        matchId: delta.matchId,
        outcomeId: outcomeId(market, delta.outcome),
        price: formatPrice(delta.price),
        qty: delta.qty,
        ts,
        ...currencyTag(delta.currency),
      };
    default:
      return unreachable(delta);
  }
}

function bookOnWire(market: MarketIdentity, delta: MarketBookDelta): object {
  const { kind, orderId } = delta;
  switch (kind) {
    case "add":
      return {
        kind,
        orderId,
        outcomeId: outcomeId(market, delta.outcome),
        price: formatPrice(delta.price),
        qty: delta.qty,
        ...currencyTag(delta.currency),
      };
    case "update":
      return { kind, orderId, remaining: delta.remaining, ...currencyTag(delta.currency) };
    case "remove":
      return { kind, orderId, reason: delta.reason, ...currencyTag(delta.currency) };
    default:
      return unreachable(delta);
  }
}
