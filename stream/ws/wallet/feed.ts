/** One wallet's private channels as they happen: put in order, remembered a while for resumes, told to listeners. */

import type { Batch } from "../../../actors/actor.js";
import type { OpenOrder, WalletSnapshot } from "../../../actors/ledger/types.js";
import { assert } from "../../../actors/units.js";
import type { MarketIdentity } from "../ports.js";
import { type PrivateBatch, type PrivateChannel, type WalletDelta, WalletFold } from "./fold.js";

/** How many batches per channel are kept for a resume. */
const KEPT_BATCHES = 2_000;
const RETRY_MS = 250;
const EMPTY_WALLET = { orders: { seq: 0, open: [] }, positions: { seq: 0, positions: [] } };

export interface WalletSource {
  /** Asks the wallet's ledger. Throws `Unavailable`. */
  readonly snapshot: () => Promise<WalletSnapshot>;
  readonly market: (marketId: string) => Promise<MarketIdentity | undefined>;
  readonly onError: (error: unknown) => void;
}

/**
 * Fed with the wallet's deltas from the moment it is made, in order; what comes before the snapshot is there, or
 * before the markets it names are known, waits.
 */
export class WalletFeed {
  readonly #source: WalletSource;
  readonly #pending: Batch<WalletDelta>[] = [];
  readonly #markets = new Map<string, MarketIdentity>();
  #fold = new WalletFold(this.#markets, EMPTY_WALLET);
  readonly #kept: Record<PrivateChannel, PrivateBatch[]> = { orders: [], positions: [] };
  readonly #listeners = new Set<(batch: PrivateBatch) => void>();
  #draining = true;
  #closed = false;
  /** Settles when snapshots can be given. */
  readonly ready: Promise<void>;

  constructor(source: WalletSource) {
    this.#source = source;
    this.ready = this.#start();
  }

  /** Takes the wallet's part of a batch of its ledger. */
  push(batch: Batch<WalletDelta>): void {
    this.#pending.push(batch);
    if (!this.#draining) this.#drain();
  }

  onBatch(listener: (batch: PrivateBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  seq(channel: PrivateChannel): number {
    return this.#fold.seq(channel);
  }

  /** Orders that are accepted and not over. */
  get orders(): readonly OpenOrder[] {
    return this.#fold.orders;
  }

  /** `{ seq, open }` or `{ seq, positions }`. Orders that have not come to rest yet are not shown. */
  snapshot(channel: PrivateChannel): object {
    return this.#fold.snapshot(channel);
  }

  /** The batches after `seq`, or `undefined` when they are no longer all here. */
  since(channel: PrivateChannel, seq: number): readonly PrivateBatch[] | undefined {
    const missed = this.seq(channel) - seq;
    const kept = this.#kept[channel];
    return missed < 0 || missed > kept.length ? undefined : kept.slice(kept.length - missed);
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
  }

  async #start(): Promise<void> {
    const wallet = await this.#source.snapshot();
    const { orders, positions } = wallet;
    this.#fold = new WalletFold(this.#markets, wallet);
    await this.#loadMarkets([...orders.open, ...positions.positions].map(({ marketId }) => marketId));
    this.#drain();
  }

  /** Works off what waits; when a batch names a market that is not known yet, goes on once it is. */
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

  /** Private frames wait for the catalog as long as it takes: out of order or without names they are worth nothing. */
  async #loadMarketsAndDrain(marketIds: readonly string[]): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#loadMarkets(marketIds);
        this.#drain();
        return;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #loadMarkets(marketIds: readonly string[]): Promise<void> {
    const unknown = [...new Set(marketIds)].filter((id) => !this.#markets.has(id));
    const found = await Promise.all(unknown.map((id) => this.#source.market(id)));
    found.forEach((market, index) => {
      assert(
        market !== undefined,
        `a wallet trades in market ${unknown[index] ?? "?"}, which the catalog lacks`,
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
  }
}
