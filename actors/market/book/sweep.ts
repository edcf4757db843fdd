/**
 * The sweep: finds the matches of an incoming bid without changing the book (contract sections 2.2 to 2.7). Placement,
 * FOK, post-only and preview all use the same sweep.
 *
 * A bid at `p` on one outcome matches while `p` plus the best bids of all other outcomes is at least 1. With two outcomes
 * the bid matches the best bid of the other outcome; with more, one resting order of every other outcome.
 */

import { assert, contracts, type Contracts, CONTRACT_TICKS, NONE, ticks, type Ticks } from "../../units.js";
import type { Order } from "../types.js";
import type { Ladder, RestingOrder } from "./ladder.js";

/** A resting order in a match, and the price it pays: its own, or a lower one if the match improves it. */
interface Leg {
  readonly resting: RestingOrder;
  readonly price: Ticks;
}

export type Step =
  | { readonly kind: "match"; readonly qty: Contracts; readonly price: Ticks; readonly legs: readonly Leg[] }
  /** Both orders are of one trader: both lose the quantity, and no money moves. */
  | { readonly kind: "wash"; readonly qty: Contracts; readonly own: RestingOrder }
  /** The resting order is of the same trader and is canceled. */
  | { readonly kind: "cancelOwn"; readonly own: RestingOrder };

export interface Sweep {
  readonly steps: readonly Step[];
  /** Quantity of the order that no step takes. */
  readonly left: Contracts;
  /** True if the order met an order of its own trader and is to be canceled for that. */
  readonly metOwn: boolean;
  /** True if the sweep ended at its bound, and the order would meet more resting orders. */
  readonly more: boolean;
}

/** Position of a sweep in one ladder: an order, and the part of its quantity that no earlier step takes. */
class Cursor {
  #ladder: Ladder;
  #level: number;
  resting: RestingOrder | undefined;
  left: number;

  constructor(ladder: Ladder) {
    this.#ladder = ladder;
    this.#level = ladder.levels.length - 1;
    this.resting = ladder.levels[this.#level]?.first;
    this.left = this.resting?.remaining ?? 0;
  }

  take(qty: number): void {
    this.left -= qty;
    if (this.left > 0) return;
    this.resting = this.resting?.behind;
    if (this.resting === undefined) {
      this.#level -= 1;
      this.resting = this.#ladder.levels[this.#level]?.first;
    }
    this.left = this.resting?.remaining ?? 0;
  }
}

const NOTHING: readonly Step[] = [];

/** Returns true if the order would match at all. A cheap check for the common order that only rests. */
function crosses(ladders: readonly Ladder[], order: Order): boolean {
  let sum: number = order.price;
  for (let outcome = 0; outcome < ladders.length; outcome += 1) {
    if (outcome === order.outcome) continue;
    const best = ladders[outcome]?.best;
    if (best === undefined) return false;
    sum += best.price;
  }
  return sum >= CONTRACT_TICKS;
}

/**
 * Returns the steps of an order that has `unfilled` left, until it is filled, no longer matches or has met `maxOrders`
 * resting orders. `grid` is the tick table.
 */
export function sweep(
  ladders: readonly Ladder[],
  order: Order,
  unfilled: Contracts,
  grid: readonly Ticks[],
  maxOrders: number,
): Sweep {
  if (!crosses(ladders, order)) return { steps: NOTHING, left: unfilled, metOwn: false, more: false };

  const cursors: Cursor[] = [];
  ladders.forEach((ladder, outcome) => {
    if (outcome !== order.outcome) cursors.push(new Cursor(ladder));
  });

  const steps: Step[] = [];
  let met = 0;
  let left: number = unfilled;
  while (left > 0) {
    let sum = 0;
    let qty = left;
    let own: Cursor | undefined;
    const legs: RestingOrder[] = [];
    for (const cursor of cursors) {
      const { resting } = cursor;
      if (resting === undefined) break;
      legs.push(resting);
      sum += resting.order.price;
      if (cursor.left < qty) qty = cursor.left;
      if (own === undefined && resting.order.trader === order.trader) own = cursor;
    }
    if (legs.length < cursors.length || order.price + sum < CONTRACT_TICKS) break;

    if (met >= maxOrders) return { steps, left: contracts(left), metOwn: false, more: true };

    if (own?.resting !== undefined) {
      met += 1;
      if (order.selfTrade === "cancel_taker")
        return { steps, left: contracts(left), metOwn: true, more: false };
      if (order.selfTrade === "cancel_maker") {
        steps.push({ kind: "cancelOwn", own: own.resting });
        own.take(own.left);
        continue;
      }
      const washed = contracts(Math.min(left, own.left));
      steps.push({ kind: "wash", qty: washed, own: own.resting });
      own.take(washed);
      left -= washed;
      continue;
    }

    met += legs.length;
    steps.push(match(legs, sum, contracts(qty), grid, order.price));
    for (const cursor of cursors) cursor.take(qty);
    left -= qty;
  }
  return { steps, left: left === 0 ? NONE : contracts(left), metOwn: false, more: false };
}

function match(
  legs: readonly RestingOrder[],
  sum: number,
  qty: Contracts,
  grid: readonly Ticks[],
  limit: Ticks,
): Step {
  // The tick table may have changed since the order was accepted. The order still pays at most its limit.
  const lowest = ticks(Math.min(grid[0] ?? limit, limit));
  const price = CONTRACT_TICKS - sum;
  if (price >= lowest) {
    return {
      kind: "match",
      qty,
      price: ticks(price),
      legs: legs.map((resting) => ({ resting, price: resting.order.price })),
    };
  }
  return { kind: "match", qty, price: lowest, legs: improved(legs, lowest + sum - CONTRACT_TICKS, grid) };
}

/**
 * Lowers the prices of the makers by `excess` in total, so that all prices of the match sum to 1. Each step lowers the
 * highest price by one tick; of equal prices, that of the youngest order. The last step may lower it by less than a
 * tick.
 */
function improved(legs: readonly RestingOrder[], excess: number, grid: readonly Ticks[]): Leg[] {
  const prices = legs.map((resting) => resting.order.price as number);
  let left = excess;
  while (left > 0) {
    let dearest = 0;
    for (let i = 1; i < legs.length; i += 1) {
      const difference = (prices[i] ?? 0) - (prices[dearest] ?? 0);
      if (difference > 0 || (difference === 0 && (legs[i]?.arrival ?? 0) > (legs[dearest]?.arrival ?? 0)))
        dearest = i;
    }
    const price = prices[dearest] ?? 0;
    const step = Math.min(left, price - tickBelow(grid, price));
    assert(step > 0, "each maker of the match pays the lowest tick, and the sum is still too high");
    prices[dearest] = price - step;
    left -= step;
  }
  return legs.map((resting, i) => ({ resting, price: ticks(prices[i] ?? 0) }));
}

function tickBelow(grid: readonly Ticks[], price: number): number {
  return grid[rank(grid, price) - 1] ?? grid[0] ?? 1;
}

/** Returns the tick nearest to a price; of two equally near ticks, the lower. */
export function nearestTick(grid: readonly Ticks[], price: Ticks): Ticks {
  const at = rank(grid, price);
  const above = grid[at];
  const below = grid[at - 1];
  if (above === undefined || above === price) return above ?? below ?? price;
  return below !== undefined && price - below <= above - price ? below : above;
}

/** Returns the number of ticks of the grid below a price. */
function rank(grid: readonly Ticks[], price: number): number {
  let low = 0;
  let high = grid.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((grid[middle] ?? price) < price) low = middle + 1;
    else high = middle;
  }
  return low;
}
