/** Frames of the stream (contract section 6). */

import { z } from "zod/mini";
import { MARKET_STATUSES } from "../../../actors/market/types.js";
import { BookAnswer } from "./catalog.js";
import { HeldPositions, OpenOrder, OpenOrders, PositionAnswer } from "./orders.js";
import { Coin, Text, Whole } from "./values.js";

const Seq = { seq: Whole };

/** One delta of the private orders channel (contract section 6.9). */
export const OrdersDelta = z.discriminatedUnion("kind", [
  z.extend(OpenOrder, { kind: z.literal("open") }),
  z.object({
    kind: z.literal("fill"),
    orderId: Text,
    clientId: z.optional(Text),
    marketId: Text,
    outcomeId: Text,
    price: Text,
    qty: Whole,
    remaining: Whole,
    fillId: Text,
    wash: z.optional(z.literal(true)),
    ...Coin,
  }),
  z.object({ kind: z.literal("cancel"), orderId: Text, marketId: Text, reason: z.optional(Text) }),
  z.object({ kind: z.literal("reject"), orderId: Text, marketId: Text, reason: Text }),
]);
export type OrdersDelta = z.infer<typeof OrdersDelta>;

/** One delta of a book (contract section 6.8). */
export const BookDelta = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("add"),
    orderId: Text,
    outcomeId: Text,
    price: Text,
    qty: Whole,
    ...Coin,
  }),
  z.object({ kind: z.literal("update"), orderId: Text, remaining: Whole, ...Coin }),
  z.object({ kind: z.literal("remove"), orderId: Text, reason: Text, ...Coin }),
]);
export type BookDelta = z.infer<typeof BookDelta>;

const Level = z.object({ price: Text, qty: Whole });
/** A best bid level. */
export type Level = z.infer<typeof Level>;

/** The new best bid of an outcome; `null` when it has no bid. */
export const BboDelta = z.object({ outcomeId: Text, bbo: z.nullable(Level), ...Coin });
export type BboDelta = z.infer<typeof BboDelta>;

/** One public trade; `ts` is Unix ms, and all prints of one match share its `matchId` (contract section 6.8). */
export const TradeDelta = z.object({
  tradeId: Text,
  matchId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  ts: Whole,
  ...Coin,
});
export type TradeDelta = z.infer<typeof TradeDelta>;

/** One lifecycle transition, with the market status after it (contract section 6.8). */
export const LifecycleDelta = z.object({ kind: Text, status: z.enum(MARKET_STATUSES) });
export type LifecycleDelta = z.infer<typeof LifecycleDelta>;

function batchOf<T extends z.core.$ZodType>(delta: T) {
  return z.object({ ...Seq, ...Coin, deltas: z.array(delta) });
}

/** Public batches of one market in a frame. */
export const MarketBatches = z.object({
  eventId: Text,
  lifecycle: z.optional(batchOf(LifecycleDelta)),
  trades: z.optional(batchOf(TradeDelta)),
  bbo: z.optional(batchOf(BboDelta)),
  book: z.optional(batchOf(BookDelta)),
});
export type MarketBatches = z.infer<typeof MarketBatches>;

/** A frame with deltas of markets or of private channels. */
export const DeltaFrame = z.object({
  ts: Whole,
  delta: z.record(Text, MarketBatches),
  orders: z.optional(batchOf(OrdersDelta)),
  positions: z.optional(batchOf(PositionAnswer)),
});
export type DeltaFrame = z.infer<typeof DeltaFrame>;

/** Snapshot of a market, by requested channels. */
export const MarketSnapshot = z.object({
  eventId: Text,
  lifecycle: z.optional(z.object({ ...Seq, status: z.enum(MARKET_STATUSES) })),
  trades: z.optional(z.object({ ...Seq, ...Coin, trades: z.array(batchOf(TradeDelta)) })),
  bbo: z.optional(z.object({ ...Seq, ...Coin, bbo: z.record(Text, z.nullable(Level)) })),
  book: z.optional(z.omit(BookAnswer, { marketId: true, next: true })),
});
export type MarketSnapshot = z.infer<typeof MarketSnapshot>;

/** Answer to `subscribe` and `snapshot`. `resumed` names the channels that resume; the others have a snapshot. */
export const SnapshotFrame = z.object({
  resumed: z.optional(z.record(Text, z.unknown())),
  snapshot: z.record(Text, MarketSnapshot),
  orders: z.optional(OpenOrders),
  positions: z.optional(HeldPositions),
});
export type SnapshotFrame = z.infer<typeof SnapshotFrame>;

/** Last seq of every watched channel, with the checksums of books. */
export const HeartbeatFrame = z.object({
  heartbeat: z.object({
    orders: z.optional(Whole),
    positions: z.optional(Whole),
    markets: z.optional(z.record(Text, z.record(Text, Whole))),
  }),
});
export type HeartbeatFrame = z.infer<typeof HeartbeatFrame>;

const Subjects = z.record(Text, z.array(Text));
/** Answer to `status`: the subscriptions of the connection, its cap on markets, and the tokens of the `stream` bucket. */
export const StatusFrame = z.object({
  status: z.object({
    selection: z.object({ markets: Subjects, events: Subjects, private: z.array(Text) }),
    coin: z.optional(z.object({ markets: Subjects, events: Subjects, currency: z.literal("COIN") })),
    watchedMarkets: Whole,
    maxWatchedMarkets: Whole,
    tokens: Whole,
  }),
});
export type StatusFrame = z.infer<typeof StatusFrame>;
