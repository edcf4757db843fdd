/** What a market can be told, and what it answers. Orders and cancels come from ledgers, the rest from operators and jobs. */

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
 * A life-cycle step an operator or an event asks for. `golive` announces `START` by itself the first time, `end` only
 * announces, `clear` only empties the books. A step that is already taken changes nothing and is no error.
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
  | { readonly kind: "lifecycle"; readonly actions: readonly LifecycleAction[] }
  | { readonly kind: "enter"; readonly order: Order }
  | {
      readonly kind: "cancel";
      readonly orderIds: readonly string[];
      readonly reason?: "DISCONNECTED" | "MAINTENANCE" | "GROUP_LIMIT" | undefined;
    }
  /** Cancels an order and enters another in one step; `remaining` is what the ledger knew to be left of the first. */
  | {
      readonly kind: "replace";
      readonly order: Order;
      readonly orderId: string;
      readonly remaining: Contracts;
    }
  /** What the order would do now; changes nothing. */
  | { readonly kind: "preview"; readonly order: Order }
  | { readonly kind: "amend"; readonly orderId: string; readonly qty: Contracts }
  /** What a grade would pay; changes nothing. */
  | { readonly kind: "previewGrade"; readonly grade: Grade }
  | { readonly kind: "grade"; readonly settlementId: string; readonly grade: Grade }
  /** Takes a settlement back, so that the market can be graded again. */
  | { readonly kind: "remediate"; readonly reason: string }
  /** Pays the next `limit` wallets of the grade in force, or takes back from them. Repeat until `done`. */
  | { readonly kind: "settle"; readonly limit: number }
  /** Asks how far the settlement in force is; changes nothing. */
  | { readonly kind: "settlement" }
  | { readonly kind: "report" }
  | { readonly kind: "tick" };

/** Why a market refuses what an operator or a job asked; nothing changed. */
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
  | { readonly ok: true; readonly kind: "done"; readonly status: MarketStatus }
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
  | { readonly ok: true; readonly kind: "gradePreview"; readonly payouts: readonly PreviewedPayout[] }
  | { readonly ok: true; readonly kind: "report"; readonly report: MarketReport }
  | { readonly ok: false; readonly refusal: MarketRefusal };

/** What an order would do now: its fills, the fee on them, what would rest and how much would be ahead of that. */
export interface OrderPreview {
  readonly fills: readonly { readonly price: Ticks; readonly qty: Contracts }[];
  readonly fee: Millicents;
  readonly rests: Contracts;
  readonly queueAhead: Contracts;
  readonly reject?: RejectReason | undefined;
}

export interface PreviewedPayout {
  readonly wallet: string;
  readonly currency: Currency;
  readonly amount: Millicents;
}

/** The money of one market, per currency; `sent` is what it paid to all ledgers less what it took from them. */
export interface MarketReport {
  readonly marketId: string;
  readonly money: Readonly<Record<Currency, { readonly escrow: Millicents; readonly sent: Millicents }>>;
}
