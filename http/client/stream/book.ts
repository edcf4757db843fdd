/** Order book of one market, folded order by order from the stream (contract section 6.8). */

import { unreachable } from "../../../actors/unreachable.js";
import { crc32 } from "./crc32.js";
import type { BookOrder } from "../wire/catalog.js";
import type { BookDelta, MarketSnapshot } from "../wire/stream.js";

interface RestingOrder {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: number;
}

/** Resting bids of one market by outcome. Prices are decimal strings with three decimals, quantities are contracts. */
export class OrderBook {
  /** Seq of the last folded batch. */
  seq = 0;
  /** Orders by id; the map keeps their queue order. */
  readonly #orders = new Map<string, RestingOrder>();
  /** Outcomes in market order; unknown until the first snapshot. */
  #outcomes: readonly string[] | undefined;
  readonly #levels = new Map<string, Map<string, number>>();

  /** Outcomes in market order; `undefined` until the first snapshot. */
  get outcomes(): readonly string[] | undefined {
    return this.#outcomes;
  }

  /** Replaces the book with a snapshot. */
  replace(snapshot: NonNullable<MarketSnapshot["book"]>): void {
    this.#orders.clear();
    this.#levels.clear();
    this.seq = snapshot.seq;
    this.#outcomes = Object.keys(snapshot.orders);
    for (const [outcomeId, orders] of Object.entries(snapshot.orders)) {
      for (const order of orders) this.#add(outcomeId, order);
    }
  }

  /** Folds one batch. The caller must have checked that `seq` is the next one. */
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
        default:
          unreachable(delta);
      }
    }
  }

  /** Returns the resting contracts of an outcome by price, in no particular order. */
  levels(outcomeId: string): ReadonlyMap<string, number> {
    return this.#levels.get(outcomeId) ?? new Map<string, number>();
  }

  /** Returns the highest bid of an outcome with all contracts at that price; `undefined` when it has no bid. */
  best(outcomeId: string): { readonly price: string; readonly qty: number } | undefined {
    let best: { price: string; qty: number } | undefined;
    for (const [price, qty] of this.levels(outcomeId)) {
      if (best === undefined || price > best.price) best = { price, qty };
    }
    return best;
  }

  /** Returns the bids of an outcome: best price first, then queue order. */
  ladder(outcomeId: string): readonly BookOrder[] {
    const bids: BookOrder[] = [];
    for (const [orderId, order] of this.#orders) {
      if (order.outcomeId === outcomeId) bids.push({ orderId, price: order.price, qty: order.qty });
    }
    // All prices have three decimals, so text order is price order. The sort is stable and keeps the queue order.
    return bids.sort((a, b) => (a.price < b.price ? 1 : a.price > b.price ? -1 : 0));
  }

  /**
   * Returns the checksum that a heartbeat must carry (contract section 6.11): CRC-32 of `orderId:price:qty` joined by
   * `|`. Returns `undefined` for a book without a snapshot, because the order of its outcomes is unknown.
   */
  checksum(): number | undefined {
    const orders = this.#outcomes?.flatMap((outcomeId) => this.ladder(outcomeId));
    return orders && crc32(orders.map(({ orderId, price, qty }) => `${orderId}:${price}:${qty}`).join("|"));
  }

  /** Number of resting orders. */
  get size(): number {
    return this.#orders.size;
  }

  #add(outcomeId: string, { orderId, price, qty }: BookOrder): void {
    this.#orders.set(orderId, { outcomeId, price, qty });
    this.#addQty(outcomeId, price, qty);
  }

  #change(orderId: string, remaining: number): void {
    const order = this.#orders.get(orderId);
    if (order === undefined) return;
    if (remaining === 0) this.#orders.delete(orderId);
    else this.#orders.set(orderId, { ...order, qty: remaining });
    this.#addQty(order.outcomeId, order.price, remaining - order.qty);
  }

  #addQty(outcomeId: string, price: string, by: number): void {
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
