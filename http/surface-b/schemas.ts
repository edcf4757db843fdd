/** Queries, bodies and answers of surface B (specification, Surface B resources; contract section 7). */

import { z } from "zod";
import { ORDER_STATUSES, TRANSACTION_KINDS } from "../../actors/ledger/types.js";
import { TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";
import { MARKET_STATUSES } from "../../actors/market/types.js";
import { EVENT_STATUSES, EVENT_TYPES } from "../../db/schema/catalog.js";
import { commaList, Currency, Name, oneOf, Uuid } from "../request/fields.js";
import {
  BatchCancelResult,
  BatchOrderError,
  CancelAllResult,
  CancelResult,
  OrderAccepted,
} from "../surface-a/schemas/orders.js";

/** Returns the schema of a whole number in a query, with its bounds and default. */
function whole(min: number, max: number, fallback: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,8})$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(fallback)
    .meta({ type: "integer", minimum: min, maximum: max });
}

/** Instant in a query: ISO 8601 on the wire, Unix ms inside. */
const Instant = z
  .string()
  .refine((text) => z.iso.datetime({ offset: true }).safeParse(text).success, "must be an ISO 8601 time")
  .transform((text) => Date.parse(text));

export const MarketsByEventQuery = z.strictObject({
  currency: Currency,
  view: oneOf(["ladder", "simple"]).default("ladder"),
});
/** Most events whose markets one request reads. */
export const MAX_EVENTS = 50;
export const MarketsByEventsBody = MarketsByEventQuery.extend({
  eventIds: z
    .array(Uuid, "must be a list of event ids")
    .min(1, "must have at least one event")
    .max(MAX_EVENTS, `must have at most ${MAX_EVENTS} events`),
});
/** Filters of open markets, each by either of the names that clients use. */
export const OpenMarketsQuery = z.strictObject({
  league: commaList(Name).optional(),
  marketType: commaList(Name).optional(),
  leagues: commaList(Name).optional(),
  marketTypes: commaList(Name).optional(),
});
export const EventsQuery = z.strictObject({
  league: commaList(Name).optional(),
  type: commaList(oneOf(EVENT_TYPES)).optional(),
  status: commaList(oneOf(EVENT_STATUSES)).optional(),
  limit: whole(1, 100, 100),
  offset: whole(0, 999_999_999, 0),
});
/** Query of positions: an empty `outcomeIds` matches nothing, and without it the positions of all open markets match. */
export const PositionsQuery = z.strictObject({
  currency: Currency.optional(),
  outcomeIds: z
    .string()
    .transform((text) => (text === "" ? [] : text.split(",")))
    .pipe(z.array(Uuid).max(1_000, "must have at most 1000 outcomes"))
    .optional(),
  limit: whole(1, 1_000, 100),
  offset: whole(0, 999_999_999, 0),
});
/** Most rows that a page of history skips: each is read, so a client that reads further sends a cursor. */
const MAX_HISTORY_OFFSET = 10_000;
const History = {
  limit: whole(1, 256, 100),
  before: Instant.optional(),
  after: z
    .string()
    .min(1, "must be the cursor of a previous page")
    .max(512, "must be the cursor of a previous page")
    .optional(),
  offset: whole(0, MAX_HISTORY_OFFSET, 0),
  currency: Currency.optional(),
};
/** Query of orders, and of fills, which take the statuses of orders: every fill is `FILLED`. */
export const HistoryQuery = z.strictObject({
  ...History,
  status: commaList(oneOf(ORDER_STATUSES)).optional(),
});
export const BalanceQuery = z.strictObject({ currency: Currency.default("CASH") });
export const TransactionsQuery = z.strictObject({
  ...History,
  kind: oneOf(TRANSACTION_KINDS).optional(),
  status: commaList(z.literal("COMPLETED", "must be COMPLETED")).optional(),
});

/** Shape of an order. The rules of trading judge price, quantity and `ttl`. */
const Placing = z.strictObject({
  outcomeId: Uuid,
  price: z.number("must be a number, such as 0.665"),
  qty: z.number("must be a number of contracts"),
  currency: Currency,
  tif: oneOf(TIMES_IN_FORCE).default("GTC"),
  ttl: z.number("must be a number of ms").optional(),
  clientId: Uuid.optional(),
  // Some clients send the flags of another exchange. None of them exists here.
  flags: z.array(z.string(), "must be an empty list").max(0, "must be empty").optional(),
});
export const PlaceBody = z.union([z.array(Placing, "must be a list of orders"), Placing]);
const OrderIds = z.array(Uuid, "must be a list of order ids");
export const CancelBody = z.union([OrderIds, z.strictObject({ orderIds: OrderIds })]);
export const KillSwitchQuery = z.strictObject({ currency: Currency.optional() });
export const StrikeRequestBody = z.strictObject({
  marketId: Uuid,
  strike: z
    .number("must be a number")
    .min(-1_000_000, "must be from -1000000 to 1000000")
    .max(1_000_000, "must be from -1000000 to 1000000")
    .refine((strike) => Number.isInteger(Math.round(strike * 1e6) / 1e3), "must have at most three decimals"),
});

export const Competitor = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  shortName: z.string(),
  symbol: z.string(),
  mascot: z.string(),
});
export type Competitor = z.output<typeof Competitor>;

