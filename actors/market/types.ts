/** The terms of a market: statuses, definition, fees, grades, orders (contract sections 2 to 4). */

import type { Contracts, Millicents, Ticks } from "../units.js";
import type { TimeInForce } from "./time-in-force.js";

export const CURRENCIES = ["CASH", "COIN"] as const;
export type Currency = (typeof CURRENCIES)[number];

export const MARKET_STATUSES = ["OPEN", "CLOSED", "SETTLED"] as const;
export type MarketStatus = (typeof MARKET_STATUSES)[number];

export const LIFECYCLE_KINDS = [
  "OPEN",
  "CLOSE",
  "GRADE",
  "REMEDIATE",
  "START",
  "END",
  "GOLIVE",
  "UNLIVE",
  "PAUSE",
  "RESUME",
] as const;
export type LifecycleKind = (typeof LIFECYCLE_KINDS)[number];

/** Ways to void a market: refund every fill at its cost, or pay a fair price for each outcome. */
export const VOID_KINDS = ["PUSH", "FMV"] as const;
export type Voids = (typeof VOID_KINDS)[number];

/** Period of a fee: always, or only while the market is live. */
export const FEE_PERIODS = ["ALWAYS", "WHEN_LIVE"] as const;
type FeePeriod = (typeof FEE_PERIODS)[number];

/** Fee schedule: `c` and the maker's share in millionths, and the period in which the fee applies (contract section 3.7). */
export interface FeeSchedule {
  readonly coefficientPpm: number;
  readonly makerCreditPpm: number;
  readonly charged: FeePeriod;
}

export interface OutcomeDefinition {
  readonly outcomeId: string;
  readonly name: string;
  readonly competitorId?: string | undefined;
}

/** Definition and configuration of a market. All other data refer to an outcome by its index in `outcomes`. */
export interface MarketDefinition {
  readonly marketId: string;
  readonly eventId: string;
  readonly marketType: string;
  readonly description: string;
  readonly strike?: string | undefined;
  readonly playerId?: string | undefined;
  readonly voids: Voids;
  readonly outcomes: readonly OutcomeDefinition[];
  readonly fee: FeeSchedule;
  readonly liveDelayMs: number;
  /** The tick table: the allowed prices, rising. */
  readonly ticks: readonly Ticks[];
}

/** Result of a market: the index of the winning outcome, a refund of all fills, or a price per outcome in ticks 0..1000. */
export type Grade =
  | { readonly kind: "WINNER"; readonly outcome: number }
  | { readonly kind: "PUSH" }
  | { readonly kind: "FMV"; readonly prices: readonly number[] };

/** Effects of an order that meets another order of its trader (contract section 2.7). */
export const SELF_TRADE_MODES = ["wash", "cancel_taker", "cancel_maker"] as const;
export type SelfTrade = (typeof SELF_TRADE_MODES)[number];

/** An order as its ledger sends it to its market. */
export interface Order {
  readonly orderId: string;
  readonly wallet: string;
  readonly trader: string;
  /** Ledger shard of the wallet, which receives the effects of the order. */
  readonly ledger: number;
  readonly currency: Currency;
  /** Index of the outcome in the market. */
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
  readonly tif: TimeInForce;
  readonly selfTrade: SelfTrade;
  /** Time at which its ledger accepted it, Unix ms. */
  readonly acceptedTs: number;
  /** Time at which the order expires, Unix ms. */
  readonly expiresAt?: number | undefined;
  /** Time after which the market rejects the order, Unix ms. */
  readonly notAfter?: number | undefined;
  /** Fee schedule at the time of acceptance. */
  readonly fee: FeeSchedule;
  /** True if a taker fee is reserved: with ALWAYS in any case, with WHEN_LIVE only if the event was in play. */
  readonly feeReserved: boolean;
}

/** Reasons to reject an order, which then never rests and fills nothing. */
export type RejectReason =
  | "MARKET_CLOSED"
  | "MARKET_PAUSED"
  | "GO_LIVE"
  | "NO_MATCH"
  | "NOT_FILLABLE"
  | "WOULD_MATCH"
  | "EXPIRED_IN_FLIGHT"
  | "EXPIRED"
  | "SELF_TRADE"
  | "CANCELED"
  | "POSITION_LIMIT_EXCEEDED"
  | "UNKNOWN_OUTCOME";

/** Reasons of cancels. A cancel by the owner, by expiry or by an operator has none (contract section 4.9). */
export type CancelReason =
  | "GO_LIVE"
  | "MARKET_CLOSED"
  | "SETTLED"
  | "NEUTRALIZED"
  | "SELF_TRADE"
  | "DISCONNECTED"
  | "MAINTENANCE"
  | "GROUP_LIMIT";

export interface Level {
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** Holding of one wallet in one outcome. */
export interface Holding {
  readonly qty: Contracts;
  readonly cost: Millicents;
}
