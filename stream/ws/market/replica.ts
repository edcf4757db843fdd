/** The market replicas of this process: made when someone asks, shared while anyone does, kept warm for a while. */

import { marketActor } from "../../../actors/actor.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import type { MarketState } from "../../../actors/market/state.js";
import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import type { Entry, Tail } from "../../log/ports.js";
import { bitOf, type Mask } from "../socket/channels.js";
import { lookBack } from "../look-back.js";
import { type MarketBook, PublicMarket, TRADE_BATCHES } from "./public-market.js";
import { publicBatch, type PublicBatch } from "../wire.js";

const WARM_MS = 60_000;
const RELOAD_MS = 500;
const CATCH_UP_MS = 1_000;

/** The state of a market as of an entry of its delta stream, or `undefined` when it never said anything. */
export type LoadMarket = (
  marketId: string,
) => Promise<{ readonly seq: number; readonly state: MarketState } | undefined>;

export interface ReplicaSource {
  readonly tail: Tail;
  readonly load: LoadMarket;
  readonly onError: (error: unknown) => void;
  /** How long a replica that nobody uses is kept, ms. */
  readonly warmMs?: number;
}

/** One market, kept up to date. `onBatch` listeners hear every public batch right after it is folded in. */
export class Replica {
  readonly marketId: string;
  #market: PublicMarket;
  #appliedSeq: number;
  #stop: () => void = () => undefined;
  #closed = false;
  #pastTrades: Promise<void> | undefined;
  readonly #source: ReplicaSource;
  readonly #listeners = new Set<(batch: PublicBatch) => void>();
  readonly #lostListeners = new Set<() => void>();
  readonly #waiters = new Set<{ readonly seq: number; readonly go: () => void }>();

  private constructor(source: ReplicaSource, marketId: string, market: PublicMarket, seq: number) {
    this.#source = source;
    this.marketId = marketId;
    this.#market = market;
    this.#appliedSeq = seq;
    this.#follow();
  }

  /** `undefined` when there is no such market. */
  static async load(source: ReplicaSource, marketId: string): Promise<Replica | undefined> {
    const loaded = await loadPublic(source, marketId);
    return loaded === undefined ? undefined : new Replica(source, marketId, loaded.market, loaded.seq);
  }

  get market(): PublicMarket {
    return this.#market;
  }

