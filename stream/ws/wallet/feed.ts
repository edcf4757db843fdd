/** Live private channels of one wallet: ordered, kept for resumes, and passed to listeners. */

import type { Batch } from "../../../actors/actor.js";
import type { OpenOrder } from "../../../actors/ledger/types.js";
import { assert } from "../../../actors/units.js";
import type { Pieces } from "../../services/long-work.js";
import type { PrivateChannel } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { type PrivateBatch, type WalletBase, type WalletDelta, WalletFold } from "./fold.js";

/** Number of batches per channel that are kept for resumes. */
const KEPT_BATCHES = 2_000;
/** Number of batches that wait for the wallet or a market. With more, the feed fails, and its sockets begin again with a snapshot. */
const MAX_PENDING = 10_000;
const RETRY_MS = 250;
const EMPTY_WALLET = { orders: { seq: 0, open: [] }, positions: { seq: 0, positions: [] } };

/** Sources of one wallet. */
export interface WalletSource {
  /** Reads the wallet from its ledger. Throws `Unavailable`. */
  readonly snapshot: () => Promise<WalletBase>;
  readonly market: (marketId: string) => Promise<MarketIdentity | undefined>;
  readonly onError: (error: unknown) => void;
  /** Called once when a batch cannot be folded, or too many wait: the feed then stays closed. */
  readonly onFailed: (error: unknown) => void;
}

/** Number of markets that a feed keeps beside those in which the wallet has an order or a position. */
const SPARE_MARKETS = 200;

/**
 * The private channels of one wallet. It must receive every batch of the wallet from its creation on, in order. Batches
 * wait until the snapshot has arrived and the markets they name are loaded.
 */
export class WalletFeed {
  readonly #source: WalletSource;
  readonly #pending: Batch<WalletDelta>[] = [];
  readonly #markets = new Map<string, MarketIdentity>();
  #fold = new WalletFold(this.#markets, EMPTY_WALLET);
  /** Number of markets above which those without an order or a position are forgotten. */
  #maxMarkets = SPARE_MARKETS;
  readonly #kept: Record<PrivateChannel, PrivateBatch[]> = { orders: [], positions: [] };
  readonly #listeners = new Set<(batch: PrivateBatch) => void>();
  readonly #followers = new Set<() => void>();
  #draining = true;
  #closed = false;
  /**
   * Resolves to the seqs from which on snapshots are complete: those of the last page of the wallet. Rejects when the
   * wallet or its markets cannot be read.
   */
  readonly ready: Promise<Readonly<Record<PrivateChannel, number>>>;

  constructor(source: WalletSource) {
    this.#source = source;
    this.ready = this.#start();
  }

  /** Adds the deltas of this wallet from one batch of its ledger. */
  push(batch: Batch<WalletDelta>): void {
    if (this.#closed) return;
    this.#pending.push(batch);
    if (!this.#draining) this.#drainOrFail();
    else if (this.#pending.length > MAX_PENDING)
      this.#fail(new Error("too many batches wait for the wallet or a market"));
  }

  /** Calls `listener` with every batch from now on, until the returned function is called. */
  onBatch(listener: (batch: PrivateBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `follower` after every fold from now on, also of what nobody is sent, until the returned function is called. */
  onFold(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Returns the last seq of a channel. */
  seq(channel: PrivateChannel): number {
    return this.#fold.seq(channel);
  }

  /** False until the wallet is loaded, and while batches wait for their markets. */
  get isCurrent(): boolean {
    return !this.#draining;
  }

  /** Returns the number of orders or positions of the wallet. */
  size(channel: PrivateChannel): number {
    return this.#fold.size(channel);
  }

  /** Orders that are accepted and not terminal. */
  get orders(): readonly OpenOrder[] {
    return this.#fold.orders;
  }

  /** Returns `{ seq, open }` or `{ seq, positions }` as JSON. Accepted orders that do not rest yet are left out. */
  snapshot(channel: PrivateChannel): string {
    return this.#fold.snapshot(channel);
  }

  /** Serializes the rows of a snapshot in slices, so that `snapshot` has only to join them. */
  prepareSnapshot(channel: PrivateChannel, pieces: Pieces): Promise<void> {
    return this.#fold.prepareSnapshot(channel, pieces);
  }

  /** Returns the batches after `seq`, or `undefined` when some of them are no longer kept. */
  since(channel: PrivateChannel, seq: number): readonly PrivateBatch[] | undefined {
    const missed = this.seq(channel) - seq;
    const kept = this.#kept[channel];
    return missed < 0 || missed > kept.length ? undefined : kept.slice(kept.length - missed);
  }

  /** Stops folding and forgets the listeners. */
  close(): void {
    this.#closed = true;
    this.#listeners.clear();
    this.#followers.clear();
  }

  async #start(): Promise<Readonly<Record<PrivateChannel, number>>> {
    const wallet = await this.#source.snapshot();
    const { orders, positions, pageSeqs } = wallet;
    this.#fold = new WalletFold(this.#markets, wallet);
    await this.#loadMarkets([...orders.open, ...positions.positions].map(({ marketId }) => marketId));
    this.#drain();
    return pageSeqs?.at(-1) ?? { orders: orders.seq, positions: positions.seq };
  }

  #drainOrFail(): void {
    try {
      this.#drain();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.close();
    this.#pending.length = 0;
    this.#source.onFailed(error);
  }

  /** Folds the pending batches. A batch that names an unknown market waits until that market is loaded. */
  #drain(): void {
    this.#draining = true;
    for (let batch = this.#pending[0]; batch !== undefined && !this.#closed; batch = this.#pending[0]) {
      const unknown = batch.deltas.map(({ marketId }) => marketId).filter((id) => !this.#markets.has(id));
      if (unknown.length > 0) {
        void this.#loadMarketsAndDrain(unknown);
        return;
      }
      this.#pending.shift();
      this.#apply(batch);
    }
    this.#draining = false;
  }

  /** Loads markets, with retries, then drains. The batches wait in order, because each frame needs its market. */
  async #loadMarketsAndDrain(marketIds: readonly string[]): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#loadMarkets(marketIds);
        break;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#drainOrFail();
  }

  async #loadMarkets(marketIds: readonly string[]): Promise<void> {
    const unknown = [...new Set(marketIds)].filter((id) => !this.#markets.has(id));
    const found = await Promise.all(unknown.map((id) => this.#source.market(id)));
    found.forEach((market, index) => {
      assert(
        market !== undefined,
        `the catalog has no market ${unknown[index] ?? "?"}, in which a wallet trades`,
      );
      this.#markets.set(market.marketId, market);
    });
  }

  #apply(batch: Batch<WalletDelta>): void {
    for (const out of this.#fold.apply(batch)) {
      const kept = this.#kept[out.channel];
      kept.push(out);
      if (kept.length > KEPT_BATCHES) kept.shift();
      for (const listener of this.#listeners) listener(out);
    }
    for (const follower of this.#followers) follower();
    if (this.#markets.size > this.#maxMarkets) this.#forgetMarkets();
  }

  /** Forgets the markets in which the wallet has nothing left. A later batch that names one of them loads it again. */
  #forgetMarkets(): void {
    const live = this.#fold.marketIds;
    for (const marketId of this.#markets.keys()) if (!live.has(marketId)) this.#markets.delete(marketId);
    this.#maxMarkets = 2 * this.#markets.size + SPARE_MARKETS;
  }
}
