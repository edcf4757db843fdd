/** Derived ids of fills, trades, matches and entries. The same history gives the same ids, and no id is used twice. */

import { assert } from "./units.js";

const KINDS = { match: "1", fill: "2", trade: "3", entry: "4" } as const;

const UUID_LENGTH = 36;

export type DerivedKind = keyof typeof KINDS;

/** The UUIDs (version 8) of one actor, derived from the UUID of the actor, the kind of the object and its number. */
export class DerivedIds {
  /** The id with number 0, by kind. */
  readonly #first: Readonly<Record<DerivedKind, string>>;

  constructor(actorUuid: string) {
    const first = (kind: DerivedKind): string =>
      `${actorUuid.slice(0, 13)}-8${actorUuid.slice(15, 18)}-8${KINDS[kind]}${actorUuid.slice(20, 22)}-000000000000`;
    this.#first = {
      match: first("match"),
      fill: first("fill"),
      trade: first("trade"),
      entry: first("entry"),
    };
  }

  of(kind: DerivedKind, n: number): string {
    assert(Number.isSafeInteger(n) && n >= 0 && n < 2 ** 48, "the number does not fit into an id", n);
    const digits = n.toString(16);
    return this.#first[kind].slice(0, UUID_LENGTH - digits.length) + digits;
  }
}

/** Returns the UUID from which a ledger shard derives its ids. */
export function ledgerUuid(shard: number): string {
  const group = shard.toString(16).padStart(4, "0");
  return `6c656467-6572-8${group.slice(1)}-8000-000000000000`;
}
