/** The private side of this process: every ledger's deltas, followed once, for the wallets that someone watches. */

import { LEDGER_SHARDS, ledgerActor, ledgerShardOf } from "../../../actors/actor.js";
import type { LedgerDelta, WalletOrderDelta } from "../../../actors/ledger/deltas.js";
import type { WalletSnapshot } from "../../../actors/ledger/types.js";
import type { CancelReason, RejectReason } from "../../../actors/market/types.js";
import { assert } from "../../../actors/units.js";
import { type Entry, type Exchange, type Tail, Unavailable } from "../../log/ports.js";
import type { Catalog } from "../ports.js";
import { readMissed, type PrivateSince, type MissedBatches } from "./history.js";
import { WalletFeed } from "./feed.js";
import { PRIVATE_CHANNELS, type PrivateBatch, type PrivateChannel, walletDeltas } from "./fold.js";
import { unreachable } from "../../../actors/unreachable.js";

const WARM_MS = 60_000;
const RETRY_MS = 500;
const CATCH_UP_MS = 1_000;
/** Answers of orders are remembered for one to two of these, unless there are too many. */
const TERMINAL_MS = 5_000;
const TERMINAL_ORDERS = 50_000;

/** How an order ended. */
export interface TerminalOrder {
  readonly orderId: string;
  readonly status: "FILLED" | "CANCELED" | "REJECTED";
  readonly reason?: CancelReason | RejectReason | undefined;
}

export interface WalletsSource {
  readonly tail: Tail;
  readonly exchange: Pick<Exchange, "ledger">;
  readonly catalog: Pick<Catalog, "market">;
  readonly onError: (error: unknown) => void;
  /** How long the feed of a wallet that nobody watches is kept, ms. */
  readonly warmMs?: number;
}

interface CachedFeed {
  readonly shard: number;
  readonly feed: WalletFeed;
  readonly onLost: Set<() => void>;
  users: number;
  eviction: ReturnType<typeof setTimeout> | undefined;
}

/** A watched wallet. `stop` must be called once. */
export interface WatchedWallet {
  readonly feed: WalletFeed;
  /** Every batch after `seq` up to now, or `undefined` when they are not all there any more. */
  missed(channel: PrivateChannel, seq: number): readonly PrivateBatch[] | undefined;
  stop(): void;
}

