/** Ids that an actor gives to what it makes: the same history gives the same ids, and no two things share one. */

import { assert } from "./units.js";

const KINDS = { match: "1", fill: "2", trade: "3", entry: "4" } as const;

const UUID_LENGTH = 36;

export type DerivedKind = keyof typeof KINDS;

/** The UUIDs (version 8) that one maker gives, from its own UUID, the kind of thing and its number within the maker. */
export class DerivedIds {
  /** The id of number 0 of each kind. */
  readonly #first: Readonly<Record<DerivedKind, string>>;

  constructor(maker: string) {
    const first = (kind: DerivedKind): string =>
      `${maker.slice(0, 13)}-8${maker.slice(15, 18)}-8${KINDS[kind]}${maker.slice(20, 22)}-000000000000`;
    this.#first = {
      match: first("match"),
      fill: first("fill"),
      trade: first("trade"),
      entry: first("entry"),
    };
  }

  of(kind: DerivedKind, n: number): string {
    assert(Number.isSafeInteger(n) && n >= 0 && n < 2 ** 48, "a number does not fit an id", n);
    const digits = n.toString(16);
    return this.#first[kind].slice(0, UUID_LENGTH - digits.length) + digits;
  }
}

/** The UUID a ledger shard derives its ids from. */
export function ledgerUuid(shard: number): string {
  const group = shard.toString(16).padStart(4, "0");
  return `6c656467-6572-8${group.slice(1)}-8000-000000000000`;
}
