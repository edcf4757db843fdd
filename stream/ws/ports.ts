/**
 * Ports of the bridge, implemented by the HTTP side: the authenticated caller, and the queries and actions that the
 * delta streams cannot serve. The ports carry no HTTP statuses and no SQL; their codes are those of contract section 5
 * and contract section 6.
 */

import type { MarketDefinition } from "../../actors/market/types.js";

/** An authenticated key that may stream. The upgrade has already been charged to its `stream` bucket. */
export interface Caller {
  readonly keyId: string;
  /** Owner of the token buckets that the requests of the socket are charged to. */
  readonly payer: string;
  readonly traderId: string;
  /** Wallet of the subaccount, whose orders and positions the key may read. */
  readonly wallet: string;
  readonly scope: "trading" | "trading::read";
  /** Client address of the connection, for the location check of a placement. */
  readonly address: string;
  /** Expiry of the key, Unix ms. */
  readonly expiresAt?: number | undefined;
  /** Web session that opened the socket. The socket closes when the session ends; `expiresAt` is Unix ms. */
  readonly session?: { readonly sessionId: string; readonly expiresAt: number } | undefined;
}

/** A refusal: a code of the contract and a message for people. */
export interface Refused {
  readonly ok: false;
  readonly code: string;
  readonly message: string;
}

/** One accepted order of a placement. */
interface OrderAccepted {
  readonly orderId: string;
  readonly clientId?: string | undefined;
}

/** One refused order of a batch; `index` is its zero-based position in the request. */
interface OrderRejected {
  readonly index: number;
  readonly outcomeId: string;
  readonly reason: string;
}

/** Answer to a placement. */
export type PlaceAnswer =
  | { readonly ok: true; readonly accepted: readonly OrderAccepted[] }
  | (Refused & {
      /** Accepted orders of a batch that was refused in part. */
      readonly accepted?: readonly OrderAccepted[] | undefined;
      readonly rejected?: readonly OrderRejected[] | undefined;
    });

/** An order that a cancel by ids did not cancel, and why. */
interface NotCanceled {
  readonly orderId: string;
  readonly reason: "FILLED" | "CANCELED" | "NOT_FOUND";
}

/** Answer to a cancel by ids. */
export type CancelAnswer =
  | { readonly ok: true; readonly canceled: readonly string[]; readonly notCanceled: readonly NotCanceled[] }
  | Refused;

/** Answer to a cancel by scope; `canceled` counts the cancels that were queued. */
export type CancelAllAnswer = { readonly ok: true; readonly canceled: number } | Refused;

/** Scope of a cancel; an absent field does not narrow it. */
export interface CancelAllFilter {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
}

/**
 * Places and cancels for a caller, with the checks and answers of the REST batch routes (contract sections 5.15 and
 * 5.16) except throttling, which the bridge has done. Throws `Unavailable` when the exchange does not answer.
 */
export interface Trading {
  /** Judges each order by itself, or with `atomic` all orders as one; `orders` has the shape of the REST body. */
  place(caller: Caller, orders: readonly unknown[], atomic: boolean): Promise<PlaceAnswer>;
  cancel(caller: Caller, orderIds: readonly string[]): Promise<CancelAnswer>;
  cancelAll(caller: Caller, filter: CancelAllFilter, reason?: "DISCONNECTED"): Promise<CancelAllAnswer>;
}

/** Arms wallets whose orders are canceled when this process dies. */
export interface Disconnects {
  /** Returns a function that reverts this call. Both throw `Unavailable`. */
  arm(wallet: string, traderId: string): Promise<() => Promise<void>>;
}

/** Immutable part of a market that names its event and its outcomes. */
export type MarketIdentity = Pick<MarketDefinition, "marketId" | "eventId" | "outcomes">;

/** Reference data from the cache of the gateway. Throws `Unavailable` when no source has it. */
export interface Catalog {
  market(marketId: string): Promise<MarketIdentity | undefined>;
  /**
   * Returns those of the markets that everyone may see, and those of which no source says so. Only the owner of a wallet
   * sees what is in it of the others.
   */
  listed(marketIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the ids of the markets of an event, or `undefined` when the event does not exist. */
  marketsOf(eventId: string): Promise<readonly string[] | undefined>;
  /** Calls `listener` with every market that appears or changes, until the returned function is called. */
  onMarket(listener: (marketId: string) => void): () => void;
}

/** Token buckets that the bridge charges. */
export type Bucket = "stream" | "place" | "cancel" | "read";

/** Outcome of a charge. */
interface Charge {
  readonly granted: boolean;
  /** Tokens left in the bucket. */
  readonly remaining: number;
  /** Seconds until the bucket holds enough tokens; 0 when granted. */
  readonly retryAfterS: number;
}

/** Token buckets of the payers of sockets (contract section 5.8). A charge of 0 only reads the bucket. */
export interface Throttle {
  charge(payer: string, bucket: Bucket, cost: number): Promise<Charge>;
}

/** One page of a list, or a refusal. */
export type QueryAnswer =
  | {
      readonly ok: true;
      readonly page: {
        readonly items: readonly unknown[];
        readonly next?: string | undefined;
        readonly asOf: number | null;
      };
    }
  | Refused;

/** Pages of the catalog, with the filters of the REST list routes (contract section 5.14). */
export interface Queries {
  markets(caller: Caller, filters: Readonly<Record<string, unknown>>): Promise<QueryAnswer>;
  events(caller: Caller, filters: Readonly<Record<string, unknown>>): Promise<QueryAnswer>;
}
