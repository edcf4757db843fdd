/** The caller's own orders and positions as a client folds them (contract section 6). */

import type { Taken } from "./market-view.js";
import {
  OpenOrder,
  type DeltaFrame,
  type HeartbeatFrame,
  type OrdersDelta,
  type PositionAnswer,
  type SnapshotFrame,
} from "./wire.js";
import { PRIVATE_CHANNELS, type PrivateChannel } from "../../stream/ws/channels.js";

export class WalletView {
  /** Resting orders by id. */
  readonly orders = new Map<string, OpenOrder>();
  /** What is held, by outcome id, followed by ` COIN` for a position in the COIN book. */
  readonly positions = new Map<string, PositionAnswer>();
  readonly #seqs = new Map<PrivateChannel, number>();

  /** The last seq of each channel that is watched. */
  get seqs(): Readonly<Partial<Record<PrivateChannel, number>>> {
    return Object.fromEntries(this.#seqs);
  }

  /** Begins anew, with the channels that the snapshot has. */
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

  /** Folds the batch of one channel, if it is the next. */
  take(channel: PrivateChannel, { orders, positions, [channel]: batch }: DeltaFrame): Taken {
    const last = this.#seqs.get(channel);
    if (batch === undefined || last === undefined || batch.seq <= last) return "known";
    if (batch.seq > last + 1) return "gap";
    this.#seqs.set(channel, batch.seq);
    if (channel === "orders") for (const delta of orders?.deltas ?? []) this.#takeOrder(delta);
    else for (const position of positions?.deltas ?? []) this.#takePosition(position);
    return "folded";
  }

  /** Whether a heartbeat knows of batches that are missing here. */
  differsFrom({ heartbeat }: HeartbeatFrame): boolean {
    return PRIVATE_CHANNELS.some(
      (channel) => (heartbeat[channel] ?? 0) > (this.#seqs.get(channel) ?? Infinity),
    );
  }

  #takeOrder(delta: OrdersDelta): void {
    const known = this.orders.get(delta.orderId);
    switch (delta.kind) {
      case "open":
        this.orders.set(delta.orderId, OpenOrder.parse(delta));
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
        delta satisfies never;
    }
  }

  #takePosition(position: PositionAnswer): void {
    if (position.qty === 0) this.positions.delete(keyOf(position));
    else this.positions.set(keyOf(position), position);
  }
}

function keyOf({ outcomeId, currency }: PositionAnswer): string {
  return currency === undefined ? outcomeId : `${outcomeId} ${currency}`;
}
