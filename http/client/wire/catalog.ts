/** Answers about events, markets, books and prices (contract sections 5.11 and 5.14). */

import { z } from "zod/mini";
import { FEE_PERIODS, LIFECYCLE_KINDS, MARKET_STATUSES, VOID_KINDS } from "../../../actors/market/types.js";
import { Coin, Text, TextOrNull, Whole, WholeOrNull } from "./values.js";

/** An event of the catalog; `startsTs` is Unix ms. */
export const EventAnswer = z.object({
  eventId: Text,
  sport: Text,
  league: Text,
  status: Text,
  description: Text,
  startsTs: Whole,
});
export type EventAnswer = z.infer<typeof EventAnswer>;

/** An event with the ids of its markets. */
export const EventWithMarkets = z.extend(EventAnswer, { marketIds: z.array(Text) });
export type EventWithMarkets = z.infer<typeof EventWithMarkets>;

/** Fee of a market: decimal shares of the payout that is at risk. */
const Fee = z.object({ coefficient: Text, makerCredit: Text, charged: z.enum(FEE_PERIODS) });

/** A market of the catalog. */
export const MarketAnswer = z.object({
  marketId: Text,
  eventId: Text,
  marketType: Text,
  strike: z.optional(Text),
  status: z.enum(MARKET_STATUSES),
  /** True while the market is open and paused. */
  paused: z.optional(z.boolean()),
  voids: z.enum(VOID_KINDS),
  description: Text,
  startsTs: Whole,
  fee: Fee,
  outcomes: z.array(z.object({ outcomeId: Text, name: Text, status: Text })),
});
export type MarketAnswer = z.infer<typeof MarketAnswer>;

/** One transition in the life of a market, with its status after it. */
const Transition = z.object({ kind: z.enum(LIFECYCLE_KINDS), status: z.enum(MARKET_STATUSES), ts: Whole });
export type Transition = z.infer<typeof Transition>;
export const Lifecycle = z.object({ items: z.array(Transition) });

/** One resting order of a book. */
const BookOrder = z.object({ orderId: Text, price: Text, qty: Whole });
export type BookOrder = z.infer<typeof BookOrder>;

/** A book: resting orders by outcome, best price first, then queue order. */
export const BookAnswer = z.object({
  marketId: Text,
  seq: Whole,
  orders: z.record(Text, z.array(BookOrder)),
  /** Value of `after` for the next page of a long book; absent on the last one. */
  next: z.optional(Text),
  ...Coin,
});
export type BookAnswer = z.infer<typeof BookAnswer>;

/** One public trade; all prints of one match share its `matchId`. */
export const TradeAnswer = z.object({
  tradeId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  ts: Whole,
  matchId: Text,
});
export type TradeAnswer = z.infer<typeof TradeAnswer>;

/** Prices of an outcome in one interval from `ts`; `volume` is contracts. */
const Candle = z.object({ ts: Whole, open: Text, high: Text, low: Text, close: Text, volume: Whole });
export type Candle = z.infer<typeof Candle>;
export const Candles = z.object({ items: z.array(Candle) });

/** Best bids and last prices of a market, its volume in dollars, and the prices of the last hour. */
const MarketPrices = z.object({
  marketId: Text,
  status: z.enum(MARKET_STATUSES),
  bids: z.record(Text, z.nullable(z.object({ price: Text, qty: Whole }))),
  last: z.record(Text, Text),
  volume: Text,
  hour: z.array(TextOrNull),
});
export type MarketPrices = z.infer<typeof MarketPrices>;
export const Prices = z.object({ items: z.array(MarketPrices) });

export const Names = z.array(Text);
/** The tick table: the submittable prices, rising (contract section 1.4). */
export const TicksAnswer = z.object({ prices: z.array(Text) });

/** An announcement of a change. */
export const ChangeAnswer = z.object({
  changeId: Text,
  title: Text,
  body: Text,
  effectiveTs: Whole,
  createdTs: Whole,
});
export type ChangeAnswer = z.infer<typeof ChangeAnswer>;

/** State of the service; `lag` is how far the lists are behind, in ms. */
export const StatusAnswer = z.object({
  state: Text,
  trading: Text,
  lists: Text,
  accounts: z.boolean(),
  lag: WholeOrNull,
  maintenance: z.nullable(z.object({ message: TextOrNull, sinceTs: Whole })),
  announcements: z.array(ChangeAnswer),
  announcementsTs: WholeOrNull,
  ts: Whole,
});
export type StatusAnswer = z.infer<typeof StatusAnswer>;

/** Login of the demo's trader, in development only. */
export const DemoAnswer = z.object({ login: z.nullable(z.object({ email: Text, password: Text })) });
export type DemoAnswer = z.infer<typeof DemoAnswer>;
