/** Resting bids of one outcome: price levels with the best last, and in each level the orders in time order. */

import { contracts, type Contracts, NONE, type Ticks } from "../../units.js";
import type { Order } from "../types.js";

/** An order in the book. `arrival` numbers the resting orders of the market by their arrival. */
export interface RestingOrder {
  readonly order: Order;
  remaining: Contracts;
  arrival: number;
  level: PriceLevel | undefined;
  ahead: RestingOrder | undefined;
  behind: RestingOrder | undefined;
  /** The orders of the same trader that came to rest before and after. */
  ownBefore: RestingOrder | undefined;
  ownAfter: RestingOrder | undefined;
}

export interface PriceLevel {
  readonly price: Ticks;
  qty: Contracts;
  first: RestingOrder | undefined;
  last: RestingOrder | undefined;
}

export class Ladder {
  /** Levels by rising price, so the best bid is the last. */
  readonly levels: PriceLevel[] = [];

  get best(): PriceLevel | undefined {
    return this.levels[this.levels.length - 1];
  }

  /** Adds an order at the end of its price level. */
  append(resting: RestingOrder): void {
    const level = this.#levelAt(resting.order.price);
    resting.level = level;
    resting.ahead = level.last;
    resting.behind = undefined;
    if (level.last === undefined) level.first = resting;
    else level.last.behind = resting;
    level.last = resting;
    level.qty = contracts(level.qty + resting.remaining);
  }

  /** Sets the remaining quantity of an order, which keeps its place. */
  shrink(resting: RestingOrder, remaining: Contracts): void {
    const { level } = resting;
    if (level === undefined) return;
    level.qty = contracts(level.qty - resting.remaining + remaining);
    resting.remaining = remaining;
  }

  remove(resting: RestingOrder): void {
    const { level, ahead, behind } = resting;
    if (level === undefined) return;
    if (ahead === undefined) level.first = behind;
    else ahead.behind = behind;
    if (behind === undefined) level.last = ahead;
    else behind.ahead = ahead;
    level.qty = contracts(level.qty - resting.remaining);
    if (level.first === undefined) this.levels.splice(this.#indexOf(level.price), 1);
    resting.level = undefined;
    resting.ahead = undefined;
    resting.behind = undefined;
  }

  /** Yields the orders: best price first, then time order. */
  *orders(): Generator<RestingOrder> {
    for (let i = this.levels.length - 1; i >= 0; i -= 1) {
      for (let resting = this.levels[i]?.first; resting !== undefined; resting = resting.behind)
        yield resting;
    }
  }

  #levelAt(price: Ticks): PriceLevel {
    const index = this.#indexOf(price);
    const found = this.levels[index];
    if (found?.price === price) return found;
    const level: PriceLevel = { price, qty: NONE, first: undefined, last: undefined };
    if (index === this.levels.length) this.levels.push(level);
    else this.levels.splice(index, 0, level);
    return level;
  }

  /** Returns the index of the level of a price, or the index at which to insert it. */
  #indexOf(price: Ticks): number {
    const { levels } = this;
    let low = 0;
    let high = levels.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const level = levels[middle];
      if (level !== undefined && level.price < price) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
