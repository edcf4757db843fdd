/** The times in force of an order and their rules (contract sections 2 and 5). Every room derives from this table. */

export interface TimeInForceRules {
  /** Whether the order carries a `ttl`: always, if its owner wants one, or never. */
  readonly ttl: "required" | "optional" | "refused";
  /** May match on arrival. An order that may not is rejected when it would, pays no taker fee and is never held. */
  readonly mayTake: boolean;
  /** May rest in the book. The remainder of an order that may not is canceled. */
  readonly mayRest: boolean;
  /** Is rejected unless all of it fills on arrival. */
  readonly fillsWhole: boolean;
  /** Returns the time at which the order expires, Unix ms, from its acceptance and its `ttl`; absent for never. */
  readonly expiry?: (acceptedTs: number, ttlMs: number | undefined) => number | undefined;
}

const afterTtl = (acceptedTs: number, ttlMs: number | undefined): number | undefined =>
  ttlMs === undefined ? undefined : acceptedTs + ttlMs;

export const TIME_IN_FORCE_RULES = {
  GTC: { ttl: "refused", mayTake: true, mayRest: true, fillsWhole: false },
  GTT: { ttl: "required", mayTake: true, mayRest: true, fillsWhole: false, expiry: afterTtl },
  IOC: { ttl: "refused", mayTake: true, mayRest: false, fillsWhole: false },
  FOK: { ttl: "refused", mayTake: true, mayRest: false, fillsWhole: true },
  PO: { ttl: "optional", mayTake: false, mayRest: true, fillsWhole: false, expiry: afterTtl },
} as const satisfies Readonly<Record<string, TimeInForceRules>>;

export type TimeInForce = keyof typeof TIME_IN_FORCE_RULES;

/** Every time in force, in the order of the specification. */
export const TIMES_IN_FORCE = Object.keys(TIME_IN_FORCE_RULES) as readonly TimeInForce[];

/** Returns the rules of a time in force. */
export function rulesOf(tif: TimeInForce): TimeInForceRules {
  return TIME_IN_FORCE_RULES[tif];
}
