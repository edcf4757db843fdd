/**
 * The judgment of a `FOK` order that meets many resting orders: the same sweep as in `sweep.ts`, from the totals of the
 * price levels. Only a level in which the trader has orders of its own is read order by order, because there the place of
 * an own order decides.
 */

import { CONTRACT_TICKS, type Ticks } from "../../units.js";
import type { Order } from "../types.js";
import type { Ladder, PriceLevel, RestingOrder } from "./ladder.js";
import type { RestingOrders } from "./resting.js";

/** Position in one ladder: a run of resting contracts at one price, all or none of which are of the trader. */
class RunCursor {
  readonly #ladder: Ladder;
  readonly #ownLevels: ReadonlySet<PriceLevel>;
  readonly #trader: string;
  #level: number;
  /** Next order of a level that is read order by order. */
  #next: RestingOrder | undefined;
  /** Price of the run; undefined at the end of the ladder. */
  price: Ticks | undefined;
  left = 0;
  isOwn = false;

  constructor(ladder: Ladder, ownLevels: ReadonlySet<PriceLevel>, trader: string) {
    this.#ladder = ladder;
    this.#ownLevels = ownLevels;
    this.#trader = trader;
    this.#level = ladder.levels.length;
    this.#advance();
  }

  take(qty: number): void {
    this.left -= qty;
    if (this.left === 0) this.#advance();
  }

  #advance(): void {
    if (this.#next === undefined) {
      this.#level -= 1;
      const level = this.#ladder.levels[this.#level];
      this.price = level?.price;
      if (level === undefined) return;
      if (!this.#ownLevels.has(level)) {
        this.left = level.qty;
        this.isOwn = false;
        return;
      }
      this.#next = level.first;
    }
    this.isOwn = this.#next?.order.trader === this.#trader;
    for (; this.#next !== undefined; this.#next = this.#next.behind) {
      if ((this.#next.order.trader === this.#trader) !== this.isOwn) return;
      this.left += this.#next.remaining;
    }
  }
}

/** Returns true if the sweep of the order would fill all of it. */
export function isFillable(resting: RestingOrders, order: Order): boolean {
  const { trader, outcome, currency, selfTrade } = order;
  const ownLevels = new Set<PriceLevel>();
  for (const { level } of resting.ofTrader(trader)) if (level !== undefined) ownLevels.add(level);
  const cursors = resting.ladders[currency].flatMap((ladder, other) =>
    other === outcome ? [] : [new RunCursor(ladder, ownLevels, trader)],
  );

  let left: number = order.qty;
  while (left > 0) {
    let sum: number = order.price;
    let qty = left;
    let own: RunCursor | undefined;
    for (const cursor of cursors) {
      if (cursor.price === undefined) return false;
      sum += cursor.price;
      qty = Math.min(qty, cursor.left);
      if (cursor.isOwn) own ??= cursor;
    }
    if (sum < CONTRACT_TICKS) return false;
    if (own === undefined) {
      for (const cursor of cursors) cursor.take(qty);
      left -= qty;
      continue;
    }
    if (selfTrade === "cancel_taker") return false;
    if (selfTrade === "wash") left -= Math.min(left, own.left);
    own.take(own.left);
  }
  return true;
}
