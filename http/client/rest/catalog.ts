/** Reads of the catalog, which visitors, keys and web sessions share (contract sections 5.11 and 5.14). */

import type { Currency } from "../../../actors/market/types.js";
import { Calls, PATIENCE_MS, type PageQuery } from "../calls.js";
import type { Connection } from "../connection.js";
import type { Price, TokenBuckets } from "../token-buckets.js";
import {
  BookAnswer,
  Candles,
  ChangeAnswer,
  DemoAnswer,
  EventAnswer,
  EventWithMarkets,
  Lifecycle,
  MarketAnswer,
  Names,
  Prices,
  StatusAnswer,
  TicksAnswer,
  TradeAnswer,
  type Candle,
  type MarketPrices,
  type Transition,
} from "../wire/catalog.js";
import { catalogPageOf, pageOf, type Page } from "../wire/values.js";

/** Bounds of a list by time, Unix ms. */
export type TimeBounds = Readonly<{ startsAfter?: number; startsBefore?: number }>;
/** Filter of events; `league` and `status` are comma-separated lists. */
export type EventFilter = TimeBounds & Readonly<{ league?: string; status?: string }>;
/** Filter of markets; `league`, `marketType` and `eventStatus` are comma-separated lists. */
export type MarketFilter = TimeBounds &
  Readonly<{ league?: string; marketType?: string; eventStatus?: string; event?: string }>;
/** Candles of an outcome from `from` to `to`, Unix ms. */
export type CandleQuery = Readonly<{
  outcome: string;
  interval: "1m" | "5m" | "1h" | "1d";
  from: number;
  to: number;
  currency?: Currency;
}>;

/** Page of a book, with at most `depth` price levels of each outcome. */
export type BookQuery = Readonly<{
  currency?: Currency | undefined;
  depth?: number | undefined;
  limit?: number;
  after?: string;
}>;

/** Number of times that a long book is read from its first page, because it has changed between its pages. */
const BOOK_TRIES = 5;

export const READ: Price = { bucket: "read", cost: 1 };

/** Reads of the catalog. */
export abstract class CatalogCalls extends Calls {
  /** Path before those of the catalog. */
  readonly #prefix: string;

  constructor(connection: Connection, prefix: string, patienceMs: number, buckets?: TokenBuckets) {
    super(connection, patienceMs, buckets);
    this.#prefix = prefix;
  }

  /** Returns the events of the catalog from all pages. */
  events(filter: EventFilter = {}): Promise<EventAnswer[]> {
    return this.readAll(`${this.#prefix}/catalog/events`, catalogPageOf(EventAnswer), filter, READ);
  }

  /** Returns one page of the events of the catalog. */
  eventsPage(query: EventFilter & PageQuery = {}): Promise<Page<EventAnswer>> {
    return this.read(`${this.#prefix}/catalog/events`, catalogPageOf(EventAnswer), query, READ);
  }

  /** Returns one event with the ids of its markets. */
  event(eventId: string): Promise<EventWithMarkets> {
    return this.read(`${this.#prefix}/catalog/events/${eventId}`, EventWithMarkets, {}, READ);
  }

  /** Returns the markets of the catalog from all pages. */
  markets(filter: MarketFilter = {}): Promise<MarketAnswer[]> {
    return this.readAll(`${this.#prefix}/catalog/markets`, catalogPageOf(MarketAnswer), filter, READ);
  }

  /** Returns one page of the markets of the catalog. */
  marketsPage(query: MarketFilter & PageQuery = {}): Promise<Page<MarketAnswer>> {
    return this.read(`${this.#prefix}/catalog/markets`, catalogPageOf(MarketAnswer), query, READ);
  }

  /** Returns one market of the catalog. */
  market(marketId: string): Promise<MarketAnswer> {
    return this.read(`${this.#prefix}/catalog/markets/${marketId}`, MarketAnswer, {}, READ);
  }

  /** Returns the last transitions in the life of a market, newest first. */
  async lifecycle(marketId: string): Promise<Transition[]> {
    const path = `${this.#prefix}/catalog/markets/${marketId}/lifecycle`;
    return (await this.read(path, Lifecycle, {}, READ)).items;
  }

  /** Returns one page of the book of a market (default CASH), with at most `depth` price levels of each outcome. */
  bookPage(marketId: string, query: BookQuery = {}): Promise<BookAnswer> {
    return this.read(`${this.#prefix}/catalog/markets/${marketId}/book`, BookAnswer, query, READ);
  }

