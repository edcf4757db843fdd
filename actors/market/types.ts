/** The nouns of a market: what it is, how it may end, what it charges (contract sections 2 to 4). */

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

/** How a market is voided: every fill is refunded at its cost, or each outcome pays a fair price. */
export const VOID_KINDS = ["PUSH", "FMV"] as const;
export type Voids = (typeof VOID_KINDS)[number];

/** When a fee applies: to every match, or only while the market is live. */
export const FEE_PERIODS = ["ALWAYS", "WHEN_LIVE"] as const;
export type FeePeriod = (typeof FEE_PERIODS)[number];

/** `c` and the maker's share in millionths; `charged` says when the fee applies at all (contract section 3). */
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

/** All that is fixed or configured about a market. Outcomes are referred to by their index everywhere else. */
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
  /** The tick table: the submittable prices, rising. */
  readonly ticks: readonly Ticks[];
}

/** How a market ends: one winner (its outcome index), everything refunded, or a price per outcome in ticks 0..1000. */
export type Grade =
  | { readonly kind: "WINNER"; readonly outcome: number }
  | { readonly kind: "PUSH" }
  | { readonly kind: "FMV"; readonly prices: readonly number[] };

/** What happens when an order meets another of its own trader. */
export const SELF_TRADE_MODES = ["wash", "cancel_taker", "cancel_maker"] as const;
export type SelfTrade = (typeof SELF_TRADE_MODES)[number];

/** An order as it travels from its ledger to its market. */
export interface Order {
  readonly orderId: string;
  readonly wallet: string;
  readonly trader: string;
  /** The ledger shard of the wallet, where the order's effects go. */
  readonly ledger: number;
  readonly currency: Currency;
  /** Index of the outcome in the market. */
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
  readonly tif: TimeInForce;
  readonly selfTrade: SelfTrade;
  /** When its ledger accepted it, Unix ms. */
  readonly acceptedTs: number;
  /** When a GTT or PO order expires, Unix ms. */
  readonly expiresAt?: number | undefined;
  /** An order that reaches the book later than this is rejected, Unix ms. */
  readonly notAfter?: number | undefined;
  /** The schedule in force when the order was accepted. */
  readonly fee: FeeSchedule;
  /** Whether a taker fee was reserved: always for ALWAYS, for WHEN_LIVE only when the event was in play. */
  readonly feeReserved: boolean;
}

/** Why an order never rested and filled nothing. */
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

/** Why an order was canceled; absent for its owner, for expiry and for an admin (contract section 4). */
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

/** What one wallet holds of one outcome. */
export interface Holding {
  readonly qty: Contracts;
  readonly cost: Millicents;
}
