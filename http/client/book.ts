/** A market's book as a client folds it: bids per outcome, order by order (contract section 6). */

import { crc32 } from "node:zlib";
import type { BookAnswer, BookDelta, BookOrder } from "./wire.js";

interface RestingOrder {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: number;
}

export class OrderBook {
  /** The seq of the last batch that is in here. */
  seq = 0;
  /** In queue order, which is the order of a map. */
  readonly #orders = new Map<string, RestingOrder>();
  /** In market order, once a snapshot has told it. */
  #outcomes: readonly string[] | undefined;
  readonly #levels = new Map<string, Map<string, number>>();

  /** Starts anew from a snapshot. */
  replace(snapshot: BookAnswer): void {
    this.#orders.clear();
    this.#levels.clear();
    this.seq = snapshot.seq;
    this.#outcomes = Object.keys(snapshot.orders);
    for (const [outcomeId, orders] of Object.entries(snapshot.orders)) {
      for (const order of orders) this.#add(outcomeId, order);
    }
  }

  /** Applies one batch. The caller has checked that `seq` is the next one. */
  apply(seq: number, deltas: readonly BookDelta[]): void {
    this.seq = seq;
    for (const delta of deltas) {
      switch (delta.kind) {
        case "add":
          this.#add(delta.outcomeId, delta);
          break;
        case "update":
          this.#change(delta.orderId, delta.remaining);
          break;
        case "remove":
          this.#change(delta.orderId, 0);
          break;
      }
    }
  }

  /** Contracts per price of an outcome's bids, in no order. */
  levels(outcomeId: string): ReadonlyMap<string, number> {
    return this.#levels.get(outcomeId) ?? new Map<string, number>();
  }

  /** The highest bid of an outcome with all that rests there. */
  best(outcomeId: string): { readonly price: string; readonly qty: number } | undefined {
    let best: { price: string; qty: number } | undefined;
    for (const [price, qty] of this.levels(outcomeId)) {
      if (best === undefined || price > best.price) best = { price, qty };
    }
    return best;
  }

  /** The bids of an outcome, best first, then queue order. */
  ladder(outcomeId: string): readonly BookOrder[] {
    const bids: BookOrder[] = [];
    for (const [orderId, order] of this.#orders) {
      if (order.outcomeId === outcomeId) bids.push({ orderId, price: order.price, qty: order.qty });
    }
    // All prices have three decimals, and the sort keeps the queue.
    return bids.sort((a, b) => (a.price < b.price ? 1 : a.price > b.price ? -1 : 0));
  }

  /**
   * What the checksum of a heartbeat should be: CRC-32 of `orderId:price:qty` joined by `|`, outcomes in market order.
   * `undefined` for a book that began without a snapshot, whose order of outcomes is not known.
   */
  checksum(): number | undefined {
    const orders = this.#outcomes?.flatMap((outcomeId) => this.ladder(outcomeId));
    return orders && crc32(orders.map(({ orderId, price, qty }) => `${orderId}:${price}:${qty}`).join("|"));
  }

  get size(): number {
    return this.#orders.size;
  }

  #add(outcomeId: string, { orderId, price, qty }: BookOrder): void {
    this.#orders.set(orderId, { outcomeId, price, qty });
    this.#shift(outcomeId, price, qty);
  }

  #change(orderId: string, remaining: number): void {
    const order = this.#orders.get(orderId);
    if (order === undefined) return;
    if (remaining === 0) this.#orders.delete(orderId);
    else this.#orders.set(orderId, { ...order, qty: remaining });
    this.#shift(order.outcomeId, order.price, remaining - order.qty);
  }

  #shift(outcomeId: string, price: string, by: number): void {
    let levels = this.#levels.get(outcomeId);
    if (levels === undefined) {
      levels = new Map<string, number>();
      this.#levels.set(outcomeId, levels);
    }
    const qty = (levels.get(price) ?? 0) + by;
    if (qty === 0) levels.delete(price);
    else levels.set(price, qty);
  }
}
