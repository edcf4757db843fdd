/** Events, markets, books and trades as surface A shows them (specification, Resources; contract section 5). */

import { z } from "zod";
import { EVENT_STATUSES } from "../../../db/schema/catalog.js";
import {
  BoundsQuery,
  commaList,
  Currency,
  Ms,
  PageQuery,
  QueryMs,
  Uuid,
  WirePrice,
} from "../../request/fields.js";
import { FEE_PERIODS, MARKET_STATUSES, VOID_KINDS } from "../../../actors/market/types.js";

const EventStatus = z.enum(EVENT_STATUSES, `must be one of ${EVENT_STATUSES.join(", ")}`);
const Name = z.string().min(1, "names an empty value").max(100, "is too long");

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

export const CurrencyQuery = z.strictObject({ currency: Currency.default("CASH") });
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
  interval: z.enum(["1m", "5m", "1h", "1d"], "must be 1m, 5m, 1h or 1d"),
  from: QueryMs,
  to: QueryMs,
  currency: Currency.default("CASH"),
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

/** A decimal string of a share, such as `0.03`. */
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
  voids: z.enum(VOID_KINDS),
  description: z.string(),
  startsTs: Ms,
  fee: Fee,
  outcomes: z.array(MarketOutcome),
});
export type Market = z.output<typeof Market>;

export const BookOrder = z.strictObject({ orderId: z.uuid(), price: WirePrice, qty: z.int() });
export const Book = z.strictObject({
  marketId: z.uuid(),
  seq: z.int(),
  orders: z.record(z.uuid(), z.array(BookOrder)),
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
export const Names = z.array(z.string());
