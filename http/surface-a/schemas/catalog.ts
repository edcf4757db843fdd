/**
 * Queries and answers about events, markets, books and trades on surface A (specification, Resources; contract section
 * 5.14).
 */

import { z } from "zod";
import { FEE_PERIODS, LIFECYCLE_KINDS, MARKET_STATUSES, VOID_KINDS } from "../../../actors/market/types.js";
import { CONTRACT_TICKS } from "../../../actors/units.js";
import { EVENT_STATUSES } from "../../../db/schema/catalog.js";
import {
  BoundsQuery,
  commaList,
  Currency,
  MoneyText,
  Ms,
  Name,
  oneOf,
  PageQuery,
  QueryCount,
  QueryMs,
  Uuid,
  WirePrice,
} from "../../request/fields.js";

/** Maximum number of price levels of an outcome: every price from 0.001 to 0.999. */
const MAX_LEVELS = CONTRACT_TICKS - 1;
const EventStatus = oneOf(EVENT_STATUSES);

export const EventsQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  league: commaList(Name).optional(),
  status: commaList(EventStatus).optional(),
});

export const MarketsQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  league: commaList(Name).optional(),
  marketType: commaList(Name).optional(),
  eventStatus: commaList(EventStatus).optional(),
  event: Uuid.optional(),
});

/** Number of orders of each outcome on one page of a book. */
export const MAX_BOOK_ORDERS = 5_000;
const BOOK_CURSOR = /^[0-9a-z]{1,6}$/;

/** Returns the cursor of the page of a book that begins behind so many orders of each outcome. */
export function bookCursor(offset: number): string {
  return offset.toString(36);
}

export const BookQuery = z.strictObject({
  currency: Currency.default("CASH"),
  depth: QueryCount(MAX_LEVELS).optional(),
  limit: QueryCount(MAX_BOOK_ORDERS).default(MAX_BOOK_ORDERS),
  after: z
    .string()
    .regex(BOOK_CURSOR, "must be a cursor: the 'next' of an earlier page of this book")
    .transform((cursor) => Number.parseInt(cursor, 36))
    .default(0),
});
export const TradesQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  currency: Currency.default("CASH"),
});

export const CANDLE_INTERVALS_MS = {
  "1m": 60_000,
  "5m": 300_000,
  "1h": 3_600_000,
  "1d": 86_400_000,
} as const;

export const CandlesQuery = z.strictObject({
  outcome: Uuid,
  interval: oneOf(Object.keys(CANDLE_INTERVALS_MS) as (keyof typeof CANDLE_INTERVALS_MS)[]),
  from: QueryMs,
  to: QueryMs,
  currency: Currency.default("CASH"),
});

/** Largest number of markets of one request for prices. */
export const MAX_PRICED_MARKETS = 100;
export const PricesQuery = z.strictObject({
  markets: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(Uuid).max(MAX_PRICED_MARKETS, `must have at most ${MAX_PRICED_MARKETS} values`)),
});

export const HistoryQuery = z.strictObject(PageQuery);

export const CatalogEvent = z.strictObject({
  eventId: z.uuid(),
  sport: z.string(),
  league: z.string(),
  status: EventStatus,
  description: z.string(),
  startsTs: Ms,
});
export type CatalogEvent = z.output<typeof CatalogEvent>;
export const CatalogEventWithMarkets = CatalogEvent.extend({ marketIds: z.array(z.uuid()) });

/** Share as a decimal string, such as `0.03`. */
const Share = z.string().regex(/^\d+(\.\d{1,6})?$/);

export const Fee = z.strictObject({
  coefficient: Share,
  makerCredit: Share,
  charged: z.enum(FEE_PERIODS),
});
export type Fee = z.output<typeof Fee>;

export const MarketOutcome = z.strictObject({ outcomeId: z.uuid(), name: z.string(), status: z.string() });

export const Market = z.strictObject({
  marketId: z.uuid(),
  eventId: z.uuid(),
  marketType: z.string(),
  strike: z.string().optional(),
  status: z.enum(MARKET_STATUSES),
  /** Present while an open market is paused. */
  paused: z.literal(true).optional(),
  voids: z.enum(VOID_KINDS),
  description: z.string(),
  startsTs: Ms,
  fee: Fee,
  outcomes: z.array(MarketOutcome),
});
export type Market = z.output<typeof Market>;

/** Number of transitions in the life of a market that are read at once. */
export const MAX_TRANSITIONS = 50;
export const Transition = z.strictObject({
  kind: z.enum(LIFECYCLE_KINDS),
  status: z.enum(MARKET_STATUSES),
  ts: Ms,
});
export const Lifecycle = z.strictObject({ items: z.array(Transition) });

export const BookOrder = z.strictObject({ orderId: z.uuid(), price: WirePrice, qty: z.int() });
export const Book = z.strictObject({
  marketId: z.uuid(),
  seq: z.int(),
  orders: z.record(z.uuid(), z.array(BookOrder)),
  next: z.string().optional(),
  currency: z.literal("COIN").optional(),
});

export const PublicTrade = z.strictObject({
  tradeId: z.uuid(),
  outcomeId: z.uuid(),
  price: WirePrice,
  qty: z.int(),
  ts: Ms,
  matchId: z.uuid(),
});

export const Candle = z.strictObject({
  ts: Ms,
  open: WirePrice,
  high: WirePrice,
  low: WirePrice,
  close: WirePrice,
  volume: z.int(),
});
export const Candles = z.strictObject({ items: z.array(Candle) });

const BestBid = z.strictObject({ price: WirePrice, qty: z.int() });
export const MarketPrices = z.strictObject({
  marketId: z.uuid(),
  status: z.enum(MARKET_STATUSES),
  bids: z.record(z.uuid(), BestBid.nullable()),
  last: z.record(z.uuid(), WirePrice),
  volume: MoneyText,
  hour: z.array(WirePrice.nullable()),
});
export type MarketPrices = z.output<typeof MarketPrices>;
export const Prices = z.strictObject({ items: z.array(MarketPrices) });
export const Names = z.array(z.string());
export const Ticks = z.strictObject({ prices: z.array(WirePrice) });
