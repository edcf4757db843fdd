/** Random numbers that a seed decides: the same seed gives the same run. */

export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** One of the items. Throws when there are none. */
  pick<T>(items: readonly T[]): T;
}

/** A small generator (a Weyl sequence through two multiply-xorshift rounds); good enough to choose, not to guard. */
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
