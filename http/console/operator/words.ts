/** Words that several of the operators' pages use. */

import { showQuantity } from "../data/money.js";

/** Returns a number with its noun: `1 order`, `1,200 orders`. */
export function plural(count: number, noun: string): string {
  return `${showQuantity(count)} ${noun}${count === 1 ? "" : "s"}`;
}