export const Player = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  fullName: z.string(),
  position: z.string(),
});
export type Player = z.output<typeof Player>;

export const GAME_STATUSES = ["SCHEDULED", "IN_PROGRESS", "DELAYED", "FINAL", "CANCELED"] as const;
const Iso = z.iso.datetime({ precision: 3 });

const Game = z.strictObject({
  id: z.uuid(),
  league: z.string(),
  status: z.enum(GAME_STATUSES),
  scheduledStart: Iso,
  homeTeam: Competitor,
  awayTeam: Competitor,
});

export const Event = z.strictObject({
  id: z.uuid(),
  type: z.enum(EVENT_TYPES),
  status: z.enum(EVENT_STATUSES),
  description: z.string(),
  league: z.string(),
  scheduledStart: Iso,
  game: Game.optional(),
});
export type Event = z.output<typeof Event>;
export const EventWithMarkets = Event.extend({ marketIds: z.array(z.uuid()) });
export type EventWithMarkets = z.output<typeof EventWithMarkets>;

export const OUTCOME_TYPES = [
  "HOME",
  "AWAY",
  "COMPETITOR",
  "DRAW",
  "OVER",
  "UNDER",
  "YES",
  "NO",
  "OTHER",
] as const;

/** Outcome of a market; `last` is absent before its first trade. */
const Outcome = z.strictObject({
  id: z.uuid(),
  description: z.string(),
  type: z.enum(OUTCOME_TYPES),
  /** Status: `TBD`, `WIN`, `LOSS`, `PUSH` or a price such as `0.700`. */
  status: z.string(),
  index: z.int(),
  last: z.number().optional(),
  competitor: Competitor.optional(),
});

export const BookOrder = z.strictObject({
  id: z.uuid(),
  price: z.number(),
  qty: z.int(),
  originalQty: z.int(),
  currency: Currency,
  outcomeId: z.uuid(),
  marketId: z.uuid(),
  status: z.literal("RESTING"),
  created_at: Iso,
});
export type BookOrder = z.output<typeof BookOrder>;
const Level = z.strictObject({ price: z.number(), qty: z.int() });
export type Level = z.output<typeof Level>;

const named = { marketId: z.uuid(), marketDescription: z.string() };
const Ladders = z.strictObject({
  ...named,
  outcomeLadders: z.array(z.strictObject({ outcomeId: z.uuid(), bids: z.array(BookOrder) })),
});
const SimpleLadders = z.strictObject({
  ...named,
  outcomeLadders: z.array(
    z.strictObject({ outcomeId: z.uuid(), bids: z.array(Level), asks: z.array(Level) }),
  ),
});
export const Book = z.union([Ladders, SimpleLadders]);
export type Book = z.output<typeof Book>;

export const Market = z.strictObject({
  id: z.uuid(),
  description: z.string(),
  status: z.enum(MARKET_STATUSES),
  type: z.string(),
  league: z.string(),
  volume: z.number(),
  eventId: z.uuid(),
  outcomeIds: z.array(z.uuid()),
  outcomes: z.array(Outcome),
  strike: z.number().optional(),
  event: Event,
  playerId: z.uuid().optional(),
  player: Player.optional(),
  competitor: Competitor.optional(),
  settledAt: Iso.optional(),
});
export type Market = z.output<typeof Market>;
export const Markets = z.array(Market);
export const MarketWithBook = Market.extend({ book: Book });
export type MarketWithBook = z.output<typeof MarketWithBook>;
export const MarketsWithBooks = z.array(MarketWithBook);

export const Position = z.strictObject({
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  size: z.int(),
  cost: z.number(),
  currency: Currency,
});

export const Fill = z.strictObject({
  id: z.uuid(),
  orderId: z.uuid(),
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  price: z.number(),
  qty: z.int(),
  currency: Currency,
  isTaker: z.boolean(),
  isWash: z.boolean(),
  fee: z.number(),
  createdAt: Iso,
});

export const Order = z.strictObject({
  id: z.uuid(),
  marketId: z.uuid(),
  outcomeId: z.uuid(),
  price: z.number(),
  qty: z.int(),
  originalQty: z.int(),
  currency: Currency,
  status: z.enum(ORDER_STATUSES),
  tif: z.enum(TIMES_IN_FORCE),
  clientId: z.uuid().nullable(),
  createdAt: Iso,
  updatedAt: Iso,
});

export const Balance = z.strictObject({
  balance: z.number(),
  available: z.number(),
  reserved: z.number(),
  currency: Currency,
});

export const Transaction = z.strictObject({
  id: z.uuid(),
  kind: z.enum(TRANSACTION_KINDS),
  amount: z.number(),
  currency: Currency,
  ref: z.string(),
  createdAt: Iso,
});

export const Ticks = z.array(z.number());
export const Names = z.array(z.string());
export const Placed = z.strictObject({
  accepted: z.array(OrderAccepted),
  rejected: z.array(BatchOrderError),
});
export const Canceled = BatchCancelResult;
export const CanceledAll = CancelAllResult;
export const CanceledOne = CancelResult;
export const StrikeRequested = z.strictObject({
  requestId: z.uuid(),
  marketId: z.uuid(),
  strike: z.number(),
  status: z.literal("PENDING"),
});
