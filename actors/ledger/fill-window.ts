/** The fills of an order group within its window, with their sum. */

import { type Contracts, contracts, NONE } from "../units.js";

export interface GroupFill {
  readonly ts: number;
  readonly qty: Contracts;
}

/** Number of expired fills that may stay in memory before the list is cut. */
const MAX_EXPIRED = 64;

export class FillWindow {
  #fills: GroupFill[];
  /** Index of the oldest fill that counts. */
  #first = 0;
  #sum: Contracts = NONE;

  constructor(fills: readonly GroupFill[] = []) {
    this.#fills = [...fills];
    for (const { qty } of fills) this.#sum = contracts(this.#sum + qty);
  }

  /** Quantity of the fills within the window of the last fill. */
  get sum(): Contracts {
    return this.#sum;
  }

  /** Returns the fills that count, oldest first. */
  list(): readonly GroupFill[] {
    return this.#fills.slice(this.#first);
  }

  /** Adds a fill, and drops the fills that are `windowMs` older or more. */
  add(fill: GroupFill, windowMs: number): void {
    this.#fills.push(fill);
    this.#sum = contracts(this.#sum + fill.qty);
    for (
      let oldest = this.#fills[this.#first];
      oldest !== undefined && oldest.ts <= fill.ts - windowMs;
      oldest = this.#fills[this.#first]
    ) {
      this.#first += 1;
      this.#sum = contracts(this.#sum - oldest.qty);
    }
    if (this.#first <= Math.max(MAX_EXPIRED, this.#fills.length / 2)) return;
    this.#fills = this.#fills.slice(this.#first);
    this.#first = 0;
  }
}
