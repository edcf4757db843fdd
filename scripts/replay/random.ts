/** Pseudo-random numbers from a seed: the same seed gives the same numbers. */

export interface Random {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number;
  /** Returns one of the items. Throws when there are none. */
  pick<T>(items: readonly T[]): T;
}

/** Returns a small generator (a Weyl sequence through two multiply-xorshift rounds), which is not cryptographic. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("there is nothing to pick from");
      return item;
    },
  };
}
