/** Replica of a market in this process, kept up to date from the delta stream of the market. */

import { setTimeout as sleep } from "node:timers/promises";
import { marketActor } from "../../../actors/actor.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import type { MarketState } from "../../../actors/market/state.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import { type Entry, type Tail, Unavailable } from "../../log/ports.js";
import { bitOf, type Mask } from "../channels.js";
import { lookBack, RESUME_MS } from "../look-back.js";
import { PublicMarket, TRADE_BATCHES } from "./public-market.js";
import { PastFrames, PendingResume, type Seqs } from "./resume.js";
import { publicBatch, type PublicBatch } from "../wire.js";

const RELOAD_MS = 500;
const CATCH_UP_MS = 1_000;

/** Reads the state of a market and the seq of its last entry; `undefined` when the market has no entry. */
export type LoadMarket = (
  marketId: string,
) => Promise<{ readonly seq: number; readonly state: MarketState } | undefined>;

/** Sources of the deltas and the state of markets. */
export interface ReplicaSource {
  readonly tail: Tail;
  readonly load: LoadMarket;
  readonly onError: (error: unknown) => void;
}

/** Wait for an entry. */
interface Waiter {
  readonly seq: number;
  readonly go: () => void;
  readonly fail: () => void;
}

/** One market, kept up to date. Listeners of `onBatch` receive every public batch right after it is folded. */
export class Replica {
  readonly marketId: string;
  #market: PublicMarket;
  #appliedSeq: number;
  #stop: () => void = () => undefined;
  #closed = false;
  /** The latest attempt to reload after deltas were lost; `undefined` while the replica is current. */
  #reloading: Promise<void> | undefined;
  #pastTrades: Promise<void> | undefined;
  readonly #source: ReplicaSource;
  readonly #listeners = new Set<(batch: PublicBatch) => void>();
  readonly #lostListeners = new Set<() => void>();
  readonly #waiters = new Set<Waiter>();

  private constructor(source: ReplicaSource, marketId: string, market: PublicMarket, seq: number) {
    this.#source = source;
    this.marketId = marketId;
    this.#market = market;
    this.#appliedSeq = seq;
    this.#follow();
  }

  /** Loads a replica; returns `undefined` when the market does not exist. */
  static async load(source: ReplicaSource, marketId: string): Promise<Replica | undefined> {
    const loaded = await loadPublic(source, marketId);
    return loaded === undefined ? undefined : new Replica(source, marketId, loaded.market, loaded.seq);
  }

  /** Public state of the market. Replaced by a new object after a reload. */
  get market(): PublicMarket {
    return this.#market;
  }

  /** False from the loss of deltas until the replica is reloaded: its state is then old, and a gap follows it. */
  get isCurrent(): boolean {
    return this.#reloading === undefined;
  }

  /** Waits for the reload after a loss of deltas. Throws `Unavailable` when its latest attempt failed. */
  async whenCurrent(): Promise<void> {
    try {
      await this.#reloading;
    } catch {
      throw new Unavailable(`market ${this.marketId} cannot be read; try again`);
    }
  }

