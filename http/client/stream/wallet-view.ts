/** Own orders and positions, folded from the private channels (contract section 6.9). */

import { unreachable } from "../../../actors/unreachable.js";
import type { FoldResult } from "./market-view.js";
import type { OpenOrder, PositionAnswer } from "../wire/orders.js";
import type { DeltaFrame, HeartbeatFrame, OrdersDelta, SnapshotFrame } from "../wire/stream.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../../../stream/ws/channels.js";

/** State of the private channels of one wallet. */
export class WalletView {
  /** Resting orders by id. */
  readonly orders = new Map<string, OpenOrder>();
  /** Positions by outcome id, with the suffix ` COIN` for positions in the COIN book. */
  readonly positions = new Map<string, PositionAnswer>();
  readonly #seqs = new Map<PrivateChannel, number>();

  /** Last seq of every watched channel. */
  get seqs(): Readonly<Partial<Record<PrivateChannel, number>>> {
    return Object.fromEntries(this.#seqs);
  }

  /** Forgets everything, because no channel is watched any more. */
  clear(): void {
    this.#seqs.clear();
    this.orders.clear();
    this.positions.clear();
  }

  /** Replaces the state of the channels that the snapshot has. */
  replace({ orders, positions }: Pick<SnapshotFrame, PrivateChannel>): void {
    if (orders !== undefined) {
      this.#seqs.set("orders", orders.seq);
      this.orders.clear();
      for (const order of orders.open) this.orders.set(order.orderId, order);
    }
    if (positions !== undefined) {
      this.#seqs.set("positions", positions.seq);
      this.positions.clear();
      for (const position of positions.positions) this.positions.set(keyOf(position), position);
    }
  }

  /** Folds the batch of one channel if it is the next one. */
  fold(channel: PrivateChannel, { orders, positions, [channel]: batch }: DeltaFrame): FoldResult {
    const last = this.#seqs.get(channel);
    if (batch === undefined || last === undefined || batch.seq <= last) return "known";
    if (batch.seq > last + 1) return "gap";
    this.#seqs.set(channel, batch.seq);
    if (channel === "orders") for (const delta of orders?.deltas ?? []) this.#foldOrder(delta);
    else for (const position of positions?.deltas ?? []) this.#foldPosition(position);
    return "folded";
  }

  /** Returns true when a heartbeat has a later seq of a watched channel. */
  differsFrom({ heartbeat }: HeartbeatFrame): boolean {
    return PRIVATE_CHANNELS.some(
      (channel) => (heartbeat[channel] ?? 0) > (this.#seqs.get(channel) ?? Infinity),
    );
  }

  #foldOrder(delta: OrdersDelta): void {
    const known = this.orders.get(delta.orderId);
    switch (delta.kind) {
      case "open":
        this.orders.set(delta.orderId, restingOf(delta));
        return;
      case "fill":
        if (delta.remaining === 0) this.orders.delete(delta.orderId);
        else if (known !== undefined) this.orders.set(delta.orderId, { ...known, qty: delta.remaining });
        return;
      case "cancel":
      case "reject":
        this.orders.delete(delta.orderId);
        return;
      default:
        unreachable(delta);
    }
  }

  #foldPosition(position: PositionAnswer): void {
    if (position.qty === 0) this.positions.delete(keyOf(position));
    else this.positions.set(keyOf(position), position);
  }
}

function keyOf({ outcomeId, currency }: PositionAnswer): string {
  return currency === undefined ? outcomeId : `${outcomeId} ${currency}`;
}

/** Returns the order of a delta that opens it. */
function restingOf({ kind: _kind, ...order }: Extract<OrdersDelta, { kind: "open" }>): OpenOrder {
  return order;
}
