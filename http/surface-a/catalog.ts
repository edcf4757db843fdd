/** Events, markets, books, trades and candles, for signed requests and for the public (contract section 5.14). */

import type { z } from "zod";
import { marketActor } from "../../actors/actor.js";
import type { MarketStatus } from "../../actors/market/types.js";
import { formatPrice } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { findEvent, listEvents, marketIdsOfEvents } from "../../db/queries/catalog/events.js";
import {
  findMarket,
  listMarkets,
  settledMarkets,
  type MarketRecord,
} from "../../db/queries/catalog/markets.js";
import { lastTransitions } from "../../db/queries/catalog/transitions.js";
import { listCandles, listTrades } from "../../db/queries/trading/trades.js";
import { UNDERWAY } from "../../db/schema/catalog.js";
import type { LongWork } from "../../stream/services/long-work.js";
import type { ReadModelTime } from "../../stream/services/read-model-time.js";
import type { Replicas } from "../../stream/ws/market/replicas.js";
import { IDS, UNCHANGED } from "../docs/examples.js";
import { etagOf, matchesEtag } from "../edge/etag.js";
import type { Reference } from "../reference/reference.js";
import { ANYBODY, signedOrSession, TRADING, type Access } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { datedPageOf, pageOf } from "../request/fields.js";
import { free, perRows, READ, type Metering } from "../request/metering.js";
import { route, Serialized, type Route } from "../request/route.js";
import type { Freshness, ReadModel } from "../trading/freshness.js";
import { BookCache } from "./book-cache.js";
import {
  Book,
  bookCursor,
  BookQuery,
  CANDLE_INTERVALS_MS,
  Candles,
  CandlesQuery,
  CatalogEvent,
  CatalogEventWithMarkets,
  EventsQuery,
  HistoryQuery,
  Lifecycle,
  Market,
  MarketsQuery,
  MAX_BOOK_ORDERS,
  MAX_TRANSITIONS,
  PublicTrade,
  TradesQuery,
} from "./schemas/catalog.js";
import { pageReply } from "./wallet-lists.js";
import { coin, eventOnWire, marketOnWire, outcomeIdOf, tradeOnWire } from "./wire.js";

/** Books of the markets as the market actors last published them. */
export type Books = Pick<Replicas, "acquire" | "has" | "release" | "bookUnless">;

interface PageParts {
  readonly reads: Pick<ReadModel, "db">;
  readonly tables: Pick<ReadModelTime, "completeMs">;
}

interface CatalogParts extends PageParts {
  readonly db: Database;
  readonly reads: ReadModel;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly books: Pick<Books, "bookUnless">;
  readonly longWork: LongWork;
}

/** Greatest range of a request for candles. Requests without a signature get less, because nobody pays for them. */
interface CandleRange {
  readonly candles: number;
  readonly days: number;
}
const SIGNED_CANDLES: CandleRange = { candles: 5_000, days: Infinity };
const PUBLIC_CANDLES: CandleRange = { candles: 1_000, days: 31 };
const DAY_MS = 86_400_000;

/**
 * Reads pages of events and markets, for the routes and for the queries of the stream; `statuses` narrows a page to
 * markets of these statuses.
 */
export function catalogPages({ reads: { db }, tables }: PageParts) {
  const eventsOf = async (query: z.output<typeof EventsQuery>) => {
    const { league, status, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      statuses: status ?? UNDERWAY,
      startsAfter,
      startsBefore,
      visible: true,
    };
    // The time is read first: what the tables receive during the query may be missing in the page.
    const asOf = tables.completeMs;
    const { items, next } = await listEvents(db, filter, page);
    return { items, others: { next, asOf } };
  };

  const marketsOf = async (query: z.output<typeof MarketsQuery>, statuses?: readonly MarketStatus[]) => {
    const { league, marketType, eventStatus, event: eventId, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      marketTypes: marketType,
      eventStatuses: eventStatus ?? (eventId === undefined ? UNDERWAY : undefined),
      statuses,
      eventId,
      startsAfter,
      startsBefore,
      visible: true,
    };
    const asOf = tables.completeMs;
    const { items, next } = await listMarkets(db, filter, page);
    return { items, others: { next, asOf } };
  };
  return { eventsOf, marketsOf };
}

export function catalogRoutes(parts: CatalogParts): readonly Route[] {
  const serialized = new BookCache();
  return [
    ...routesBelow("/v3", signedOrSession(TRADING), READ, SIGNED_CANDLES, serialized, parts),
    ...routesBelow("/v3/public", ANYBODY, free, PUBLIC_CANDLES, serialized, parts),
    historyRoute(parts),
  ];
}

