/** Randomness that fast-check can repeat, and waiting that ends. */

import type { Random } from "./memory-tail.js";

export function randomOf(stream: Iterable<number>): Random {
  const numbers = stream[Symbol.iterator]();
  return (n) => {
    const next = numbers.next();
    return n < 1 || next.done === true ? 0 : next.value % n;
  };
}

/** Waits until a condition holds, at most a few seconds unless told. */
export async function until(condition: () => boolean, timeoutMs = 4_000): Promise<void> {
  for (const until = Date.now() + timeoutMs; !condition();) {
    if (Date.now() > until) throw new Error("it never came to that");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