  /**
   * Returns the book of a market (default CASH), from all pages. Throws when a long book changes between its pages each
   * time; follow it on the stream then.
   */
  async book(marketId: string, currency?: Currency, depth?: number): Promise<BookAnswer> {
    for (let tries = 0; tries < BOOK_TRIES; tries += 1) {
      const { next, ...book } = await this.bookPage(marketId, { currency, depth });
      let after = next;
      let { seq } = book;
      while (after !== undefined && seq === book.seq) {
        const page = await this.bookPage(marketId, { currency, depth, after });
        for (const [outcomeId, orders] of Object.entries(page.orders))
          book.orders[outcomeId]?.push(...orders);
        ({ next: after, seq } = page);
      }
      if (seq === book.seq) return book;
    }
    throw new Error(`the book of ${marketId} changes faster than it can be read; follow it on the stream`);
  }

  /** Returns the public trades of a market, newest first, from all pages. */
  trades(
    marketId: string,
    filter: TimeBounds & { readonly currency?: Currency } = {},
  ): Promise<TradeAnswer[]> {
    return this.readAll(
      `${this.#prefix}/catalog/markets/${marketId}/trades`,
      pageOf(TradeAnswer),
      filter,
      READ,
    );
  }

  /** Returns one page of the public trades of a market, newest first. */
  tradesPage(
    marketId: string,
    query: TimeBounds & PageQuery & { readonly currency?: Currency } = {},
  ): Promise<Page<TradeAnswer>> {
    return this.read(`${this.#prefix}/catalog/markets/${marketId}/trades`, pageOf(TradeAnswer), query, READ);
  }

  /** Returns the prices of an outcome by interval. */
  async candles(marketId: string, query: CandleQuery): Promise<Candle[]> {
    const path = `${this.#prefix}/catalog/markets/${marketId}/candles`;
    return (await this.read(path, Candles, query, READ)).items;
  }

  /** Returns best bids, last prices and volume of up to 100 markets. */
  async prices(marketIds: readonly string[]): Promise<MarketPrices[]> {
    const query = { markets: marketIds.join(",") };
    const price: Price = { bucket: "read", cost: Math.ceil(marketIds.length / 10) };
    return (await this.read(`${this.#prefix}/catalog/prices`, Prices, query, price)).items;
  }

  /** Returns the sports of the catalog. */
  sports(): Promise<string[]> {
    return this.read(`${this.#prefix}/types/sports`, Names, {}, READ);
  }

  /** Returns the leagues of the catalog. */
  leagues(): Promise<string[]> {
    return this.read(`${this.#prefix}/types/leagues`, Names, {}, READ);
  }

  /** Returns the types of markets. */
  marketTypes(): Promise<string[]> {
    return this.read(`${this.#prefix}/types/markets`, Names, {}, READ);
  }

  /** Returns the statuses that an event may have. */
  eventStatuses(): Promise<string[]> {
    return this.read(`${this.#prefix}/types/event-statuses`, Names, {}, READ);
  }

  /** Returns the submittable prices, rising. */
  async ticks(): Promise<readonly string[]> {
    return (await this.read(`${this.#prefix}/ticks`, TicksAnswer, {}, READ)).prices;
  }
}

/** Reads of a visitor without an account. */
export class PublicClient extends CatalogCalls {
  /** `patienceMs` is the time that a request is retried, in ms (default 60,000). */
  constructor(connection: Connection, patienceMs = PATIENCE_MS) {
    super(connection, "/v3/public", patienceMs);
  }

  /** Returns the state of the service. It answers while parts of the service are away. */
  status(): Promise<StatusAnswer> {
    return this.read("/v3/public/status", StatusAnswer);
  }

  /** Returns one page of the announced changes, newest first. */
  changelogPage(query: PageQuery = {}): Promise<Page<ChangeAnswer>> {
    return this.read("/v3/public/changelog", pageOf(ChangeAnswer), query);
  }

  /** Returns the announced changes, newest first, from all pages. */
  changelog(): Promise<ChangeAnswer[]> {
    return this.readAll("/v3/public/changelog", pageOf(ChangeAnswer), {});
  }

  /** Returns the login of the demo's trader, in development only. */
  demo(): Promise<DemoAnswer> {
    return this.read("/v3/public/demo", DemoAnswer);
  }

  protected override authorize(): Promise<Readonly<Record<string, string>>> {
    return Promise.resolve({});
  }
}
