/** A tally of ids in constant memory: two tallies of the same ids, each added equally often, are equal. */

import { fnv1a } from "../../../actors/actor.js";

const MODULUS = 2 ** 52;

export class Tally {
  count = 0;
  #sum = 0;

  add(id: string): void {
    this.count += 1;
    this.#sum = (this.#sum + fnv1a(id) * 1_048_573) % MODULUS;
  }

  equals(other: Tally): boolean {
    return this.count === other.count && this.#sum === other.#sum;
  }
}