  /** Calls `listener` with every batch from now on, until the returned stop is called. */
  onBatch(listener: (batch: PublicBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` when deltas were lost for good: the next batch does not connect to the last one. */
  onLost(listener: () => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /** Makes sure that a snapshot can show the trades from before the replica began. */
  async prepareTrades(): Promise<void> {
    if (CURRENCIES.every((currency) => !this.#market.lacksTrades(currency))) return;
    this.#pastTrades ??= this.#loadPastTrades();
    await this.#pastTrades;
  }

  /**
   * Looks up every batch after the seqs of `since`. Recording starts at once, and the returned `finish` gives what
   * there is at the moment it is called, so that the batches which come next connect. It must be called.
   */
  async missed(since: ReadonlyMap<Mask, number>): Promise<PendingResume> {
    // Another gateway told the watcher more than has come to this one: a snapshot of now would go back in time.
    if ([...since].some(([bit, seq]) => seq > this.#market.seqOf(bit))) await this.catchUp();
    const recorded: PublicBatch[] = [];
    const stop = this.onBatch((batch) => recorded.push(batch));
    const behind = [...since].filter(([bit, seq]) => seq < this.#market.seqOf(bit));
    try {
      const past = await this.#pastBatches((batches) =>
        behind.every(([bit, seq]) => contains(batches, bit, seq + 1)),
      );
      return {
        finish: () => {
          stop();
          return resume([...past, ...recorded], since, (bit) => this.#market.seqOf(bit));
        },
      };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /** Waits until all that the market has committed so far is folded in, at most a second. Throws `Unavailable`. */
  async catchUp(): Promise<void> {
    await this.waitForSeq(await this.#source.tail.head(marketActor(this.marketId)));
  }

  /** Waits until the entry `seq` is folded in, at most a second. */
  async waitForSeq(seq: number): Promise<void> {
    if (this.#appliedSeq >= seq) return;
    await new Promise<void>((resolve) => {
      const waiting = {
        seq,
        go: () => {
          clearTimeout(timer);
          this.#waiters.delete(waiting);
          resolve();
        },
      };
      const timer = setTimeout(waiting.go, CATCH_UP_MS);
      this.#waiters.add(waiting);
    });
  }

  close(): void {
    this.#closed = true;
    this.#stop();
    for (const { go } of [...this.#waiters]) go();
  }

  #follow(): void {
    const restart = (): void => void this.#reload().catch(this.#source.onError);
    this.#stop = this.#source.tail.follow<MarketDelta>(
      marketActor(this.marketId),
      this.#appliedSeq,
      (entries) => {
        try {
          this.#apply(entries);
        } catch (error) {
          this.#source.onError(error);
          restart();
        }
      },
      restart,
    );
  }

  #apply(entries: readonly Entry<MarketDelta>[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.#appliedSeq || this.#closed) continue;
      for (const batch of entry.batches) {
        const out = publicBatch(this.#market.identity, batch);
        this.#market.apply(batch.deltas, out);
        if (out.parts.length > 0) for (const listener of this.#listeners) listener(out);
      }
      this.#appliedSeq = entry.seq;
    }
    for (const waiting of [...this.#waiters]) if (waiting.seq <= this.#appliedSeq) waiting.go();
  }

  /** Entries are gone that were never seen, or were seen and taken back by a crash. Starts again from a snapshot. */
  async #reload(): Promise<void> {
    this.#stop();
    for (const listener of [...this.#lostListeners]) listener();
    while (!this.#isClosed()) {
      try {
        const loaded = await loadPublic(this.#source, this.marketId);
        assert(loaded !== undefined, `market ${this.marketId} vanished`);
        this.#market = loaded.market;
        this.#appliedSeq = loaded.seq;
        this.#pastTrades = undefined;
        if (!this.#isClosed()) this.#follow();
        return;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RELOAD_MS));
      }
    }
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  async #loadPastTrades(): Promise<void> {
    const market = this.#market;
    const past = await this.#pastBatches((batches) =>
      CURRENCIES.every((currency) => {
        const from = Math.max(1, market.seq("trades", currency) - TRADE_BATCHES + 1);
        return market.seq("trades", currency) === 0 || contains(batches, bitOf("trades", currency), from);
      }),
    );
    market.addPastTrades(past);
  }

  /** Public batches up to now, from far enough back or from as far back as there are. */
  async #pastBatches(enough: (batches: readonly PublicBatch[]) => boolean): Promise<readonly PublicBatch[]> {
    const { identity } = this.#market;
    let batches: PublicBatch[] = [];
    await lookBack<MarketDelta>(
      this.#source.tail,
      marketActor(this.marketId),
      this.#appliedSeq,
      (entries) => {
        batches = entries.flatMap((entry) => entry.batches.map((batch) => publicBatch(identity, batch)));
        return enough(batches);
      },
    );
    return batches;
  }
}

/** The channels that could be resumed, and the batches that bring them to now. */
export interface Resumed {
  readonly resumed: Mask;
  readonly batches: readonly PublicBatch[];
}

export interface PendingResume {
  finish(): Resumed;
}

function contains(batches: readonly PublicBatch[], bit: Mask, seq: number): boolean {
  return batches.some((batch) => batch.parts.some((part) => part.bit === bit && part.seq === seq));
}

/** A channel is resumed only when every seq between what the watcher has and what there is now can be told. */
function resume(
  batches: readonly PublicBatch[],
  since: ReadonlyMap<Mask, number>,
  seqNow: (bit: Mask) => number,
): Resumed {
  const published = new Map<Mask, number>();
  for (const [bit, from] of since) {
    const to = seqNow(bit);
    const missed = batches.reduce(
      (count, { parts }) =>
        count + parts.filter((part) => part.bit === bit && part.seq > from && part.seq <= to).length,
      0,
    );
    if (missed === to - from) published.set(bit, from);
  }
  const missed = batches.map(({ ts, parts }) => ({
    ts,
    parts: parts.filter((part) => part.seq > (published.get(part.bit) ?? Infinity)),
  }));
  const resumed = [...published.keys()].reduce((mask, bit) => mask | bit, 0);
  return { resumed, batches: missed.filter(({ parts }) => parts.length > 0) };
}

async function loadPublic(
  source: ReplicaSource,
  marketId: string,
): Promise<{ readonly market: PublicMarket; readonly seq: number } | undefined> {
  const loaded = await source.load(marketId);
  const definition = loaded?.state.definition;
  if (loaded === undefined || definition === undefined) return undefined;
  const { eventId, outcomes } = definition;
  return { market: new PublicMarket(loaded.state, { marketId, eventId, outcomes }), seq: loaded.seq };
}

interface CachedReplica {
  readonly loading: Promise<Replica | undefined>;
  users: number;
  eviction: ReturnType<typeof setTimeout> | undefined;
}

/** Replicas by market. Every `acquire` that gave one needs a `release`. */
export class Replicas {
  readonly #source: ReplicaSource;
  readonly #cached = new Map<string, CachedReplica>();

  constructor(source: ReplicaSource) {
    this.#source = source;
  }

  /** `undefined` when there is no such market. Throws `Unavailable` when its state cannot be read. */
  async acquire(marketId: string): Promise<Replica | undefined> {
    const held = this.#cached.get(marketId) ?? this.#load(marketId);
    held.users += 1;
    clearTimeout(held.eviction);
    try {
      const replica = await held.loading;
      if (replica === undefined) this.#evict(marketId, held);
      return replica;
    } catch (error) {
      this.#evict(marketId, held);
      throw error;
    }
  }

  release(marketId: string): void {
    const held = this.#cached.get(marketId);
    assert(held !== undefined && held.users > 0, `the replica of ${marketId} is not in use`);
    held.users -= 1;
    if (held.users > 0) return;
    held.eviction = setTimeout(() => {
      this.#evict(marketId, held);
      void held.loading.then((replica) => replica?.close());
    }, this.#source.warmMs ?? WARM_MS);
    held.eviction.unref();
  }

  /** The book as of now: at least as new as the market's last commit when it was asked for (bounded by a second). */
  async book(marketId: string, currency: Currency): Promise<MarketBook | undefined> {
    const replica = await this.acquire(marketId);
    if (replica === undefined) return undefined;
    try {
      await replica.catchUp();
      return replica.market.book(currency);
    } finally {
      this.release(marketId);
    }
  }

  async close(): Promise<void> {
    const held = [...this.#cached.values()];
    this.#cached.clear();
    for (const { eviction: cooling } of held) clearTimeout(cooling);
    const replicas = await Promise.allSettled(held.map(({ loading }) => loading));
    for (const replica of replicas) if (replica.status === "fulfilled") replica.value?.close();
  }

  #load(marketId: string): CachedReplica {
    const held: CachedReplica = {
      loading: Replica.load(this.#source, marketId),
      users: 0,
      eviction: undefined,
    };
    this.#cached.set(marketId, held);
    return held;
  }

  #evict(marketId: string, held: CachedReplica): void {
    if (this.#cached.get(marketId) === held) this.#cached.delete(marketId);
  }
}
