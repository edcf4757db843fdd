/** Ids that an actor gives to what it makes: the same history gives the same ids, and no two things share one. */

import { assert } from "./units.js";

const KINDS = { match: "1", fill: "2", trade: "3", entry: "4" } as const;

export type DerivedKind = keyof typeof KINDS;

/** A UUID (version 8) from the maker's own UUID, the kind of thing and its number within the maker. */
export function deriveId(maker: string, kind: DerivedKind, n: number): string {
  assert(Number.isSafeInteger(n) && n >= 0 && n < 2 ** 48, "a number does not fit an id", n);
  const counter = n.toString(16).padStart(12, "0");
  return `${maker.slice(0, 13)}-8${maker.slice(15, 18)}-8${KINDS[kind]}${maker.slice(20, 22)}-${counter}`;
}

/** The UUID a ledger shard derives its ids from. */
export function ledgerUuid(shard: number): string {
  const group = shard.toString(16).padStart(4, "0");
  return `6c656467-6572-8${group.slice(1)}-8000-000000000000`;
}
