/**
 * Markets by event. Descriptions, which seldom change, are cached; books come from the replicas of this gateway; the JSON
 * of a market is built once and serves every request until the market changes. A request reads Postgres and Redis only
 * after a change.
 */

import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { fullValue, ZERO } from "../../../actors/units.js";
import { isUnavailable, type Database } from "../../../db/database.js";
import { findEvent } from "../../../db/queries/catalog/events.js";
import { allMarkets } from "../../../db/queries/catalog/markets.js";
import { Unavailable } from "../../../stream/log/ports.js";
import type { PublicMarket } from "../../../stream/ws/market/public-market.js";
import type { Replica } from "../../../stream/ws/market/replica.js";
import type { Replicas } from "../../../stream/ws/market/replicas.js";
import { Cache } from "../../reference/cache.js";
import { Refused } from "../../request/errors.js";
import type { Change, Reference } from "../../reference/reference.js";
import { Answer, Piece } from "./answer.js";
import { bookOnB, type View } from "./books.js";
import { describeMarkets } from "./description.js";
import type { MarketWithBook } from "../schemas.js";
import { marketOnB, projected, type DescribedMarket, type LiveMarket } from "../wire.js";

interface EventMarketsParts {
  readonly db: Database;
  readonly reference: Pick<Reference, "market" | "onChange">;
  readonly replicas: Pick<Replicas, "acquire" | "release">;
  readonly onError: (error: unknown) => void;
}

/** Market with a text of everything that an answer shows of it, except the part from its replica. */
interface Shown extends DescribedMarket {
  readonly fixedPart: string;
}

/** Markets of an event, oldest first. */
interface Description {
  readonly eventId: string;
  readonly markets: readonly Shown[];
}

/** JSON of a market and the inputs that it was built from. The JSON is valid while the inputs stay the same. */
interface Rendered {
  readonly fixedPart: string;
  readonly replica: PublicMarket | undefined;
  readonly seqs: string;
  readonly piece: Piece;
}

/** Cache of one event that clients request. */
interface CachedEvent {
  description: Description | undefined;
  readonly replicas: Map<string, Replica>;
  /** Work in progress: acquiring the replicas of a new description, or comparing them with the log. */
  refreshing: Promise<void> | undefined;
  /** Time in Unix ms up to which the replicas hold everything that the log held. */
  comparedMs: number;
  usedMs: number;
  readonly rendered: Map<string, Rendered>;
  readonly answers: Map<string, Answer>;
}

const DESCRIPTION_TTL_MS = 30_000;
/** Interval at which replicas are compared with the log, in ms. They usually receive a commit within 2 ms. */
const FRESH_MS = 250;
const IDLE_MS = 120_000;
const SWEEP_MS = 15_000;
const MAX_CACHED = 500;
/** Maximum size of the cached JSON. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Number of orders that a ladder shows. The levels of `view=simple` cover all orders. */
const MAX_LADDER_ORDERS = 1_000;
/** Maximum number of attempts: a description may change while the replicas of the previous one are acquired. */
const MAX_TRIES = 5;

export class EventMarkets {
  readonly #parts: EventMarketsParts;
  readonly #descriptions: Cache<Description>;
  readonly #cached = new Map<string, CachedEvent>();
  /** Lookups of the events of changed markets that may be new. */
  readonly #lookups = new Set<Promise<void>>();
  readonly #stopListening: () => void;
  readonly #sweeping: ReturnType<typeof setInterval>;
  readonly #nowMs: () => number;

