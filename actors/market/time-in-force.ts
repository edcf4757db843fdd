/** Times in force of an order and their rules (contract section 2.6). Every folder derives its rules from this table. */

export interface TimeInForceRules {
  /** Use of `ttl`: every order has one, may have one, or must not have one. */
  readonly ttl: "required" | "optional" | "refused";
  /** True if the order may match on arrival. If not, it is rejected instead, pays no taker fee and is never held. */
  readonly mayTake: boolean;
  /** True if the order may rest in the book. If not, its remainder is canceled. */
  readonly mayRest: boolean;
  /** True if the order is rejected unless all of it fills on arrival. */
  readonly fillsWhole: boolean;
  /** Returns the time at which the order expires, Unix ms. Absent if it never expires. */
  readonly expiry?: (acceptedTs: number, ttlMs: number | undefined) => number | undefined;
}

const afterTtl = (acceptedTs: number, ttlMs: number | undefined): number | undefined =>
  ttlMs === undefined ? undefined : acceptedTs + ttlMs;

const TIME_IN_FORCE_RULES = {
  GTC: { ttl: "refused", mayTake: true, mayRest: true, fillsWhole: false },
  GTT: { ttl: "required", mayTake: true, mayRest: true, fillsWhole: false, expiry: afterTtl },
  IOC: { ttl: "refused", mayTake: true, mayRest: false, fillsWhole: false },
  FOK: { ttl: "refused", mayTake: true, mayRest: false, fillsWhole: true },
  PO: { ttl: "optional", mayTake: false, mayRest: true, fillsWhole: false, expiry: afterTtl },
} as const satisfies Readonly<Record<string, TimeInForceRules>>;

export type TimeInForce = keyof typeof TIME_IN_FORCE_RULES;

/** All times in force, in the order of the specification. */
export const TIMES_IN_FORCE = Object.keys(TIME_IN_FORCE_RULES) as readonly TimeInForce[];

/** Returns the rules of a time in force. */
export function rulesOf(tif: TimeInForce): TimeInForceRules {
  return TIME_IN_FORCE_RULES[tif];
}
