/**
 * What the bridge is handed from outside: who is calling, and the few questions and actions it cannot answer from
 * the delta streams. No HTTP numbers and no SQL on this side; codes are those of contract sections 5 and 6.
 */

import type { MarketDefinition } from "../../actors/market/types.js";

/** An authenticated key that may stream. The upgrade has already been paid for (32 of the `stream` bucket). */
export interface Caller {
  readonly keyId: string;
  readonly traderId: string;
  /** The subaccount's wallet, whose orders and positions the key may see. */
  readonly wallet: string;
  readonly scope: "trading" | "trading::read";
  /** Where the connection comes from, for the location check of a placement. */
  readonly address: string;
  /** When the key expires, Unix ms. */
  readonly expiresAt?: number | undefined;
  /** The web session that the socket was opened from; it ends with it. `expiresAt` is Unix ms. */
  readonly session?: { readonly sessionId: string; readonly expiresAt: number } | undefined;
}

/** A business "no": a code of the contract and a text for people. */
export interface Refused {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
}

export interface OrderAccepted {
  readonly orderId: string;
  readonly clientId?: string | undefined;
}

/** One refused order of a batch; `index` is its zero-based place in the request. */
export interface OrderRejected {
  readonly index: number;
  readonly outcomeId: string;
  readonly reason: string;
}

export type PlaceAnswer =
  | { readonly ok: true; readonly accepted: readonly OrderAccepted[] }
  | (Refused & {
      /** What was accepted of a batch that was refused in part. */
      readonly accepted?: readonly OrderAccepted[] | undefined;
      readonly rejected?: readonly OrderRejected[] | undefined;
    });

export interface NotCanceled {
  readonly orderId: string;
  readonly reason: "FILLED" | "CANCELED" | "NOT_FOUND";
}

export type CancelAnswer =
  | { readonly ok: true; readonly canceled: readonly string[]; readonly notCanceled: readonly NotCanceled[] }
  | Refused;

export type CancelAllAnswer = { readonly ok: true; readonly canceled: number } | Refused;

/** Which orders to cancel; absent fields do not narrow. */
export interface CancelAllFilter {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
}

/**
 * Placing and canceling for a caller, with the same checks and answers as the REST batch routes (contract section 5),
 * throttling excepted: the bridge has charged. Throws `Unavailable` when the exchange gives no answer.
 */
export interface Trading {
  /** `orders` are judged as the body of a batch placement: each by itself, or with `atomic` all as one. */
  place(caller: Caller, orders: readonly unknown[], atomic: boolean): Promise<PlaceAnswer>;
  cancel(caller: Caller, orderIds: readonly string[]): Promise<CancelAnswer>;
  cancelAll(caller: Caller, filter: CancelAllFilter, reason?: "DISCONNECTED"): Promise<CancelAllAnswer>;
}

/** Cancels all of a wallet's orders should this process die with it armed. Both throw `Unavailable`. */
export interface Disconnects {
  arm(wallet: string, traderId: string): Promise<void>;
  /** Takes back one `arm`. */
  disarm(wallet: string): Promise<void>;
}

/** What never changes about a market: enough to name its outcomes. */
export type MarketIdentity = Pick<MarketDefinition, "marketId" | "eventId" | "outcomes">;

/** Reference data from the gateway's cache. Throws `Unavailable` when it can be had from nowhere. */
export interface Catalog {
  market(marketId: string): Promise<MarketIdentity | undefined>;
  /** The markets of an event; `undefined`: no such event. */
  marketsOf(eventId: string): Promise<readonly string[] | undefined>;
  /** Tells of every market that appeared or changed, until the returned stop is called. */
  onMarket(listener: (marketId: string) => void): () => void;
}

export type Bucket = "stream" | "place" | "cancel" | "read";

export interface Charge {
  readonly granted: boolean;
  readonly remaining: number;
  /** When there will be enough, in seconds; 0 when granted. */
  readonly retryAfterS: number;
}

/** The token buckets of a key (contract section 5). A cost of 0 only reads. */
export interface Throttle {
  charge(keyId: string, bucket: Bucket, cost: number): Promise<Charge>;
}

export type QueryAnswer =
  | {
      readonly ok: true;
      readonly page: { readonly items: readonly unknown[]; readonly next?: string | undefined };
    }
  | Refused;

/** One page of the catalog, by the filters of the REST list routes. */
export interface Queries {
  markets(caller: Caller, filters: Readonly<Record<string, unknown>>): Promise<QueryAnswer>;
  events(caller: Caller, filters: Readonly<Record<string, unknown>>): Promise<QueryAnswer>;
}
