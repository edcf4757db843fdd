/** Folds the private channels of one wallet from the deltas of its ledger, and serializes them for the stream. */

import type { Batch } from "../../../actors/actor.js";
import {
  type AcceptedDelta,
  isPrivate,
  type LedgerDelta,
  type PrivateDelta,
  type WalletOrderDelta,
  type WalletPositionDelta,
} from "../../../actors/ledger/deltas.js";
import { walletPageOf } from "../../../actors/ledger/ledger.js";
import type { OpenOrder, WalletPosition } from "../../../actors/ledger/types.js";
import { assert } from "../../../actors/units.js";
import type { Pieces } from "../../services/long-work.js";
import type { PrivateChannel } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { openOrderOnWire, orderOnWire, positionOnWire } from "../wire.js";
import { unreachable } from "../../../actors/unreachable.js";

/** Number of rows that are serialized at once, which takes about 0.5 ms. */
const SLICE_ROWS = 500;

/** One batch of one private channel, with the frame that carries it. */
export interface PrivateBatch {
  readonly channel: PrivateChannel;
  readonly seq: number;
  readonly frame: string;
}

/** Deltas of a ledger that concern the private channels. */
export type WalletDelta = AcceptedDelta | PrivateDelta;

/** Start of a fold: the snapshot of a wallet from its ledger, or the seqs and orders that a watcher has. */
export interface WalletBase {
  readonly orders: { readonly seq: number; readonly open: readonly OpenOrder[] };
  readonly positions: { readonly seq: number; readonly positions: readonly WalletPosition[] };
  /** Seqs of the pages in which the wallet was read, of which the first are those above; absent for a single page. */
  readonly pageSeqs?: readonly Readonly<Record<PrivateChannel, number>>[] | undefined;
}

/**
 * The private channels of one wallet. Deltas up to the initial seqs, those of the last page, are not serialized: no page
 * may have an order that has ended between two pages. A market must be in `markets` before the first delta that names it.
 */
export class WalletFold {
  readonly #markets: ReadonlyMap<string, MarketIdentity>;
  readonly #orders = new Map<string, OpenOrder>();
  readonly #positions = new Map<string, WalletPosition>();
  readonly #seqs: Record<PrivateChannel, number>;
  readonly #pageSeqs: readonly Readonly<Record<PrivateChannel, number>>[];
  /** Seqs from which on every delta is of an order that is known. */
  readonly #complete: Readonly<Record<PrivateChannel, number>>;
  /** JSON of the orders and positions in a snapshot; a change replaces the object of its order or position. */
  readonly #texts = new WeakMap<OpenOrder | WalletPosition, string>();

  constructor(markets: ReadonlyMap<string, MarketIdentity>, { orders, positions, pageSeqs }: WalletBase) {
    this.#markets = markets;
    this.#pageSeqs = pageSeqs ?? [{ orders: orders.seq, positions: positions.seq }];
    for (const order of orders.open) this.#orders.set(order.orderId, order);
    for (const position of positions.positions) this.#positions.set(positionKey(position), position);
    this.#seqs = { orders: orders.seq, positions: positions.seq };
    this.#complete = this.#pageSeqs.at(-1) ?? this.#seqs;
  }

  /** Returns the last seq of a channel. */
  seq(channel: PrivateChannel): number {
    return this.#seqs[channel];
  }

  /** Returns the number of orders that are not terminal, or of positions. */
  size(channel: PrivateChannel): number {
    return channel === "orders" ? this.#orders.size : this.#positions.size;
  }

  /** Orders that are accepted and not terminal. */
  get orders(): readonly OpenOrder[] {
    return [...this.#orders.values()];
  }

  /** Markets in which the wallet has an order or a position. */
  get marketIds(): ReadonlySet<string> {
    const live = [...this.#orders.values(), ...this.#positions.values()];
    return new Set(live.map(({ marketId }) => marketId));
  }

  /** Returns `{ seq, open }` or `{ seq, positions }` as JSON. Accepted orders that do not rest yet are left out. */
  snapshot(channel: PrivateChannel): string {
    const seq = this.#seqs[channel];
    return channel === "orders"
      ? `{"seq":${seq},"open":[${this.#resting.map((order) => this.#orderText(order)).join(",")}]}`
      : `{"seq":${seq},"positions":[${this.#held.map((position) => this.#positionText(position)).join(",")}]}`;
  }

  /** Serializes the rows of a snapshot in slices, so that `snapshot` has only to join them and those that have changed. */
  async prepareSnapshot(channel: PrivateChannel, pieces: Pieces): Promise<void> {
    // The market of a row that has changed or left meanwhile may be forgotten.
    const texts: readonly (() => void)[] =
      channel === "orders"
        ? this.#resting.map((order) => () => {
            if (this.#orders.get(order.orderId) === order) this.#orderText(order);
          })
        : this.#held.map((position) => () => {
            if (this.#positions.get(positionKey(position)) === position) this.#positionText(position);
          });
    for (let from = 0; from < texts.length; from += SLICE_ROWS) {
      await pieces.piece(() => {
        for (const keepText of texts.slice(from, from + SLICE_ROWS)) keepText();
      });
    }
  }

