/** The orders that rest in a market, and all that matching does to them. */

import { assert, type Contracts } from "../../units.js";
import { Ladder, type RestingOrder } from "./ladder.js";
import type { Currency, Order } from "../types.js";

export class RestingOrders {
  /** The books: one ladder an outcome in each currency. */
  readonly ladders: Readonly<Record<Currency, readonly Ladder[]>>;
  /** In the order they came to rest. */
  readonly #byId = new Map<string, RestingOrder>();

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

  /** In the order they came to rest. */
  values(): IterableIterator<RestingOrder> {
    return this.#byId.values();
  }

  /** Puts an order at the end of its price level. */
  add(order: Order, remaining: Contracts, arrival: number): void {
    const resting = { order, remaining, arrival, level: undefined, ahead: undefined, behind: undefined };
    this.#byId.set(order.orderId, resting);
    this.#ladderOf(order).append(resting);
  }

  /** Sets what is left of an order: with something left it keeps its place, with nothing it goes. */
  reduce(resting: RestingOrder, remaining: Contracts): void {
    if (remaining === 0) this.remove(resting);
    else this.#ladderOf(resting.order).shrink(resting, remaining);
  }

  remove(resting: RestingOrder): void {
    this.#ladderOf(resting.order).remove(resting);
    this.#byId.delete(resting.order.orderId);
  }

  #ladderOf({ currency, outcome }: Order): Ladder {
    const ladder = this.ladders[currency][outcome];
    assert(ladder !== undefined, "the outcome has no ladder", outcome);
    return ladder;
  }
}
