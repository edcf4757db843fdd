/** Randomness that fast-check can repeat. */

import type { Random } from "./memory-tail.js";

/** Returns whole numbers from a stream of fast-check; 0 when the stream has ended. */
export function randomOf(stream: Iterable<number>): Random {
  const numbers = stream[Symbol.iterator]();
  return (n) => {
    const next = numbers.next();
    return n < 1 || next.done === true ? 0 : next.value % n;
  };
}
