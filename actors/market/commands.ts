/** Commands of a market and its answers. Orders and cancels come from ledgers, all else from operators and jobs. */

import type { Contracts, Millicents, Ticks } from "../units.js";
import type {
  Currency,
  FeeSchedule,
  Grade,
  MarketDefinition,
  MarketStatus,
  Order,
  RejectReason,
} from "./types.js";

/**
 * A life-cycle step that an operator or an event requests. The first `golive` also announces `START`, `end` only makes
 * an announcement, and `clear` only empties the books. A step that has already been taken changes nothing.
 */
export type LifecycleAction = OperatorAction | "end" | "golive" | "unlive" | "clear";

/** The life-cycle steps that an operator requests of one market; the others come from its event. */
export const OPERATOR_ACTIONS = ["open", "close", "pause", "resume"] as const;
export type OperatorAction = (typeof OPERATOR_ACTIONS)[number];

export type MarketCommand =
  | {
      readonly kind: "create";
      readonly definition: MarketDefinition;
      readonly open: boolean;
      readonly live: boolean;
    }
  | {
      readonly kind: "configure";
      readonly fee?: FeeSchedule | undefined;
      readonly liveDelayMs?: number | undefined;
      readonly description?: string | undefined;
      readonly ticks?: readonly Ticks[] | undefined;
    }
  | {
      readonly kind: "lifecycle";
      readonly actions: readonly LifecycleAction[];
      /** Set when the event takes the steps. A market that its event closes opens again when the event goes in play. */
      readonly byEvent?: true | undefined;
    }
  | { readonly kind: "enter"; readonly order: Order }
  | {
      readonly kind: "cancel";
      readonly orderIds: readonly string[];
      readonly reason?: "DISCONNECTED" | "MAINTENANCE" | "GROUP_LIMIT" | undefined;
    }
  /** Continues an order that has met as many resting orders as one commit may. `left` is what is unfilled. */
  | { readonly kind: "take"; readonly order: Order; readonly left: Contracts }
  /** Cancels an order and enters another in one step. `remaining` is the remainder of the first as its ledger knew it. */
  | {
      readonly kind: "replace";
      readonly order: Order;
      readonly orderId: string;
      readonly remaining: Contracts;
    }
  /** Asks for the fills that an order would get now; changes nothing. */
  | { readonly kind: "preview"; readonly order: Order }
  | { readonly kind: "amend"; readonly orderId: string; readonly qty: Contracts }
  /** Asks for the payouts of a grade; changes nothing. */
  | {
      readonly kind: "previewGrade";
      readonly grade: Grade;
      /** The page of at most `limit` payouts after the first `from`; all payouts without them. */
      readonly from?: number | undefined;
      readonly limit?: number | undefined;
    }
  | { readonly kind: "grade"; readonly settlementId: string; readonly grade: Grade }
  /** Starts to reverse a settlement, so that the market can be graded again. */
  | { readonly kind: "remediate"; readonly reason: string }
  /** Pays the next `limit` wallets, or reverses their payouts. The sender repeats it until the answer is `done`. */
  | { readonly kind: "settle"; readonly limit: number }
  /** Asks for the progress of the settlement; changes nothing. */
  | { readonly kind: "settlement" }
  | { readonly kind: "report" }
  | { readonly kind: "skip"; readonly count: number }
  | { readonly kind: "tick" };

/** Refusals of a market to an operator or a job. A refused command changes nothing. */
export type MarketRefusal =
  | "MARKET_NOT_FOUND"
  | "MARKET_EXISTS"
  | "INVALID_TRANSITION"
  | "VOID_KIND"
  | "ALREADY_GRADED"
  | "OUTCOME_NOT_FOUND"
  | "INVALID_PRICES"
  | "NOT_GRADED"
  | "NOT_SETTLED";

export type MarketReply =
  /** `unchanged` is set when every step of a `lifecycle` had been taken before. */
  | {
      readonly ok: true;
      readonly kind: "done";
      readonly status: MarketStatus;
      readonly unchanged?: true | undefined;
    }
  | {
      readonly ok: true;
      readonly kind: "settlement";
      readonly status: MarketStatus;
      readonly settlementId: string;
      readonly paid: number;
      readonly wallets: number;
      readonly done: boolean;
    }
  | { readonly ok: true; readonly kind: "preview"; readonly preview: OrderPreview }
  /** `next` is the start of the next page, if there is one. Pages with another number of `matches` do not fit together. */
  | {
      readonly ok: true;
      readonly kind: "gradePreview";
      readonly payouts: readonly PreviewedPayout[];
      readonly next?: number | undefined;
      readonly matches: number;
    }
  | { readonly ok: true; readonly kind: "report"; readonly report: MarketReport }
  | { readonly ok: false; readonly refusal: MarketRefusal };

/** Preview of an order: its fills and their fee, the quantity that would rest, and the quantity ahead of it. */
export interface OrderPreview {
  readonly fills: readonly { readonly price: Ticks; readonly qty: Contracts }[];
  readonly fee: Millicents;
  readonly rests: Contracts;
  readonly queueAhead: Contracts;
  readonly reject?: RejectReason | undefined;
  /** Set when the sweep goes on behind the fills that are shown. */
  readonly partial?: true | undefined;
}

export interface PreviewedPayout {
  readonly wallet: string;
  readonly currency: Currency;
  readonly amount: Millicents;
}

/** The money of one market by currency. `sent` is the sum of its payments to ledgers, less the sum it took from them. */
export interface MarketReport {
  readonly marketId: string;
  readonly money: Readonly<Record<Currency, { readonly escrow: Millicents; readonly sent: Millicents }>>;
}
