/**
 * Clients that each route of surface B admits, and their rates (specification, Surface B rates; contract section 7.4).
 */

import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { ClientRules } from "../request/access.js";

/** Returns a rate of `count` requests per second, which may come all at once. */
function perSecond(name: string, count: number): readonly TokenBucket[] {
  return [{ name, capacity: count, refill: count, periodMs: 1_000 }];
}

/** Returns the rate of a route that has none of its own. */
export function ordinary(name: string): readonly TokenBucket[] {
  return perSecond(name, 64);
}

export const MARKETS_BY_EVENT = perSecond("markets-by-event", 512);
export const OPEN_MARKETS = perSecond("open-markets", 128);
export const BOOK = perSecond("book", 128);
export const POSITIONS = perSecond("positions", 128);
/** Rates that fills, orders and transactions share: bursts of 16 per second, and 256 per minute over time. */
export const HISTORY: readonly TokenBucket[] = [
  { name: "history-burst", capacity: 16, refill: 16, periodMs: 1_000 },
  { name: "history", capacity: 256, refill: 256, periodMs: 60_000 },
];
export const CANCEL = perSecond("cancel", 512);
export const KILL_SWITCH: readonly TokenBucket[] = [
  { name: "kill-switch", capacity: 1, refill: 1, periodMs: 30_000 },
];

type ClientAccess = { readonly kind: "client" } & ClientRules;

/** Admits every client at the rates, also while its trader is excluded. */
export function reading(rates: readonly TokenBucket[]): ClientAccess {
  return { kind: "client", rates, perItem: undefined, kyc: false, whileExcluded: true };
}

/** Admits every client at the rates, which each item of a list in the body takes a token from. */
export function readingEach(rates: readonly TokenBucket[], perItem: string): ClientAccess {
  return { ...reading(rates), perItem };
}

/** Admits clients whose trader has a verified identity. */
export const PLACING: ClientAccess = { ...requesting(ordinary("place")), kyc: true };

/** Admits clients at the rates, unless their trader is excluded. */
export function requesting(rates: readonly TokenBucket[]): ClientAccess {
  return { ...reading(rates), whileExcluded: false };
}

/** Admits clients that cancel at the rates, also while their trader is excluded. */
export function canceling(rates: readonly TokenBucket[]): ClientAccess {
  return reading(rates);
}
