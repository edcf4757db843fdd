/** The resting orders of a market, by id, by ladder and by trader. */

import { assert, type Contracts } from "../../units.js";
import type { Currency, Order } from "../types.js";
import { Ladder, type RestingOrder } from "./ladder.js";

export class RestingOrders {
  /** Books: one ladder for each outcome and currency. */
  readonly ladders: Readonly<Record<Currency, readonly Ladder[]>>;
  /** Orders by id, in the order of their arrival. */
  readonly #byId = new Map<string, RestingOrder>();
  /** Last order of each trader, which links to the ones before. */
  readonly #lastOf = new Map<string, RestingOrder>();

  constructor(outcomes: number) {
    const ladders = (): Ladder[] => Array.from({ length: outcomes }, () => new Ladder());
    this.ladders = { CASH: ladders(), COIN: ladders() };
  }

  get size(): number {
    return this.#byId.size;
  }

  get(orderId: string): RestingOrder | undefined {
    return this.#byId.get(orderId);
  }

  /** Yields the orders in the order of their arrival. */
  values(): IterableIterator<RestingOrder> {
    return this.#byId.values();
  }

  /** Yields the orders of a trader in any wallet, the last first. */
  *ofTrader(trader: string): Generator<RestingOrder> {
    for (let own = this.#lastOf.get(trader); own !== undefined; own = own.ownBefore) yield own;
  }

  /** Adds an order at the end of its price level. */
  add(order: Order, remaining: Contracts, arrival: number): void {
    const ownBefore = this.#lastOf.get(order.trader);
    const resting: RestingOrder = {
      order,
      remaining,
      arrival,
      level: undefined,
      ahead: undefined,
      behind: undefined,
      ownBefore,
      ownAfter: undefined,
    };
    if (ownBefore !== undefined) ownBefore.ownAfter = resting;
    this.#lastOf.set(order.trader, resting);
    this.#byId.set(order.orderId, resting);
    this.#ladderOf(order).append(resting);
  }

  /** Sets the remaining quantity of an order, which keeps its place; removes the order at 0. */
  reduce(resting: RestingOrder, remaining: Contracts): void {
    if (remaining === 0) this.remove(resting);
    else this.#ladderOf(resting.order).shrink(resting, remaining);
  }

  remove(resting: RestingOrder): void {
    const { order, ownBefore, ownAfter } = resting;
    this.#ladderOf(order).remove(resting);
    this.#byId.delete(order.orderId);
    if (ownBefore !== undefined) ownBefore.ownAfter = ownAfter;
    if (ownAfter !== undefined) ownAfter.ownBefore = ownBefore;
    else if (ownBefore !== undefined) this.#lastOf.set(order.trader, ownBefore);
    else this.#lastOf.delete(order.trader);
  }

  #ladderOf({ currency, outcome }: Order): Ladder {
    const ladder = this.ladders[currency][outcome];
    assert(ladder !== undefined, "the outcome has no ladder", outcome);
    return ladder;
  }
}
