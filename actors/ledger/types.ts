/** The nouns of a ledger: wallets, what may be asked of them, and why they may refuse (contract sections 3, 5 and 8). */

import type { TimeInForce } from "../market/time-in-force.js";
import type { Currency, FeeSchedule, Holding, SelfTrade, Voids } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";

/** The kinds an operator can post. */
export const OPERATOR_TRANSACTION_KINDS = [
  "DEPOSIT",
  "WITHDRAWAL",
  "CREDIT",
  "CREDIT_RECLAIM",
  "ADJUSTMENT",
  "FORWARDING",
] as const;
export type OperatorTransactionKind = (typeof OPERATOR_TRANSACTION_KINDS)[number];

/** Transaction kinds of the specification. */
export const TRANSACTION_KINDS = [
  "FILL",
  "FEE",
  "MAKER_CREDIT",
  "SETTLEMENT",
  "TRANSFER_IN",
  "TRANSFER_OUT",
  ...OPERATOR_TRANSACTION_KINDS,
] as const;
export type TransactionKind = (typeof TRANSACTION_KINDS)[number];

/** What the gateway knows of a market when it passes an order on, and the reservation depends on. */
export interface MarketTerms {
  readonly marketId: string;
  readonly outcomes: number;
  readonly voids: Voids;
  readonly fee: FeeSchedule;
  /** Whether the market's event was in play. */
  readonly live: boolean;
}

/** One order as the gateway asks for it. Ids come from the gateway; `outcome` is the index in the market. */
export interface OrderRequest {
  readonly orderId: string;
  readonly terms: MarketTerms;
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
  readonly tif: TimeInForce;
  readonly ttlMs?: number | undefined;
  readonly clientId?: string | undefined;
  readonly selfTrade: SelfTrade;
  readonly notAfter?: number | undefined;
  readonly groupId?: string | undefined;
}

/** Why a ledger refuses; nothing changed. */
export type LedgerRefusal =
  | "INSUFFICIENT_BALANCE"
  | "CLIENT_ID_REUSED"
  | "OPEN_ORDER_LIMIT_EXCEEDED"
  | "POSITION_LIMIT_EXCEEDED"
  | "QTY_OUT_OF_RANGE"
  | "ORDER_NOT_FOUND"
  | "GROUP_NOT_FOUND"
  | "GROUP_LIMIT"
  | "TRANSFER_ID_REUSED";

/** `hold`: every order holds its own money. `net`: orders on both sides of a market hold only the worst case. */
export const COLLATERAL_POLICIES = ["hold", "net"] as const;
export type CollateralPolicy = (typeof COLLATERAL_POLICIES)[number];

/** More than `maxFilledQty` contracts filled within `windowMs` cancels the group's orders and bars new ones. */
export interface OrderGroup {
  readonly groupId: string;
  readonly maxFilledQty: Contracts;
  readonly windowMs: number;
  readonly tripped: boolean;
}

/** What a wallet may have at once; absent fields are unlimited but for the units. */
export interface Limits {
  readonly openOrders?: number | undefined;
  /** Held and open together, per outcome. */
  readonly positionContracts?: number | undefined;
}

/** The stages of an order: on its way or held, resting, and its three ends. */
export const ORDER_STATUSES = ["PENDING", "OPEN", "FILLED", "CANCELED", "REJECTED"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** An order the wallet has in a market, or on its way to it. */
export interface OpenOrder {
  readonly orderId: string;
  readonly clientId?: string | undefined;
  readonly marketId: string;
  readonly outcome: number;
  readonly currency: Currency;
  readonly price: Ticks;
  /** What is left. */
  readonly qty: Contracts;
  readonly tif: TimeInForce;
  readonly status: Extract<OrderStatus, "PENDING" | "OPEN">;
  readonly expiresAt?: number | undefined;
}

export interface WalletPosition extends Holding {
  readonly marketId: string;
  readonly outcome: number;
  readonly currency: Currency;
}

export interface Balance {
  /** All of the wallet's money, reserved or not. */
  readonly total: Millicents;
  readonly reserved: Millicents;
}

/** The whole of a wallet at one moment; the seqs are those of its private channels. */
export interface WalletSnapshot {
  readonly wallet: string;
  readonly policy: CollateralPolicy;
  readonly balances: Readonly<Record<Currency, Balance>>;
  readonly orders: { readonly seq: number; readonly open: readonly OpenOrder[] };
  readonly positions: { readonly seq: number; readonly positions: readonly WalletPosition[] };
}

/** `fund` pays from the trader's own wallet into a subaccount, `defund` back. */
export const TRANSFER_DIRECTIONS = ["fund", "defund"] as const;
export type TransferDirection = (typeof TRANSFER_DIRECTIONS)[number];

export const TRANSFER_STATUSES = ["Applied", "Rejected"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

export interface Transfer {
  readonly transferId: string;
  readonly direction: TransferDirection;
  readonly trader: string;
  /** The subaccount's wallet; the other side is the trader's own wallet, whose id is the trader's. */
  readonly wallet: string;
  readonly amount: Millicents;
  readonly status: TransferStatus;
  /** What the paying wallet had available, when rejected. */
  readonly available?: Millicents | undefined;
  readonly clientTransferId?: string | undefined;
}