function routesBelow(
  base: string,
  access: Access,
  metering: Metering,
  range: CandleRange,
  serialized: BookCache,
  { db, reads, tables, reference, freshness, books, longWork }: CatalogParts,
): readonly Route[] {
  const { eventsOf, marketsOf } = catalogPages({ reads, tables });

  const visible = (market: MarketRecord | undefined): MarketRecord => {
    if (!market?.event.visible) throw new Refused("MARKET_NOT_FOUND");
    return market;
  };

  const events = route(`GET ${base}/catalog/events`, {
    access,
    metering,
    query: EventsQuery,
    answer: datedPageOf(CatalogEvent),
    docs: {
      summary: "List events",
      description:
        "Returns the visible events that are not over, by their scheduled start. Name other statuses with `status`.",
      exampleQuery: { league: "NFL", status: "OPEN_PREGAME,OPEN_INGAME", limit: "100" },
    },
    run: async ({ query }) => pageReply(longWork, await eventsOf(query), eventOnWire),
  });

  const event = route(`GET ${base}/catalog/events/:eventId`, {
    access,
    metering,
    answer: CatalogEventWithMarkets,
    docs: {
      summary: "Retrieve an event",
      description: "Returns the event with the ids of its markets.",
      refuses: ["EVENT_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const eventId = id("eventId");
      const found = await findEvent(db, eventId);
      if (!found?.visible) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...eventOnWire(found), marketIds: [...marketIds] } };
    },
  });

  const markets = route(`GET ${base}/catalog/markets`, {
    access,
    metering,
    query: MarketsQuery,
    answer: datedPageOf(Market),
    docs: {
      summary: "List markets",
      description:
        "Returns the markets of visible events that are not over. Name other statuses with `eventStatus`, or one event with `event`.",
      exampleQuery: { league: "NFL", marketType: "MONEY", event: IDS.eventId, limit: "100" },
    },
    run: async ({ query }) => pageReply(longWork, await marketsOf(query), marketOnWire),
  });

  const market = route(`GET ${base}/catalog/markets/:marketId`, {
    access,
    metering,
    answer: Market,
    docs: {
      summary: "Retrieve a market",
      refuses: ["MARKET_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const marketId = id("marketId");
      await freshness.reach(marketActor(marketId));
      return { body: marketOnWire(visible(await findMarket(db, marketId))) };
    },
  });

  const lifecycle = route(`GET ${base}/catalog/markets/:marketId/lifecycle`, {
    access,
    metering,
    answer: Lifecycle,
    docs: {
      summary: "List the lifecycle transitions of a market",
      description: `Returns the last ${MAX_TRANSITIONS} transitions in the life of the market, newest first, as the stream has sent them.`,
      refuses: ["MARKET_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const { marketId } = visible(await reference.market(id("marketId")));
      await reads.freshness.reach(marketActor(marketId));
      const found = await lastTransitions(reads.db, marketId, MAX_TRANSITIONS);
      return { body: { items: found.map(({ kind, status, ts }) => ({ kind, status, ts })) } };
    },
  });

  const answerOf = (json: Buffer): Serialized<z.output<typeof Book>> => new Serialized(() => json, json);

  const book = route(`GET ${base}/catalog/markets/:marketId/book`, {
    access,
    metering,
    query: BookQuery,
    answer: Book.optional(),
    docs: {
      summary: "Retrieve the book of a market",
      description:
        "Returns the resting orders of each outcome: the best price first, and orders of one price in queue order. With `depth` it has that many price levels of each outcome. A book with more than `limit` orders of an outcome comes in pages, which belong together while their `seq` is the same; `after` takes `next` with the same `limit`.",
      refuses: ["MARKET_NOT_FOUND"],
      also: UNCHANGED,
      exampleQuery: { currency: "CASH", depth: "10" },
    },
    run: async ({ id, query, incoming }) => {
      const record = visible(await reference.market(id("marketId")));
      const { marketId } = record;
      const { currency, depth, limit, after: offset } = query;
      if (offset % limit !== 0)
        throw new Refused("INVALID_QUERY", "after must be the 'next' of a page with the same limit");
      const name = [marketId, currency, depth, limit, offset].join(" ");
      // Other pages are read seldom, and have so many names that they would push the books out.
      const isKept = offset === 0 && limit === MAX_BOOK_ORDERS;
      const kept = isKept ? serialized.get(name) : undefined;
      const found = await books.bookUnless(marketId, currency, kept?.seq, { depth, limit, offset });
      if (found === undefined) throw new Refused("MARKET_NOT_FOUND");
      const etag = etagOf(name, found.seq);
      const headers = { ETag: etag, "Cache-Control": "no-cache" };
      if (matchesEtag(incoming.header("if-none-match"), etag))
        return { status: 304, headers, body: undefined };
      if (kept?.seq === found.seq) return { headers, body: answerOf(kept.json) };
      if (found.orders === undefined) throw new Error("the book has no orders, and none are kept");
      const orders = found.orders.map((ladder, outcome): [string, object[]] => [
        outcomeIdOf(record, outcome),
        ladder.map(({ orderId, price, qty }) => ({ orderId, price: formatPrice(price), qty })),
      ]);
      const body = {
        marketId,
        seq: found.seq,
        orders: Object.fromEntries(orders) as Record<
          string,
          { orderId: string; price: string; qty: number }[]
        >,
        ...(found.hasMore ? { next: bookCursor(offset + limit) } : {}),
        ...coin(currency),
      };
      const json = Buffer.from(JSON.stringify(body));
      if (isKept) serialized.keep(name, { seq: found.seq, json });
      return { headers, body: answerOf(json) };
    },
  });

  const trades = route(`GET ${base}/catalog/markets/:marketId/trades`, {
    access,
    metering,
    query: TradesQuery,
    answer: pageOf(PublicTrade),
    docs: {
      summary: "List public trades of a market",
      description: "Returns the executions in the market, newest first.",
      refuses: ["MARKET_NOT_FOUND"],
      exampleQuery: { limit: "100" },
    },
    run: async ({ id, query }) => {
      const record = visible(await reference.market(id("marketId")));
      const { marketId } = record;
      await reads.freshness.reach(marketActor(marketId));
      const { currency, startsAfter, startsBefore, ...page } = query;
      const { items, next } = await listTrades(
        reads.db,
        { marketId, currency, startsAfter, startsBefore },
        page,
      );
      return { body: { items: items.map((trade) => tradeOnWire(record, trade)), next } };
    },
  });

  const candles = route(`GET ${base}/catalog/markets/:marketId/candles`, {
    access,
    metering,
    query: CandlesQuery,
    answer: Candles,
    docs: {
      summary: "List candles of an outcome",
      description:
        "Returns prices and volume of each interval in the range, oldest first. Intervals without a trade are left out.",
      refuses: ["MARKET_NOT_FOUND", "OUTCOME_NOT_FOUND"],
      exampleQuery: { outcome: IDS.outcomeId, interval: "5m", from: "1790000000000", to: "1790003600000" },
    },
    run: async ({ id, query }) => {
      const { marketId } = visible(await reference.market(id("marketId")));
      const place = await reference.outcome(query.outcome);
      if (place?.marketId !== marketId) throw new Refused("OUTCOME_NOT_FOUND");
      const intervalMs = CANDLE_INTERVALS_MS[query.interval];
      if (query.to <= query.from) throw new Refused("INVALID_QUERY", "to must be later than from");
      const spanMs = query.to - query.from;
      const refuseSpan = (most: string): never => {
        throw new Refused("INVALID_QUERY", `from and to span more than ${most}; send a shorter range`);
      };
      if (spanMs / intervalMs > range.candles) refuseSpan(`${range.candles} candles`);
      if (spanMs / DAY_MS > range.days) refuseSpan(`${range.days} days`);
      await reads.freshness.reach(marketActor(marketId));
      const found = await listCandles(reads.db, {
        marketId,
        currency: query.currency,
        outcome: place.outcome,
        intervalMs,
        fromTs: query.from,
        toTs: query.to,
      });
      const items = found.map(({ open, high, low, close, ...rest }) => ({
        ...rest,
        open: formatPrice(open),
        high: formatPrice(high),
        low: formatPrice(low),
        close: formatPrice(close),
      }));
      return { body: { items } };
    },
  });

  return [events, event, markets, market, lifecycle, book, trades, candles];
}

function historyRoute({ reads: { db }, tables }: CatalogParts): Route {
  return route("GET /v3/history/markets", {
    access: signedOrSession(TRADING),
    metering: perRows("history", 4, 50),
    query: HistoryQuery,
    answer: datedPageOf(Market),
    docs: {
      summary: "List settled markets",
      description: "Returns the settled markets, newest first.",
      exampleQuery: { limit: "100" },
    },
    run: async ({ query }) => {
      const asOf = tables.completeMs;
      const { items, next } = await settledMarkets(db, query);
      return { body: { items: items.map(marketOnWire), next, asOf }, rows: items.length };
    },
  });
}
