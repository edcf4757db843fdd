/** Ids that an actor gives to what it makes: the same history gives the same ids, and no two things share one. */

import { assert } from "./units.js";

const KINDS = { match: "1", fill: "2", trade: "3", entry: "4" } as const;

export type DerivedKind = keyof typeof KINDS;

const DIGITS = 12;

/** The UUIDs (version 8) that one maker gives, from its own UUID, the kind of thing and its number within the maker. */
export class DerivedIds {
  /** By kind, and by how many digits the number has. */
  readonly #prefixes: Readonly<Record<DerivedKind, readonly string[]>>;

  constructor(maker: string) {
    const prefixes = (kind: DerivedKind): readonly string[] =>
      Array.from(
        { length: DIGITS + 1 },
        (_, digits) =>
          `${maker.slice(0, 13)}-8${maker.slice(15, 18)}-8${KINDS[kind]}${maker.slice(20, 22)}-${"0".repeat(DIGITS - digits)}`,
      );
    this.#prefixes = {
      match: prefixes("match"),
      fill: prefixes("fill"),
      trade: prefixes("trade"),
      entry: prefixes("entry"),
    };
  }

  of(kind: DerivedKind, n: number): string {
    const digits = n.toString(16);
    const prefix = this.#prefixes[kind][digits.length];
    assert(Number.isSafeInteger(n) && n >= 0 && prefix !== undefined, "a number does not fit an id", n);
    return prefix + digits;
  }
}

/** The UUID a ledger shard derives its ids from. */
export function ledgerUuid(shard: number): string {
  const group = shard.toString(16).padStart(4, "0");
  return `6c656467-6572-8${group.slice(1)}-8000-000000000000`;
}
