/** Private feeds of this process: folds the deltas of each ledger once, for all watched wallets. */

import { ledgerShardOf } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { type Entry, type Exchange, type Tail, Unavailable } from "../../log/ports.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../channels.js";
import type { Catalog } from "../ports.js";
import { WalletFeed } from "./feed.js";
import { type PrivateBatch, walletDeltas } from "./fold.js";
import { type PrivateSince, type ReadBatches, readMissed } from "./history.js";
import { Ledgers } from "./ledgers.js";
import { readWalletBase, walletQueries } from "./read-wallet.js";
import { RecentFills, type TerminalOrder, TerminalOrders } from "./terminal-orders.js";

const WARM_MS = 60_000;
const CATCH_UP_MS = 1_000;

/** Sources of the deltas and the state of wallets. */
export interface WalletsSource {
  readonly tail: Tail;
  readonly exchange: Pick<Exchange, "ledger">;
  readonly catalog: Pick<Catalog, "market">;
  readonly onError: (error: unknown) => void;
  /** Time that the feed of an unwatched wallet is kept, and that an unused ledger is followed, in ms (default 60,000). */
  readonly warmMs?: number | undefined;
}

interface CachedFeed {
  readonly shard: number;
  readonly feed: WalletFeed;
  readonly onLost: Set<() => void>;
  users: number;
  eviction: ReturnType<typeof setTimeout> | undefined;
}

/** Batches that a watcher has missed. */
export interface MissedBatches {
  /** Frames of the batches that the feed no longer keeps; each buffer holds whole frames. */
  readonly past: readonly Buffer[];
  /** Batches that the feed keeps, after those of `past`. */
  readonly kept: readonly PrivateBatch[];
}

/** A watched wallet. `stop` must be called once. */
export interface WatchedWallet {
  readonly feed: WalletFeed;
  /**
   * Returns every batch after the seq of the watcher up to now, or `undefined` when the watcher has none or some of the
   * batches are no longer available.
   */
  readonly missed: (channel: PrivateChannel) => MissedBatches | undefined;
  readonly stop: () => void;
}

/** Feeds by wallet, and the recent terminal orders of the wallets in the ledgers that are followed. */
export class Wallets {
  readonly #source: WalletsSource;
  readonly #feeds = new Map<string, CachedFeed>();
  readonly #ledgers: Ledgers;
  readonly #terminal = new TerminalOrders();
  /** By shard, since the ledger is followed without a gap: the log may have lost an older fill. */
  readonly #fills = new Map<number, RecentFills>();