  constructor(parts: EventMarketsParts, nowMs: () => number = () => performance.now()) {
    this.#parts = parts;
    this.#nowMs = nowMs;
    this.#descriptions = new Cache((eventId) => this.#describe(eventId), {
      ttlMs: DESCRIPTION_TTL_MS,
      maxEntries: 2 * MAX_CACHED,
      unreachable: isUnavailable,
    });
    this.#stopListening = parts.reference.onChange((change) => this.#invalidate(change));
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#sweeping.unref();
  }

  /**
   * Returns the markets of an event with their books. Refuses `EVENT_NOT_FOUND`. Throws `Unavailable` while a replica that
   * lost deltas cannot be reloaded, because its book is old.
   */
  async markets(eventId: string, currency: Currency, view: View): Promise<Answer> {
    const { cached, description } = await this.#current(eventId);
    const pieces = description.markets.map((market) =>
      this.#render(cached, market, currency, view, "market"),
    );
    return answerOf(cached, `${currency} ${view}`, pieces, true);
  }

  /** Returns the markets of several events with their books, event by event. Refuses and throws as `markets` does. */
  async marketsOfEach(eventIds: readonly string[], currency: Currency, view: View): Promise<Answer> {
    const answers = await Promise.all(eventIds.map((eventId) => this.markets(eventId, currency, view)));
    return new Answer(answers.flatMap(({ pieces }) => pieces));
  }

  /** Returns the book of a market. Refuses `MARKET_NOT_FOUND`, and throws as `markets` does. */
  async book(marketId: string, currency: Currency, view: View): Promise<Answer> {
    const record = await this.#parts.reference.market(marketId);
    if (record === undefined) throw new Refused("MARKET_NOT_FOUND");
    const { cached, description } = await this.#current(record.eventId);
    const market = description.markets.find((one) => one.record.marketId === marketId);
    if (market === undefined) throw new Unavailable("the market cannot be read yet; try again");
    const piece = this.#render(cached, market, currency, view, "book");
    return answerOf(cached, `${currency} ${view} ${marketId}`, [piece], false);
  }

  /** Returns an event that is described and whose replicas hold everything that the log holds. */
  async #current(eventId: string): Promise<{ cached: CachedEvent; description: Description }> {
    const beganMs = this.#nowMs();
    if (this.#lookups.size > 0) await Promise.all(this.#lookups);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const description = await this.#descriptions.get(eventId);
      if (description === undefined)
        throw new Refused(
          "EVENT_NOT_FOUND",
          `no event has the id ${eventId}; send an eventId from the list of events`,
        );
      const cached = this.#cachedEvent(eventId);
      if (cached.description === description && isFresh(cached, beganMs)) return { cached, description };
      cached.refreshing ??= this.#refresh(eventId, cached).finally(() => (cached.refreshing = undefined));
      await cached.refreshing;
    }
    throw new Unavailable("the event changes faster than it can be read; try again");
  }

  #cachedEvent(eventId: string): CachedEvent {
    const known = this.#cached.get(eventId);
    if (known !== undefined) {
      known.usedMs = this.#nowMs();
      return known;
    }
    const cached: CachedEvent = {
      description: undefined,
      replicas: new Map(),
      refreshing: undefined,
      comparedMs: -Infinity,
      usedMs: this.#nowMs(),
      rendered: new Map(),
      answers: new Map(),
    };
    this.#cached.set(eventId, cached);
    if (this.#cached.size > MAX_CACHED) this.#sweep();
    return cached;
  }

  async #describe(eventId: string): Promise<Description | undefined> {
    const { db } = this.#parts;
    if ((await findEvent(db, eventId)) === undefined) return undefined;
    const records = await allMarkets(db, { eventId });
    const oldestFirst = records.toSorted(
      (a, b) => a.createdTs - b.createdTs || (a.marketId < b.marketId ? -1 : 1),
    );
    const markets = (await describeMarkets(db, oldestFirst)).map((market) => ({
      ...market,
      fixedPart: fixedPartOf(market),
    }));
    return { eventId, markets };
  }

  /**
   * Acquires the replicas that the event needs, and waits until they hold everything that the log holds. Throws
   * `Unavailable` when a replica that lost deltas cannot be reloaded.
   */
  async #refresh(eventId: string, cached: CachedEvent): Promise<void> {
    try {
      const description = await this.#descriptions.get(eventId);
      if (description !== cached.description) {
        await this.#acquireReplicas(cached, description);
        cached.description = description;
      }
      const askedMs = this.#nowMs();
      await Promise.all([...cached.replicas.values()].map((replica) => replica.catchUp()));
      cached.comparedMs = askedMs;
    } finally {
      // The cache dropped the event in the meantime, so the replicas are released here.
      if (this.#cached.get(eventId) !== cached) this.#releaseReplicas(cached);
    }
  }

  #releaseReplicas(cached: CachedEvent): void {
    for (const marketId of cached.replicas.keys()) this.#parts.replicas.release(marketId);
    cached.replicas.clear();
  }

  /** Acquires the replicas of a description and releases the others. Settled markets have no book and no replica. */
  async #acquireReplicas(cached: CachedEvent, description: Description | undefined): Promise<void> {
    const { replicas } = this.#parts;
    const needed = new Set(
      description?.markets.flatMap(({ record }) => (record.status === "SETTLED" ? [] : [record.marketId])),
    );
    for (const marketId of [...cached.replicas.keys()]) {
      if (needed.has(marketId)) continue;
      cached.replicas.delete(marketId);
      replicas.release(marketId);
    }
    await Promise.all(
      [...needed].map(async (marketId) => {
        if (cached.replicas.has(marketId)) return;
        const replica = await replicas.acquire(marketId);
        if (replica !== undefined) cached.replicas.set(marketId, replica);
      }),
    );
  }

  #render(
    cached: CachedEvent,
    market: Shown,
    currency: Currency,
    view: View,
    part: "market" | "book",
  ): Piece {
    const { marketId } = market.record;
    const replica = cached.replicas.get(marketId)?.market;
    const seqs =
      replica === undefined
        ? ""
        : `${replica.seq("lifecycle", currency)} ${replica.seq("book", currency)} ${replica.seq("trades", "CASH")} ${replica.seq("trades", "COIN")}`;
    const key = `${marketId} ${currency} ${view} ${part}`;
    const known = cached.rendered.get(key);
    const { fixedPart } = market;
    if (known?.fixedPart === fixedPart && known.replica === replica && known.seqs === seqs)
      return known.piece;
    const limit = view === "ladder" ? MAX_LADDER_ORDERS : undefined;
    const book = bookOnB(market.record, replica?.ladders(currency, limit) ?? [], currency, view);
    const whole = (): MarketWithBook => ({ ...marketOnB(market, liveOf(market, replica, currency)), book });
    const piece = new Piece(part === "book" ? book : whole());
    cached.rendered.set(key, { fixedPart, replica, seqs, piece });
    return piece;
  }

  #invalidate(change: Change): void {
    if (change.kind === "all") this.#descriptions.clear();
    else if (change.kind === "event") this.#descriptions.drop(change.id);
    else if (change.kind === "market") this.#invalidateMarket(change.id);
  }

  #invalidateMarket(marketId: string): void {
    const showing: string[] = [];
    this.#descriptions.dropWhere(({ eventId, markets }) => {
      const shows = markets.some(({ record }) => record.marketId === marketId);
      if (shows) showing.push(eventId);
      return shows;
    });
    if (showing.length > 0) return;
    const { reference, onError } = this.#parts;
    const placing: Promise<void> = reference
      .market(marketId)
      .then((market) => {
        if (market !== undefined) this.#descriptions.drop(market.event.eventId);
      })
      // The event of the market is unknown, so every description is dropped.
      .catch((error: unknown) => {
        this.#descriptions.clear();
        onError(error);
      })
      .finally(() => this.#lookups.delete(placing));
    this.#lookups.add(placing);
  }

  /** Drops idle events, and the least recently used ones while the cache is too large. */
  #sweep(): void {
    const byUse = [...this.#cached].toSorted(([, a], [, b]) => a.usedMs - b.usedMs);
    let bytes = byUse.reduce((sum, [, cached]) => sum + bytesOf(cached), 0);
    for (const [eventId, cached] of byUse) {
      const idle = this.#nowMs() - cached.usedMs > IDLE_MS;
      if (!idle && bytes <= MAX_BYTES && this.#cached.size <= MAX_CACHED) return;
      bytes -= bytesOf(cached);
      this.#evict(eventId, cached);
    }
  }

  #evict(eventId: string, cached: CachedEvent): void {
    this.#cached.delete(eventId);
    if (cached.refreshing === undefined) this.#releaseReplicas(cached);
  }

  /** Releases the replicas. */
  close(): void {
    clearInterval(this.#sweeping);
    this.#stopListening();
    for (const [eventId, cached] of [...this.#cached]) this.#evict(eventId, cached);
  }
}

/** Returns the answer of these pieces, which is the last one of its kind while they are the same. */
function answerOf(
  { answers }: CachedEvent,
  kind: string,
  pieces: readonly Piece[],
  isArray: boolean,
): Answer {
  const last = answers.get(kind);
  if (last?.consistsOf(pieces)) return last;
  const answer = new Answer(pieces, isArray);
  answers.set(kind, answer);
  return answer;
}

/** Returns whether the replicas were compared with the log lately, and none of them has lost deltas since. */
function isFresh({ comparedMs, replicas }: CachedEvent, beganMs: number): boolean {
  return comparedMs > beganMs - FRESH_MS && [...replicas.values()].every(({ isCurrent }) => isCurrent);
}

function bytesOf({ rendered, answers }: CachedEvent): number {
  const pieces = [...rendered.values()].map(({ piece }) => piece);
  return [...pieces, ...answers.values()].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns the unchanging part of a market as text. A settled market has no replica, so all of it is unchanging. */
function fixedPartOf(market: DescribedMarket): string {
  const { record } = market;
  const nothing: LiveMarket = { status: record.status, last: [], volume: ZERO };
  return JSON.stringify(
    CURRENCIES.map((currency) =>
      marketOnB(market, record.status === "SETTLED" ? projected(record, currency) : nothing),
    ),
  );
}

/**
 * Returns the changing part of a market as its replica has it. The status SETTLED appears together with the results,
 * which the read model receives a moment later; until then the market reads CLOSED.
 */
function liveOf(
  { record }: DescribedMarket,
  replica: PublicMarket | undefined,
  currency: Currency,
): LiveMarket {
  if (replica === undefined) return projected(record, currency);
  const status = replica.status === "SETTLED" || record.status === "SETTLED" ? record.status : replica.status;
  return { status, last: replica.last(currency), volume: fullValue(replica.volume("CASH")) };
}