  /** Calls `listener` with every batch from now on, until the returned function is called. */
  onBatch(listener: (batch: PublicBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` when deltas were lost, so that the next batch does not follow the last one. */
  onLost(listener: () => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /**
   * Loads the trades from before the replica was created, so that a snapshot has them.
   * @throws Unavailable after 10 s; the load goes on.
   */
  async prepareTrades(): Promise<void> {
    if (CURRENCIES.every((currency) => !this.#market.lacksTrades(currency))) return;
    const loading = (this.#pastTrades ??= this.#startPastTrades());
    const late = new AbortController();
    const timeout = sleep(RESUME_MS, "late" as const, { signal: late.signal }).catch(() => undefined);
    const first = await Promise.race([loading, timeout]).finally(() => late.abort());
    if (first === "late")
      throw new Unavailable(`the trades of market ${this.marketId} are still being read; try again`);
  }

  /**
   * Reads every batch after the seqs of `since`, and records new batches from now on. The returned `finish` must be
   * called; it returns the batches up to that moment, so that the next batch follows them.
   */
  async missed(since: Seqs): Promise<PendingResume> {
    // The watcher has later seqs from another gateway; an answer from the present state would be older than these.
    if ([...since].some(([bit, seq]) => seq > this.#market.seqOf(bit))) await this.catchUp();
    const recorded: PublicBatch[] = [];
    const stop = this.onBatch((batch) => recorded.push(batch));
    const began = new Map([...since.keys()].map((bit) => [bit, this.#market.seqOf(bit)]));
    // A seq that the market has not reached even so is not one of its seqs.
    const reached = new Map([...since].filter(([bit, seq]) => seq <= (began.get(bit) ?? 0)));
    try {
      const past = await this.#pastFrames(reached, began);
      return new PendingResume({
        identity: this.#market.identity,
        since: past.complete,
        began,
        past: past.frames,
        recorded,
        stopRecording: stop,
        seqNow: (bit) => this.#market.seqOf(bit),
      });
    } catch (error) {
      stop();
      throw error;
    }
  }

  /**
   * Waits until all commits of the market so far are folded, also by a reload, and no others.
   * @throws Unavailable when they are not after a second; the state is then old.
   */
  async catchUp(): Promise<void> {
    const appliedBefore = this.#appliedSeq;
    const head = await this.#source.tail.head(marketActor(this.marketId));
    // A crash of the log undid entries that are folded.
    if (head < appliedBefore && this.isCurrent) this.#restart();
    await this.waitForSeq(head);
  }

  /** Waits until the entry `seq` is folded, at most a second. Throws `Unavailable`. */
  async waitForSeq(seq: number): Promise<void> {
    if (this.#hasReached(seq)) return;
    await new Promise<void>((resolve, reject) => {
      const end = (complete: () => void): void => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        complete();
      };
      const late = (): void =>
        reject(new Unavailable(`the deltas of market ${this.marketId} do not arrive in time; try again`));
      const waiter = { seq, go: () => end(resolve), fail: () => end(late) };
      const timer = setTimeout(waiter.fail, CATCH_UP_MS);
      this.#waiters.add(waiter);
    });
  }

  #hasReached(seq: number): boolean {
    return this.isCurrent && this.#appliedSeq >= seq;
  }

  #wake(): void {
    for (const { seq, go } of [...this.#waiters]) if (this.#hasReached(seq)) go();
  }

  /** Stops following the market. */
  close(): void {
    this.#closed = true;
    this.#stop();
    for (const { fail } of [...this.#waiters]) fail();
  }

  #restart(): void {
    void this.#reload().catch(this.#source.onError);
  }

  #follow(): void {
    const restart = (): void => this.#restart();
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
    this.#wake();
  }

  /**
   * Starts again from the state of the market. Called when entries were trimmed unread, when a crash of the log undid
   * entries that were folded, and when an entry cannot be folded, such as one with a delta of a newer build.
   */
  async #reload(): Promise<void> {
    this.#stop();
    while (!this.#isClosed()) {
      const attempt = this.#loadAgain();
      const isFirst = this.#reloading === undefined;
      this.#reloading = attempt;
      if (isFirst) for (const listener of [...this.#lostListeners]) listener();
      try {
        await attempt;
        return;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RELOAD_MS));
      }
    }
  }

  async #loadAgain(): Promise<void> {
    const loaded = await loadPublic(this.#source, this.marketId);
    assert(loaded !== undefined, `market ${this.marketId} vanished`);
    this.#market = loaded.market;
    this.#appliedSeq = loaded.seq;
    this.#pastTrades = undefined;
    this.#reloading = undefined;
    this.#wake();
    if (!this.#isClosed()) this.#follow();
  }

  /** A method, because the compiler takes `#closed` to be unchanged after an `await`. */
  #isClosed(): boolean {
    return this.#closed;
  }

  /** Starts to load the past trades. A load that fails is forgotten, so that the next reader tries again. */
  #startPastTrades(): Promise<void> {
    const loading = this.#loadPastTrades();
    loading.catch(() => {
      if (this.#pastTrades === loading) this.#pastTrades = undefined;
    });
    return loading;
  }

  async #loadPastTrades(): Promise<void> {
    const market = this.#market;
    const from = new Map<Mask, number>();
    for (const currency of CURRENCIES) {
      const last = market.seq("trades", currency);
      if (last > 0) from.set(bitOf("trades", currency), Math.max(0, last - TRADE_BATCHES));
    }
    market.addPastTrades(from.size === 0 ? [] : await this.#batchesAfter(from));
  }

  /** Returns the parts of public batches after these seqs up to now, or those that were not trimmed. */
  async #batchesAfter(from: Seqs): Promise<readonly PublicBatch[]> {
    const missing = new Set(from.keys());
    const windows: (readonly PublicBatch[])[] = [];
    for await (const batches of this.#lookBack(this.#appliedSeq)) {
      const wanted = batches
        .map(({ ts, parts }) => ({
          ts,
          parts: parts.filter(({ bit, seq }) => seq > (from.get(bit) ?? Infinity)),
        }))
        .filter(({ parts }) => parts.length > 0);
      windows.push(wanted);
      for (const { parts } of wanted)
        for (const { bit, seq } of parts) if (seq === (from.get(bit) ?? 0) + 1) missing.delete(bit);
      if (missing.size === 0) break;
    }
    return windows.toReversed().flat();
  }

  /**
   * Returns the frames of the batches after the seqs of `since` up to those of `began`, the present ones. A channel is not
   * complete when some of its batches were trimmed; none is when not all could be read within 10 s.
   */
  async #pastFrames(
    since: Seqs,
    began: Seqs,
    { throughSeq, endMs } = { throughSeq: this.#appliedSeq, endMs: performance.now() + RESUME_MS },
  ): Promise<PastFrames> {
    const past = new PastFrames(this.#market.identity, since, began);
    if (past.isComplete()) return past;
    for await (const batches of this.#lookBack(throughSeq, endMs - performance.now())) {
      past.add(batches);
      if (past.isComplete()) return past;
    }
    // The frames also have the channels that are not complete, so those that are complete are read again alone.
    return this.#pastFrames(past.complete, began, { throughSeq, endMs });
  }

  /** Yields the public batches of the entries through `throughSeq` in windows, the latest one first, for `mostMs`. */
  async *#lookBack(throughSeq: number, mostMs = Infinity): AsyncGenerator<readonly PublicBatch[]> {
    const { identity } = this.#market;
    const entries = lookBack<MarketDelta>(this.#source.tail, marketActor(this.marketId), throughSeq, {
      mostMs,
    });
    for await (const window of entries) {
      yield window.flatMap(({ batches }) => batches.map((batch) => publicBatch(identity, batch)));
      if (this.#isClosed()) return;
    }
  }
}

/** Reads the state of a market and keeps its public part. */
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