  constructor(source: WalletsSource) {
    this.#source = source;
    this.#ledgers = new Ledgers({
      tail: source.tail,
      warmMs: source.warmMs ?? WARM_MS,
      onEntries: (entries, shard) => this.#apply(entries, shard),
      onLost: (shard) => this.#closeShard(shard),
      onEnd: (shard) => this.#forgetFills(shard),
      onError: source.onError,
    });
  }

  /**
   * Watches a wallet of a trader, and reads its batches after the seqs of `since`. Throws `Unavailable` when its ledger
   * does not answer in time or is not followed. Calls `onLost` when deltas were lost or cannot be folded: the feed then
   * ends, and watchers must start again.
   */
  async watch(
    traderId: string,
    wallet: string,
    onLost: () => void,
    since: PrivateSince = {},
  ): Promise<WatchedWallet> {
    const shard = ledgerShardOf(traderId);
    this.#ledgers.acquire(shard);
    try {
      await this.#ledgers.whenFollowed(shard);
      return await this.#watch(shard, wallet, onLost, since);
    } finally {
      // The feed keeps the ledger from here on.
      this.#ledgers.release(shard);
    }
  }

  async #watch(
    shard: number,
    wallet: string,
    onLost: () => void,
    since: PrivateSince,
  ): Promise<WatchedWallet> {
    const cached = this.#feeds.get(wallet) ?? this.#openFeed(shard, wallet);
    cached.users += 1;
    clearTimeout(cached.eviction);
    cached.onLost.add(onLost);
    const stop = (): void => {
      cached.onLost.delete(onLost);
      cached.users -= 1;
      if (cached.users === 0) this.#scheduleEviction(wallet, cached);
    };
    try {
      const complete = await cached.feed.ready;
      for (const channel of PRIVATE_CHANNELS) await waitForSeq(cached.feed, channel, complete[channel]);
    } catch (error) {
      this.#evict(wallet, cached);
      stop();
      throw error;
    }
    try {
      await this.#catchUp(shard, wallet, cached.feed, since);
      const older = await this.#readOlder(shard, wallet, cached.feed, since);
      return {
        feed: cached.feed,
        missed: (channel) => missedBatches(cached.feed, channel, since[channel], older.get(channel)),
        stop,
      };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /**
   * Returns the number of batches that a resume from `seq` replays, or of orders or positions that an answer without one
   * shows. Returns `Infinity` while the wallet is not loaded.
   */
  shownBy(wallet: string, channel: PrivateChannel, seq: number | undefined): number {
    const feed = this.#feeds.get(wallet)?.feed;
    if (feed?.isCurrent !== true) return Infinity;
    return seq === undefined ? feed.size(channel) : Math.max(0, feed.seq(channel) - seq);
  }

  /** Follows the ledger of a trader for a minute at least, as if a wallet of it were watched. Does not wait for it. */
  warm(traderId: string): void {
    const shard = ledgerShardOf(traderId);
    this.#ledgers.acquire(shard);
    this.#ledgers.release(shard);
  }

  /**
   * Follows the ledger of a trader until the returned function is called, so that `waitForTerminal` learns of every order
   * that becomes terminal meanwhile. Waits for the ledger for a second at most, and then goes on without it.
   */
  async followOrders(traderId: string): Promise<() => void> {
    const shard = ledgerShardOf(traderId);
    this.#ledgers.acquire(shard);
    await this.#ledgers.whenFollowed(shard).catch(this.#source.onError);
    return () => this.#ledgers.release(shard);
  }

  /**
   * Waits at most `timeoutMs` until the deltas of the ledger say that these orders of a wallet are terminal; see
   * `TerminalOrders.wait`. The ledger must be followed.
   */
  waitForTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>> {
    return this.#terminal.wait(wallet, orderIds, timeoutMs);
  }

  /**
   * Returns true when the order of a wallet was filled in the last five minutes, as far as the deltas of the trader's ledger
   * say that since it is followed.
   */
  wasFilled(traderId: string, wallet: string, orderId: string): boolean {
    return this.#fills.get(ledgerShardOf(traderId))?.has(wallet, orderId) === true;
  }

  /** Stops following ledgers and closes every feed. */
  close(): void {
    this.#terminal.close();
    this.#ledgers.close();
    for (const [wallet, cached] of [...this.#feeds]) this.#evict(wallet, cached);
  }

  /** Waits for seqs that the watcher already received from another gateway, at most a second per channel. */
  async #catchUp(shard: number, wallet: string, feed: WalletFeed, since: PrivateSince): Promise<void> {
    const isAhead = (channel: PrivateChannel): boolean => (since[channel] ?? 0) > feed.seq(channel);
    if (!PRIVATE_CHANNELS.some(isAhead)) return;
    const snapshot = await walletQueries(this.#source.exchange, shard, wallet)("balances");
    const waits = PRIVATE_CHANNELS.filter((channel) => (since[channel] ?? 0) <= snapshot[channel].seq);
    for (const channel of waits) await waitForSeq(feed, channel, since[channel] ?? 0);
  }

  /** Reads from the log the batches that the feed no longer keeps, and waits until the feed has reached the last of them. */
  async #readOlder(
    shard: number,
    wallet: string,
    feed: WalletFeed,
    since: PrivateSince,
  ): Promise<ReadonlyMap<PrivateChannel, ReadBatches>> {
    const older: Partial<Record<PrivateChannel, number>> = {};
    for (const channel of PRIVATE_CHANNELS) {
      const seq = since[channel];
      if (seq !== undefined && seq < feed.seq(channel) && feed.since(channel, seq) === undefined)
        older[channel] = seq;
    }
    if (Object.keys(older).length === 0) return new Map();
    const read = await readMissed(this.#source, { shard, wallet, open: feed.orders }, older);
    // A channel whose feed does not reach its last batch within a second is answered with a snapshot.
    await Promise.allSettled([...read].map(([channel, { lastSeq }]) => waitForSeq(feed, channel, lastSeq)));
    return read;
  }

  #closeShard(shard: number): void {
    this.#forgetFills(shard);
    for (const [wallet, cached] of [...this.#feeds])
      if (cached.shard === shard) this.#loseFeed(wallet, cached);
  }

  /** Ends a feed and notifies its watchers. */
  #loseFeed(wallet: string, cached: CachedFeed): void {
    this.#evict(wallet, cached);
    for (const onLost of [...cached.onLost]) onLost();
  }

  #forgetFills(shard: number): void {
    this.#fills.get(shard)?.close();
    this.#fills.delete(shard);
  }

  #apply(entries: readonly Entry<LedgerDelta>[], shard: number): void {
    const fills = this.#fills.get(shard) ?? new RecentFills();
    this.#fills.set(shard, fills);
    for (const { batches } of entries) {
      for (const { ts, deltas } of batches) {
        for (const delta of deltas) {
          if (delta.type !== "order") continue;
          this.#terminal.note(delta);
          fills.note(delta);
        }
        const byWallet = walletDeltas(deltas, (wallet) => this.#feeds.has(wallet));
        for (const [wallet, own] of byWallet) this.#feeds.get(wallet)?.feed.push({ ts, deltas: own });
      }
    }
  }

  #openFeed(shard: number, wallet: string): CachedFeed {
    const { catalog, onError } = this.#source;
    const feed = new WalletFeed({
      snapshot: () => readWalletBase(walletQueries(this.#source.exchange, shard, wallet)),
      market: (marketId) => catalog.market(marketId),
      onError,
      onFailed: (error) => {
        onError(error);
        this.#loseFeed(wallet, cached);
      },
    });
    const cached: CachedFeed = { shard, feed, onLost: new Set(), users: 0, eviction: undefined };
    this.#feeds.set(wallet, cached);
    this.#ledgers.acquire(shard);
    return cached;
  }

  #scheduleEviction(wallet: string, cached: CachedFeed): void {
    cached.eviction = setTimeout(() => this.#evict(wallet, cached), this.#source.warmMs ?? WARM_MS);
    cached.eviction.unref();
  }

  #evict(wallet: string, cached: CachedFeed): void {
    cached.feed.close();
    if (this.#feeds.get(wallet) !== cached) return;
    this.#feeds.delete(wallet);
    this.#ledgers.release(cached.shard);
  }
}

/** Waits until the feed has reached `seq`, at most a second. Throws `Unavailable`. */
function waitForSeq(feed: WalletFeed, channel: PrivateChannel, seq: number): Promise<void> {
  if (feed.seq(channel) >= seq) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const end = (complete: () => void): void => {
      stop();
      clearTimeout(timer);
      complete();
    };
    const late = (): void =>
      reject(new Unavailable("the deltas of the wallet do not arrive in time; try again"));
    const timer = setTimeout(() => end(late), CATCH_UP_MS);
    const stop = feed.onFold(() => {
      if (feed.seq(channel) >= seq) end(resolve);
    });
  });
}

/** Returns the batches after `seq`: those that the feed keeps, after those that were read from the log if need be. */
function missedBatches(
  feed: WalletFeed,
  channel: PrivateChannel,
  seq: number | undefined,
  older: ReadBatches | undefined,
): MissedBatches | undefined {
  if (seq === undefined) return undefined;
  const kept = feed.since(channel, seq);
  if (kept !== undefined) return { past: [], kept };
  const newer = older === undefined ? undefined : feed.since(channel, older.lastSeq);
  return older === undefined || newer === undefined ? undefined : { past: older.frames, kept: newer };
}
