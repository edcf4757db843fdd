/** Cache of the market replicas of this process: loaded on demand, shared, and kept for a time after the last use. */

import type { Currency } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import type { BookPart, MarketBook } from "./public-market.js";
import { Replica, type ReplicaSource } from "./replica.js";

const WARM_MS = 60_000;

/** Sources of markets, and the time that unused replicas are kept. */
export interface ReplicasSource extends ReplicaSource {
  /** Time that an unused replica is kept, in ms (default 60,000). */
  readonly warmMs?: number;
}

/** Seq of a book whose orders the reader has. */
export interface BookSeq {
  readonly seq: number;
  readonly orders: undefined;
}

interface CachedReplica {
  readonly loading: Promise<Replica | undefined>;
  /** Absent until the replica is loaded. */
  loaded?: Replica | undefined;
  users: number;
  eviction: ReturnType<typeof setTimeout> | undefined;
}

/** Replicas by market. Every `acquire` that returned a replica must be followed by one `release`. */
export class Replicas {
  readonly #source: ReplicasSource;
  readonly #cached = new Map<string, CachedReplica>();

  constructor(source: ReplicasSource) {
    this.#source = source;
  }

  /**
   * Returns the replica of a market, or `undefined` when the market does not exist. Throws `Unavailable` when its state
   * cannot be read, and while a replica that lost deltas cannot be reloaded.
   */
  async acquire(marketId: string): Promise<Replica | undefined> {
    const cached = this.#cached.get(marketId) ?? this.#load(marketId);
    cached.users += 1;
    clearTimeout(cached.eviction);
    let replica: Replica | undefined;
    try {
      replica = await cached.loading;
      cached.loaded = replica;
    } catch (error) {
      this.#evict(marketId, cached);
      throw error;
    }
    if (replica === undefined) {
      this.#evict(marketId, cached);
      return undefined;
    }
    try {
      await replica.whenCurrent();
      return replica;
    } catch (error) {
      this.release(marketId);
      throw error;
    }
  }

  /** Returns the replica of a market if it is loaded; the caller must not keep it. */
  loaded(marketId: string): Replica | undefined {
    return this.#cached.get(marketId)?.loaded;
  }

  /** Returns whether the replica of a market is loaded, or being loaded. */
  has(marketId: string): boolean {
    return this.#cached.has(marketId);
  }

  release(marketId: string): void {
    const cached = this.#cached.get(marketId);
    assert(cached !== undefined && cached.users > 0, `the replica of ${marketId} is not in use`);
    cached.users -= 1;
    if (cached.users > 0) return;
    cached.eviction = setTimeout(() => {
      this.#evict(marketId, cached);
      void cached.loading.then((replica) => replica?.close());
    }, this.#source.warmMs ?? WARM_MS);
    cached.eviction.unref();
  }

  /**
   * Returns the book of a market, at least as new as the last commit before the call. Returns `undefined` when the market
   * does not exist. Throws `Unavailable` when the log does not deliver that commit within a second.
   */
  book(marketId: string, currency: Currency): Promise<MarketBook | undefined> {
    return this.#upToDate(marketId, (market) => market.book(currency));
  }

  /** Returns a part of the book of a market like `book`, but only its seq when that is `knownSeq`. */
  bookUnless(
    marketId: string,
    currency: Currency,
    knownSeq: number | undefined,
    part: BookPart = {},
  ): Promise<MarketBook | BookSeq | undefined> {
    return this.#upToDate(marketId, (market) => {
      const seq = market.seq("book", currency);
      return seq === knownSeq ? { seq, orders: undefined } : market.book(currency, part);
    });
  }

  /** Reads a market that has the last commit before the call. */
  async #upToDate<Value>(
    marketId: string,
    read: (market: Replica["market"]) => Value,
  ): Promise<Value | undefined> {
    const replica = await this.acquire(marketId);
    if (replica === undefined) return undefined;
    try {
      await replica.catchUp();
      return read(replica.market);
    } finally {
      this.release(marketId);
    }
  }

  async close(): Promise<void> {
    const all = [...this.#cached.values()];
    this.#cached.clear();
    for (const { eviction } of all) clearTimeout(eviction);
    const replicas = await Promise.allSettled(all.map(({ loading }) => loading));
    for (const replica of replicas) if (replica.status === "fulfilled") replica.value?.close();
  }

  #load(marketId: string): CachedReplica {
    const cached: CachedReplica = {
      loading: Replica.load(this.#source, marketId),
      users: 0,
      eviction: undefined,
    };
    this.#cached.set(marketId, cached);
    return cached;
  }

  #evict(marketId: string, cached: CachedReplica): void {
    if (this.#cached.get(marketId) === cached) this.#cached.delete(marketId);
  }
}
