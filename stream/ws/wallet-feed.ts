/** One wallet's private channels: folded for snapshots, worded for the stream, remembered a while for resumes. */

import type { Batch } from "../../actors/actor.js";
import type {
  AcceptedDelta,
  LedgerDelta,
  WalletOrderDelta,
  WalletPositionDelta,
} from "../../actors/ledger/deltas.js";
import type { OpenOrder, WalletPosition, WalletSnapshot } from "../../actors/ledger/types.js";
import { assert } from "../../actors/units.js";
import type { MarketIdentity } from "./ports.js";
import { openOrderOnWire, orderOnWire, positionOnWire } from "./wire.js";

export type PrivateChannel = "orders" | "positions";
export const PRIVATE_CHANNELS: readonly PrivateChannel[] = ["orders", "positions"];

/** How many batches per channel are kept for a resume. */
const KEPT_BATCHES = 2_000;
const RETRY_MS = 250;

/** One batch of one private channel, as the frame it goes out in. */
export interface PrivateBatch {
  readonly channel: PrivateChannel;
  readonly seq: number;
  readonly frame: string;
}

type WalletDelta = AcceptedDelta | WalletOrderDelta | WalletPositionDelta;

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
  readonly #waiting: Batch<WalletDelta>[] = [];
  readonly #markets = new Map<string, MarketIdentity>();
  readonly #orders = new Map<string, OpenOrder>();
  readonly #positions = new Map<string, WalletPosition>();
  readonly #seqs: Record<PrivateChannel, number> = { orders: 0, positions: 0 };
  readonly #kept: Record<PrivateChannel, PrivateBatch[]> = { orders: [], positions: [] };
  readonly #listeners = new Set<(batch: PrivateBatch) => void>();
  #draining = true;
  #closed = false;
  /** Settles when snapshots can be given. */
  readonly ready: Promise<void>;

  constructor(source: WalletSource) {
    this.#source = source;
    this.ready = this.#begin();
  }

  /** Takes the wallet's part of a batch of its ledger. */
  push(batch: Batch<WalletDelta>): void {
    this.#waiting.push(batch);
    if (!this.#draining) this.#drain();
  }

  onBatch(listener: (batch: PrivateBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  seq(channel: PrivateChannel): number {
    return this.#seqs[channel];
  }

  /** `{ seq, open }` or `{ seq, positions }`. Orders that have not come to rest yet are not shown. */
  snapshot(channel: PrivateChannel): object {
    const seq = this.#seqs[channel];
    if (channel === "orders") {
      const resting = [...this.#orders.values()].filter(({ status }) => status === "OPEN");
      return { seq, open: resting.map((order) => openOrderOnWire(this.#market(order.marketId), order)) };
    }
    const held = [...this.#positions.values()].filter(({ qty }) => qty > 0);
    return {
      seq,
      positions: held.map((position) => positionOnWire(this.#market(position.marketId), position)),
    };
  }

  /** The batches after `seq`, or `undefined` when they are no longer all here. */
  since(channel: PrivateChannel, seq: number): readonly PrivateBatch[] | undefined {
    const missed = this.#seqs[channel] - seq;
    const kept = this.#kept[channel];
    return missed < 0 || missed > kept.length ? undefined : kept.slice(kept.length - missed);
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
  }

  async #begin(): Promise<void> {
    const wallet = await this.#source.snapshot();
    const { orders, positions } = wallet;
    for (const order of orders.open) this.#orders.set(order.orderId, order);
    for (const position of positions.positions) this.#positions.set(positionKey(position), position);
    this.#seqs.orders = orders.seq;
    this.#seqs.positions = positions.seq;
    await this.#learn([...orders.open, ...positions.positions].map(({ marketId }) => marketId));
    this.#drain();
  }

  /** Works off what waits; when a batch names a market that is not known yet, goes on once it is. */
  #drain(): void {
    this.#draining = true;
    for (let batch = this.#waiting[0]; batch !== undefined && !this.#closed; batch = this.#waiting[0]) {
      const unknown = batch.deltas.map(({ marketId }) => marketId).filter((id) => !this.#markets.has(id));
      if (unknown.length > 0) {
        void this.#learnInTime(unknown);
        return;
      }
      this.#waiting.shift();
      this.#apply(batch);
    }
    this.#draining = false;
  }

  /** Private frames wait for the catalog as long as it takes: out of order or without names they are worth nothing. */
  async #learnInTime(marketIds: readonly string[]): Promise<void> {
    while (!this.#closed) {
      try {
        await this.#learn(marketIds);
        this.#drain();
        return;
      } catch (error) {
        this.#source.onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #learn(marketIds: readonly string[]): Promise<void> {
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

  #market(marketId: string): MarketIdentity {
    const market = this.#markets.get(marketId);
    assert(market !== undefined, `market ${marketId} is not known yet`);
    return market;
  }

  #apply({ ts, deltas }: Batch<WalletDelta>): void {
    const orders: { readonly fill: boolean; readonly seq: number; readonly body: object }[] = [];
    const positions: { readonly seq: number; readonly body: object }[] = [];
    for (const delta of deltas) {
      const market = this.#market(delta.marketId);
      switch (delta.type) {
        case "accepted":
          this.#accept(delta);
          break;
        case "order":
          if (delta.seq > this.#seqs.orders) {
            const body = orderOnWire(market, delta, this.#orders.get(delta.orderId));
            orders.push({ fill: delta.kind === "fill", seq: delta.seq, body });
          }
          this.#moveOrder(delta);
          break;
        case "position":
          if (delta.seq > this.#seqs.positions) {
            positions.push({ seq: delta.seq, body: positionOnWire(market, delta) });
            this.#positions.set(positionKey(delta), delta);
            if (delta.qty === 0) this.#positions.delete(positionKey(delta));
          }
          break;
        default:
          delta satisfies never;
      }
    }
    // An order's fills come before its open, cancel or reject (contract section 6); the sort is stable.
    orders.sort((a, b) => Number(b.fill) - Number(a.fill));
    this.#emit("orders", ts, orders);
    this.#emit("positions", ts, positions);
  }

  /** An accepted order may be in the snapshot already, further on. */
  #accept({ order, clientId, marketId }: AcceptedDelta): void {
    if (this.#orders.has(order.orderId)) return;
    const { orderId, outcome, currency, price, qty, tif, expiresAt } = order;
    const status = "PENDING";
    this.#orders.set(orderId, {
      orderId,
      clientId,
      marketId,
      outcome,
      currency,
      price,
      qty,
      tif,
      status,
      expiresAt,
    });
  }

  /** Deltas the snapshot has in it already only clear away what is over. */
  #moveOrder(delta: WalletOrderDelta): void {
    const order = this.#orders.get(delta.orderId);
    if (order === undefined) return;
    const fresh = delta.seq > this.#seqs.orders;
    switch (delta.kind) {
      case "open":
        if (fresh) this.#orders.set(delta.orderId, { ...order, qty: delta.qty, status: "OPEN" });
        return;
      case "fill":
        if (delta.remaining === 0) this.#orders.delete(delta.orderId);
        else if (fresh) this.#orders.set(delta.orderId, { ...order, qty: delta.remaining });
        return;
      case "reduce":
        if (fresh) this.#orders.set(delta.orderId, { ...order, qty: delta.remaining });
        return;
      case "cancel":
      case "reject":
        this.#orders.delete(delta.orderId);
        return;
      default:
        return delta satisfies never;
    }
  }

  #emit(
    channel: PrivateChannel,
    ts: number,
    deltas: readonly { readonly seq: number; readonly body: object }[],
  ): void {
    const seq = deltas[0]?.seq;
    if (seq === undefined) return;
    this.#seqs[channel] = seq;
    const payload = JSON.stringify({ seq, deltas: deltas.map(({ body }) => body) });
    const batch: PrivateBatch = { channel, seq, frame: `{"ts":${ts},"delta":{},"${channel}":${payload}}` };
    const kept = this.#kept[channel];
    kept.push(batch);
    if (kept.length > KEPT_BATCHES) kept.shift();
    for (const listener of this.#listeners) listener(batch);
  }
}

function positionKey({ marketId, currency, outcome }: WalletPosition | WalletPositionDelta): string {
  return `${marketId} ${currency} ${outcome}`;
}

/** By channel, the batches that a watcher missed; a channel that cannot be resumed, or was not to be, is absent. */
export function missedPrivately(
  feed: WalletFeed | undefined,
  channels: readonly PrivateChannel[],
  since: Partial<Readonly<Record<PrivateChannel, number | undefined>>> | undefined,
): ReadonlyMap<PrivateChannel, readonly PrivateBatch[]> {
  const replayed = new Map<PrivateChannel, readonly PrivateBatch[]>();
  for (const channel of channels) {
    const seq = since?.[channel];
    const missed = seq === undefined ? undefined : feed?.since(channel, seq);
    if (missed !== undefined) replayed.set(channel, missed);
  }
  return replayed;
}

/** The part of a ledger's batch that concerns private channels, by wallet. */
export function walletDeltas(
  deltas: readonly LedgerDelta[],
  watched: (wallet: string) => boolean,
): Map<string, WalletDelta[]> {
  const byWallet = new Map<string, WalletDelta[]>();
  for (const delta of deltas) {
    if (delta.type !== "accepted" && delta.type !== "order" && delta.type !== "position") continue;
    if (!watched(delta.wallet)) continue;
    const own = byWallet.get(delta.wallet);
    if (own === undefined) byWallet.set(delta.wallet, [delta]);
    else own.push(delta);
  }
  return byWallet;
}