export class Wallets {
  readonly #source: WalletsSource;
  readonly #feeds = new Map<string, CachedFeed>();
  readonly #stops = new Map<number, () => void>();
  /** Two generations of how orders ended, so that forgetting is dropping the older map. */
  #terminal = new Map<string, TerminalOrder>();
  #olderTerminal = new Map<string, TerminalOrder>();
  readonly #waiters = new Map<string, Set<(terminal: TerminalOrder) => void>>();
  #rotation: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(source: WalletsSource) {
    this.#source = source;
  }

  /** Follows every ledger from now on. Await it before anything else is asked of this. */
  async start(): Promise<void> {
    this.#rotation = setInterval(() => this.#rotateTerminal(), TERMINAL_MS);
    this.#rotation.unref();
    await Promise.all(Array.from({ length: LEDGER_SHARDS }, (_, shard) => this.#follow(shard)));
  }

  /**
   * Watches a wallet of a trader, and looks up what it said after the seqs of `since`. Throws `Unavailable` when its
   * ledger gives no snapshot in time. `onLost` is called when deltas were missed for good: the seqs of the feed then
   * have a gap, and watchers must begin again.
   */
  async watch(
    traderId: string,
    wallet: string,
    onLost: () => void,
    since: PrivateSince = {},
  ): Promise<WatchedWallet> {
    const shard = ledgerShardOf(traderId);
    const held = this.#feeds.get(wallet) ?? this.#openFeed(shard, wallet);
    held.users += 1;
    clearTimeout(held.eviction);
    held.onLost.add(onLost);
    const stop = (): void => {
      held.onLost.delete(onLost);
      held.users -= 1;
      if (held.users === 0) this.#scheduleEviction(wallet, held);
    };
    try {
      await held.feed.ready;
    } catch (error) {
      this.#evict(wallet, held);
      stop();
      throw error;
    }
    try {
      await this.#catchUp(shard, wallet, held.feed, since);
      const recalled = await this.#readForgotten(shard, wallet, held.feed, since);
      return {
        feed: held.feed,
        missed: (channel, seq) => missedBatches(held.feed, recalled, channel, seq),
        stop,
      };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /**
   * Waits until these orders of a wallet have ended, as told by its ledger's deltas, at most `timeoutMs`. Gives those
   * that did, also when it was up to five seconds ago.
   */
  waitForTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>> {
    const found = new Map<string, TerminalOrder>();
    const missing = new Set<string>();
    for (const orderId of orderIds) {
      const key = `${wallet} ${orderId}`;
      const terminal = this.#terminal.get(key) ?? this.#olderTerminal.get(key);
      if (terminal === undefined) missing.add(orderId);
      else found.set(orderId, terminal);
    }
    if (missing.size === 0) return Promise.resolve(found);
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        for (const orderId of orderIds) this.#removeWaiter(`${wallet} ${orderId}`, take);
        resolve(found);
      };
      const take = (terminal: TerminalOrder): void => {
        found.set(terminal.orderId, terminal);
        missing.delete(terminal.orderId);
        if (missing.size === 0) end();
      };
      const timer = setTimeout(end, timeoutMs);
      for (const orderId of missing) this.#addWaiter(`${wallet} ${orderId}`, take);
    });
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#rotation);
    for (const stop of this.#stops.values()) stop();
    for (const [wallet, held] of [...this.#feeds]) this.#evict(wallet, held);
  }

  /** Another gateway may have told the watcher more than has come to this one yet. */
  async #catchUp(shard: number, wallet: string, feed: WalletFeed, since: PrivateSince): Promise<void> {
    const isAhead = (channel: PrivateChannel): boolean => (since[channel] ?? 0) > feed.seq(channel);
    if (!PRIVATE_CHANNELS.some(isAhead)) return;
    const published = await this.#ask(shard, wallet);
    const waits = PRIVATE_CHANNELS.filter((channel) => (since[channel] ?? 0) <= published[channel].seq);
    for (const channel of waits) await waitForSeq(feed, channel, since[channel] ?? 0);
  }

  async #ask(shard: number, wallet: string): Promise<WalletSnapshot> {
    const reply = await this.#source.exchange.ledger(shard, { kind: "wallet", wallet });
    assert(reply.ok && reply.kind === "wallet", `ledger ${shard} does not show wallet ${wallet}`);
    return reply.wallet;
  }

  /** Only what the feed does not remember is looked for in the log. */
  async #readForgotten(
    shard: number,
    wallet: string,
    feed: WalletFeed,
    since: PrivateSince,
  ): Promise<MissedBatches> {
    const forgotten: Partial<Record<PrivateChannel, number>> = {};
    for (const channel of PRIVATE_CHANNELS) {
      const seq = since[channel];
      if (seq !== undefined && seq < feed.seq(channel) && feed.since(channel, seq) === undefined)
        forgotten[channel] = seq;
    }
    if (Object.keys(forgotten).length === 0) return new Map();
    return readMissed(this.#source, { shard, wallet, open: feed.orders }, forgotten);
  }

  async #follow(shard: number): Promise<void> {
    const { tail, onError } = this.#source;
    const head = await tail.head(ledgerActor(shard));
    if (this.#closed) return;
    // A feed that lacks a delta must not go on: its watchers start again from a snapshot.
    const startAgain = (error: unknown): void => {
      onError(error);
      this.#closeShard(shard);
      void this.#followAgain(shard);
    };
    const stop = tail.follow<LedgerDelta>(
      ledgerActor(shard),
      head,
      (entries) => {
        try {
          this.#apply(entries);
        } catch (error) {
          startAgain(error);
        }
      },
      () => startAgain(new Unavailable(`deltas of ledger ${shard} were missed`)),
    );
    this.#stops.set(shard, stop);
  }

  async #followAgain(shard: number): Promise<void> {
    this.#stops.get(shard)?.();
    while (!this.#closed) {
      try {
        await this.#follow(shard);
        return;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #closeShard(shard: number): void {
    for (const [wallet, held] of [...this.#feeds]) {
      if (held.shard !== shard) continue;
      this.#evict(wallet, held);
      for (const onLost of [...held.onLost]) onLost();
    }
  }

  #apply(entries: readonly Entry<LedgerDelta>[]): void {
    for (const { batches } of entries) {
      for (const { ts, deltas } of batches) {
        for (const delta of deltas) if (delta.type === "order") this.#noteTerminal(delta);
        const byWallet = walletDeltas(deltas, (wallet) => this.#feeds.has(wallet));
        for (const [wallet, own] of byWallet) this.#feeds.get(wallet)?.feed.push({ ts, deltas: own });
      }
    }
  }

  #noteTerminal(delta: WalletOrderDelta): void {
    const terminal = terminalOf(delta);
    if (terminal === undefined) return;
    const key = `${delta.wallet} ${delta.orderId}`;
    this.#terminal.set(key, terminal);
    if (this.#terminal.size >= TERMINAL_ORDERS) this.#rotateTerminal();
    for (const take of [...(this.#waiters.get(key) ?? [])]) take(terminal);
  }

  #rotateTerminal(): void {
    this.#olderTerminal = this.#terminal;
    this.#terminal = new Map();
  }

  #addWaiter(key: string, take: (terminal: TerminalOrder) => void): void {
    const takers = this.#waiters.get(key) ?? new Set();
    takers.add(take);
    this.#waiters.set(key, takers);
  }

  #removeWaiter(key: string, take: (terminal: TerminalOrder) => void): void {
    const takers = this.#waiters.get(key);
    takers?.delete(take);
    if (takers?.size === 0) this.#waiters.delete(key);
  }

  #openFeed(shard: number, wallet: string): CachedFeed {
    const { catalog, onError } = this.#source;
    const feed = new WalletFeed({
      snapshot: () => this.#ask(shard, wallet),
      market: (marketId) => catalog.market(marketId),
      onError,
    });
    const held: CachedFeed = { shard, feed, onLost: new Set(), users: 0, eviction: undefined };
    this.#feeds.set(wallet, held);
    return held;
  }

  #scheduleEviction(wallet: string, held: CachedFeed): void {
    held.eviction = setTimeout(() => this.#evict(wallet, held), this.#source.warmMs ?? WARM_MS);
    held.eviction.unref();
  }

  #evict(wallet: string, held: CachedFeed): void {
    held.feed.close();
    if (this.#feeds.get(wallet) === held) this.#feeds.delete(wallet);
  }
}

/** Waits until the feed has told of `seq`, at most a second. */
function waitForSeq(feed: WalletFeed, channel: PrivateChannel, seq: number): Promise<void> {
  if (feed.seq(channel) >= seq) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, CATCH_UP_MS);
    const stop = feed.onBatch((batch) => {
      if (batch.channel === channel && batch.seq >= seq) end();
    });
  });
}

/** What was recalled, and on from there what the feed remembers: the log may be further than the feed, or behind. */
function missedBatches(
  feed: WalletFeed,
  recalled: MissedBatches,
  channel: PrivateChannel,
  seq: number,
): readonly PrivateBatch[] | undefined {
  const remembered = feed.since(channel, seq);
  if (remembered !== undefined) return remembered;
  const now = feed.seq(channel);
  const older = (recalled.get(channel) ?? []).filter((batch) => batch.seq > seq && batch.seq <= now);
  const newer = feed.since(channel, older.at(-1)?.seq ?? seq);
  const all = [...older, ...(newer ?? [])];
  return all.length === now - seq ? all : undefined;
}

function terminalOf(delta: WalletOrderDelta): TerminalOrder | undefined {
  const { orderId } = delta;
  switch (delta.kind) {
    case "fill":
      return delta.remaining === 0 ? { orderId, status: "FILLED" } : undefined;
    case "cancel":
      return { orderId, status: "CANCELED", reason: delta.reason };
    case "reject":
      return { orderId, status: "REJECTED", reason: delta.reason };
    case "open":
    case "reduce":
      return undefined;
    default:
      return unreachable(delta);
  }
}
