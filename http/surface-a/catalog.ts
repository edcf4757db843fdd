/** Events, markets, books, trades and names, signed and public alike (contract section 5). */

import { createHash } from "node:crypto";
import type { z } from "zod";
import { marketActor } from "../../actors/actor.js";
import type { Currency } from "../../actors/market/types.js";
import { formatPrice } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { listLeagues, listMarketTypes, listSports } from "../../db/queries/catalog/classification.js";
import { findEvent, listEvents, marketIdsOfEvents } from "../../db/queries/catalog/events.js";
import {
  findMarket,
  listMarkets,
  settledMarkets,
  type MarketRecord,
} from "../../db/queries/catalog/markets.js";
import { listCandles, listTrades } from "../../db/queries/trading/trades.js";
import { EVENT_STATUSES, type EventStatus } from "../../db/schema/catalog.js";
import type { MarketBook } from "../../stream/ws/market/public-market.js";
import { Refused } from "../request/errors.js";
import type { Freshness } from "../trading/freshness.js";
import type { Reference } from "../reference/reference.js";
import { openEndpoint } from "../request/route.js";
import {
  Book,
  CANDLE_INTERVALS_MS,
  Candles,
  CandlesQuery,
  CatalogEvent,
  CatalogEventWithMarkets,
  CurrencyQuery,
  EventsQuery,
  HistoryQuery,
  Market,
  MarketsQuery,
  Names,
  PublicTrade,
  TradesQuery,
} from "./schemas/catalog.js";
import { pageOf } from "../request/fields.js";
import { coin, eventOnWire, marketOnWire, outcomeIdOf, tradeOnWire } from "./wire.js";

/** Live books. */
export interface Books {
  book(marketId: string, currency: Currency): Promise<MarketBook | undefined>;
}

export interface CatalogParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly books: Books;
  /** Whether market types flagged `qaOnly` exist here. */
  readonly qa: boolean;
}

/** The statuses of events that are not over, which lists show unless others are asked for. */
export const UNDERWAY: readonly EventStatus[] = ["OPEN_PREGAME", "CLOSED_PREGAME", "OPEN_INGAME", "DELAYED"];
const MAX_CANDLES = 5_000;

/** A weak validator would do for JSON, but the bytes of one seq are always the same. */
export function etagOf(...parts: readonly (string | number)[]): string {
  return `"${createHash("sha256").update(parts.join(" ")).digest("base64url").slice(0, 22)}"`;
}

/** Whether the client has this version already. */
export function isCurrent(condition: unknown, etag: string): boolean {
  return (
    typeof condition === "string" &&
    condition.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag)
  );
}

export function catalogEndpoints({ db, reference, freshness, books, qa }: CatalogParts) {
  const visible = (market: MarketRecord | undefined): MarketRecord => {
    if (!market?.event.visible) throw new Refused("MARKET_NOT_FOUND");
    return market;
  };

  const eventsPage = async (query: z.output<typeof EventsQuery>) => {
    const { league, status, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      statuses: status ?? UNDERWAY,
      startsAfter,
      startsBefore,
      visible: true,
    };
    const { items, next } = await listEvents(db, filter, page);
    return { items: items.map(eventOnWire), next };
  };

  const events = openEndpoint({
    query: EventsQuery,
    answer: pageOf(CatalogEvent),
    run: async ({ query }) => ({ body: await eventsPage(query) }),
  });

  const event = openEndpoint({
    answer: CatalogEventWithMarkets,
    run: async ({ id }) => {
      const eventId = id("eventId");
      const found = await findEvent(db, eventId);
      if (!found?.visible) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...eventOnWire(found), marketIds: [...marketIds] } };
    },
  });

  const marketsPage = async (query: z.output<typeof MarketsQuery>) => {
    const { league, marketType, eventStatus, event: eventId, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      marketTypes: marketType,
      eventStatuses: eventStatus ?? (eventId === undefined ? UNDERWAY : undefined),
      eventId,
      startsAfter,
      startsBefore,
      visible: true,
    };
    const { items, next } = await listMarkets(db, filter, page);
    return { items: items.map(marketOnWire), next };
  };

  const markets = openEndpoint({
    query: MarketsQuery,
    answer: pageOf(Market),
    run: async ({ query }) => ({ body: await marketsPage(query) }),
  });

  const market = openEndpoint({
    answer: Market,
    run: async ({ id }) => {
      const marketId = id("marketId");
      visible(await reference.market(marketId));
      await freshness.reach(marketActor(marketId));
      return { body: marketOnWire(visible(await findMarket(db, marketId))) };
    },
  });

  const book = openEndpoint({
    query: CurrencyQuery,
    answer: Book.optional(),
    run: async ({ id, query, incoming }) => {
      const record = visible(await reference.market(id("marketId")));
      const { marketId } = record;
      const found = await books.book(marketId, query.currency);
      if (found === undefined) throw new Refused("MARKET_NOT_FOUND");
      const etag = etagOf(marketId, query.currency, found.seq);
      const headers = { ETag: etag, "Cache-Control": "no-cache" };
      if (isCurrent(incoming.header("if-none-match"), etag)) return { status: 304, headers, body: undefined };
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
        ...coin(query.currency),
      };
      return { headers, body };
    },
  });

  const trades = openEndpoint({
    query: TradesQuery,
    answer: pageOf(PublicTrade),
    run: async ({ id, query }) => {
      const record = visible(await reference.market(id("marketId")));
      const { marketId } = record;
      await freshness.reach(marketActor(marketId));
      const { currency, startsAfter, startsBefore, ...page } = query;
      const { items, next } = await listTrades(db, { marketId, currency, startsAfter, startsBefore }, page);
      return { body: { items: items.map((trade) => tradeOnWire(record, trade)), next } };
    },
  });

  const candles = openEndpoint({
    query: CandlesQuery,
    answer: Candles,
    run: async ({ id, query }) => {
      const { marketId } = visible(await reference.market(id("marketId")));
      const place = await reference.outcome(query.outcome);
      if (place?.marketId !== marketId) throw new Refused("OUTCOME_NOT_FOUND");
      const intervalMs = CANDLE_INTERVALS_MS[query.interval];
      if (query.to <= query.from) throw new Refused("INVALID_QUERY", "to must be later than from");
      if ((query.to - query.from) / intervalMs > MAX_CANDLES) {
        throw new Refused("INVALID_QUERY", `from and to span more than ${MAX_CANDLES} candles; ask for less`);
      }
      await freshness.reach(marketActor(marketId));
      const found = await listCandles(db, {
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

  const history = openEndpoint({
    query: HistoryQuery,
    answer: pageOf(Market),
    run: async ({ query }) => {
      const { items, next } = await settledMarkets(db, query);
      return { body: { items: items.map(marketOnWire), next }, rows: items.length };
    },
  });

  const names = (read: () => Promise<string[]>) =>
    openEndpoint({ answer: Names, run: async () => ({ body: await read() }) });
  const types = {
    sports: names(() => listSports(db)),
    leagues: names(async () => (await listLeagues(db)).map(({ name }) => name)),
    markets: names(() => listMarketTypes(db, { qa })),
    eventStatuses: names(() => Promise.resolve([...EVENT_STATUSES])),
  };

  return { events, event, markets, market, book, trades, candles, history, types, eventsPage, marketsPage };
}
