/** Transitions, book, trades and candles of a market, for signed requests and for the public (contract section 5.14). */

import type { z } from "zod";
import { marketActor } from "../../../actors/actor.js";
import { formatPrice } from "../../../actors/units.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import { lastTransitions } from "../../../db/queries/catalog/transitions.js";
import { listCandles, listTrades } from "../../../db/queries/trading/trades.js";
import type { LongWork } from "../../../stream/services/long-work.js";
import type { Replicas } from "../../../stream/ws/market/replicas.js";
import { IDS, UNCHANGED } from "../../docs/examples.js";
import { etagOf, matchesEtag } from "../../edge/etag.js";
import type { Reference } from "../../reference/reference.js";
import { ANYBODY, signedOrSession, TRADING, type Access } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { pageOf } from "../../request/fields.js";
import { free, READ, type Metering } from "../../request/metering.js";
import { route, Serialized, type Route } from "../../request/route.js";
import type { ReadModel } from "../../trading/freshness.js";
import {
  Book,
  bookCursor,
  BookQuery,
  CANDLE_INTERVALS_MS,
  Candles,
  CandlesQuery,
  Lifecycle,
  MAX_BOOK_ORDERS,
  MAX_TRANSITIONS,
  PublicTrade,
  TradesQuery,
} from "../schemas/catalog.js";
import { inTurn } from "../in-turn.js";
import { coin, outcomeIdOf, tradeOnWire } from "../wire.js";
import { BookCache } from "./book-cache.js";
import { SharedReads } from "./shared-reads.js";

export interface MarketDataParts {
  readonly reads: ReadModel;
  readonly reference: Reference;
  readonly books: Pick<Replicas, "bookUnless">;
  readonly longWork: LongWork;
}

type Transitions = z.output<typeof Lifecycle>["items"];

/** Differences between the routes below `/v3` and those below `/v3/public`. */
interface Surface {
  readonly base: string;
  readonly access: Access;
  readonly metering: Metering;
  readonly range: CandleRange;
  readonly transitionsOf: (marketId: string) => Promise<Transitions>;
}

/** Greatest range of a request for candles. Requests without a signature get less, because nobody pays for them. */
interface CandleRange {
  readonly candles: number;
  readonly days: number;
}
const SIGNED_CANDLES: CandleRange = { candles: 5_000, days: Infinity };
const PUBLIC_CANDLES: CandleRange = { candles: 1_000, days: 31 };
const DAY_MS = 86_400_000;
/** Returns a market that anybody may see. Refuses others as markets that do not exist. */
export function visible(market: MarketRecord | undefined): MarketRecord {
  if (!market?.event.visible) throw new Refused("MARKET_NOT_FOUND");
  return market;
}

/** Serialized books, and serialized pages of books. */
interface SerializedBooks {
  readonly books: BookCache;
  readonly pages: BookCache;
}

/** Number of orders that are serialized at once, which takes about 1 ms. */
const SHORT_ORDERS = 500;
/** Memory for the serialized pages of a gateway, in bytes. */
const MAX_PAGES_BYTES = 16 * 1_048_576;

/** Time in ms for which a read of transitions serves all visitors: they learn of a transition together. */
const SHARED_MS = 1_000;

/** Returns the routes of signed requests and those of the public. */
export function marketDataRoutes(parts: MarketDataParts): Readonly<Record<"signed" | "open", Route[]>> {
  const { reads } = parts;
  // Other pages have so many names that they would push the books out.
  const serialized = { books: new BookCache(), pages: new BookCache(MAX_PAGES_BYTES) };
  const transitionsOf = async (marketId: string): Promise<Transitions> => {
    await reads.freshness.reach(marketActor(marketId));
    const found = await lastTransitions(reads.db, marketId, MAX_TRANSITIONS);
    return found.map(({ kind, status, ts }) => ({ kind, status, ts }));
  };
  const shared = new SharedReads(transitionsOf, SHARED_MS);
  return {
    signed: routesBelow(
      {
        base: "/v3",
        access: signedOrSession(TRADING),
        metering: READ,
        range: SIGNED_CANDLES,
        transitionsOf,
      },
      serialized,
      parts,
    ),
    open: routesBelow(
      {
        base: "/v3/public",
        access: ANYBODY,
        metering: free,
        range: PUBLIC_CANDLES,
        transitionsOf: (marketId) => shared.get(marketId),
      },
      serialized,
      parts,
    ),
  };
}

function routesBelow(
  { base, access, metering, range, transitionsOf }: Surface,
  serialized: SerializedBooks,
  { reads, reference, books, longWork }: MarketDataParts,
): Route[] {
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
      return { body: { items: await transitionsOf(marketId) } };
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
      refuses: ["MARKET_NOT_FOUND", "RATE_LIMIT_EXCEEDED"],
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
      const isBook = offset === 0 && limit === MAX_BOOK_ORDERS;
      const cache = isBook ? serialized.books : serialized.pages;
      const kept = cache.get(name);
      const found = await books.bookUnless(marketId, currency, kept?.seq, { depth, limit, offset });
      if (found === undefined) throw new Refused("MARKET_NOT_FOUND");
      const etag = etagOf(name, found.seq);
      const headers = { ETag: etag, "Cache-Control": "no-cache" };
      if (matchesEtag(incoming.header("if-none-match"), etag))
        return { status: 304, headers, body: undefined };
      if (kept?.seq === found.seq) return { headers, body: answerOf(kept.json) };
      if (found.orders === undefined) throw new Error("the book has no orders, and none are kept");
      const { seq, orders, hasMore } = found;
      const serialize = (): Buffer => {
        const ladders = orders.map((ladder, outcome): [string, object[]] => [
          outcomeIdOf(record, outcome),
          ladder.map(({ orderId, price, qty }) => ({ orderId, price: formatPrice(price), qty })),
        ]);
        const next = hasMore ? { next: bookCursor(offset + limit) } : {};
        const body = { marketId, seq, orders: Object.fromEntries(ladders), ...next, ...coin(currency) };
        return Buffer.from(JSON.stringify(body));
      };
      const isShort = orders.reduce((sum, { length }) => sum + length, 0) <= SHORT_ORDERS;
      const json =
        isBook || isShort
          ? serialize()
          : await inTurn(longWork, `books ${incoming.ip}`, (pieces) => pieces.piece(serialize));
      cache.keep(name, { seq, json });
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

  return [lifecycle, book, trades, candles];
}