  get #resting(): readonly OpenOrder[] {
    return this.orders.filter(({ status }) => status === "OPEN");
  }

  get #held(): readonly WalletPosition[] {
    return [...this.#positions.values()].filter(({ qty }) => qty > 0);
  }

  #orderText(order: OpenOrder): string {
    return this.#textOf(order, () => openOrderOnWire(this.#market(order.marketId), order));
  }

  #positionText(position: WalletPosition): string {
    return this.#textOf(position, () => positionOnWire(this.#market(position.marketId), position));
  }

  /** Returns the JSON of a row. Each row is serialized once, however many snapshots have it. */
  #textOf(row: OpenOrder | WalletPosition, onWire: () => object): string {
    const known = this.#texts.get(row);
    if (known !== undefined) return known;
    const text = JSON.stringify(onWire());
    this.#texts.set(row, text);
    return text;
  }

  /** Folds the wallet's part of a batch of its ledger. Returns the batches to send. */
  apply({ ts, deltas }: Batch<WalletDelta>): readonly PrivateBatch[] {
    const orders: { readonly fill: boolean; readonly seq: number; readonly body: object }[] = [];
    const positions: { readonly seq: number; readonly body: object }[] = [];
    for (const delta of deltas) {
      const market = this.#market(delta.marketId);
      switch (delta.type) {
        case "accepted":
          this.#accept(delta);
          break;
        case "order":
          if (this.#isServed("orders", delta.seq)) {
            const body = orderOnWire(market, delta, this.#orders.get(delta.orderId));
            orders.push({ fill: delta.kind === "fill", seq: delta.seq, body });
          }
          this.#foldOrder(delta);
          break;
        case "position":
          if (this.#isServed("positions", delta.seq)) {
            positions.push({ seq: delta.seq, body: positionOnWire(market, delta) });
          }
          if (this.#isFresh("positions", delta.marketId, delta.seq)) {
            this.#positions.set(positionKey(delta), delta);
            if (delta.qty === 0) this.#positions.delete(positionKey(delta));
          }
          break;
        default:
          unreachable(delta);
      }
    }
    // An order's fills come before its open, cancel or reject (contract section 6.9); the sort is stable.
    orders.sort((a, b) => Number(b.fill) - Number(a.fill));
    return [...this.#serialize("orders", ts, orders), ...this.#serialize("positions", ts, positions)];
  }

  #market(marketId: string): MarketIdentity {
    const market = this.#markets.get(marketId);
    assert(market !== undefined, `market ${marketId} is not loaded`);
    return market;
  }

  /** Returns whether a delta is serialized. One before the last page is only folded, and its channel has its seq. */
  #isServed(channel: PrivateChannel, seq: number): boolean {
    if (seq <= this.#complete[channel]) this.#seqs[channel] = Math.max(this.#seqs[channel], seq);
    return seq > this.#seqs[channel];
  }

  /** Returns whether a delta follows the page that its order or market was read in. */
  #isFresh(channel: PrivateChannel, id: string, seq: number): boolean {
    return seq > (this.#pageSeqs[walletPageOf(id, this.#pageSeqs.length)]?.[channel] ?? 0);
  }

  /** Adds an accepted order, unless the snapshot has it already in a later state. */
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

  /** Folds an order delta. A delta that the snapshot already contains can only remove a terminal order. */
  #foldOrder(delta: WalletOrderDelta): void {
    const order = this.#orders.get(delta.orderId);
    if (order === undefined) return;
    const fresh = this.#isFresh("orders", delta.orderId, delta.seq);
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
        return unreachable(delta);
    }
  }

  #serialize(
    channel: PrivateChannel,
    ts: number,
    deltas: readonly { readonly seq: number; readonly body: object }[],
  ): readonly PrivateBatch[] {
    const seq = deltas[0]?.seq;
    if (seq === undefined) return [];
    this.#seqs[channel] = seq;
    const payload = JSON.stringify({ seq, deltas: deltas.map(({ body }) => body) });
    return [{ channel, seq, frame: `{"ts":${ts},"delta":{},"${channel}":${payload}}` }];
  }
}

function positionKey({ marketId, currency, outcome }: WalletPosition | WalletPositionDelta): string {
  return `${marketId} ${currency} ${outcome}`;
}

/** Returns the deltas of a ledger batch that concern private channels, by wallet. Throws on a delta it does not know. */
export function walletDeltas(
  deltas: readonly LedgerDelta[],
  watched: (wallet: string) => boolean,
): Map<string, WalletDelta[]> {
  const byWallet = new Map<string, WalletDelta[]>();
  for (const delta of deltas) {
    if (delta.type !== "accepted" && !isPrivate(delta)) continue;
    if (!watched(delta.wallet)) continue;
    const own = byWallet.get(delta.wallet);
    if (own === undefined) byWallet.set(delta.wallet, [delta]);
    else own.push(delta);
  }
  return byWallet;
}
