/** The terms of a ledger: wallets, requests, refusals, balances, transfers (contract sections 3.1, 3.4 and 5.13). */

import type { TimeInForce } from "../market/time-in-force.js";
import type { Currency, FeeSchedule, Holding, SelfTrade, Voids } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";

/** Transaction kinds that an operator can post. */
export const OPERATOR_TRANSACTION_KINDS = [
  "DEPOSIT",
  "WITHDRAWAL",
  "CREDIT",
  "CREDIT_RECLAIM",
  "ADJUSTMENT",
  "FORWARDING",
] as const;
export type OperatorTransactionKind = (typeof OPERATOR_TRANSACTION_KINDS)[number];

/** All transaction kinds of the specification. */
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

/** Terms of a market that the reserve depends on, as the gateway knows them when it passes an order on. */
export interface MarketTerms {
  readonly marketId: string;
  readonly outcomes: number;
  readonly voids: Voids;
  readonly fee: FeeSchedule;
  /** True if the event of the market was in play. */
  readonly live: boolean;
}

/** One order as the gateway requests it. The gateway assigns the ids; `outcome` is the index in the market. */
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

/** First format in which traders are restricted and wallets closed. */
export const RESTRICTIONS_FORMAT = 4;

/** Refusals that every placement of a restricted trader gets (contract section 8.3). */
export const RESTRICTIONS = ["ACCOUNT_LOCKED", "SELF_EXCLUDED"] as const;
export type Restriction = (typeof RESTRICTIONS)[number];

/** Refusals of a ledger. A refused command changes nothing. */
export type LedgerRefusal =
  | Restriction
  | "SUBACCOUNT_NOT_FOUND"
  | "SUBACCOUNT_NOT_EMPTY"
  | "INSUFFICIENT_BALANCE"
  | "CLIENT_ID_REUSED"
  | "OPEN_ORDER_LIMIT_EXCEEDED"
  | "POSITION_LIMIT_EXCEEDED"
  | "QTY_OUT_OF_RANGE"
  | "ORDER_NOT_FOUND"
  | "GROUP_NOT_FOUND"
  | "GROUP_LIMIT"
  | "GROUP_COUNT_EXCEEDED"
  | "TRANSFER_ID_REUSED"
  | "AMOUNT_OUT_OF_RANGE";

/** Collateral policies. `hold`: every order holds its own money. `net`: the orders of a market hold only the worst case. */
export const COLLATERAL_POLICIES = ["hold", "net"] as const;
export type CollateralPolicy = (typeof COLLATERAL_POLICIES)[number];

/** Group of orders: if more than `maxFilledQty` contracts fill within `windowMs`, all are canceled and new ones refused. */
export interface OrderGroup {
  readonly groupId: string;
  readonly maxFilledQty: Contracts;
  readonly windowMs: number;
  readonly tripped: boolean;
}

/** Limits of a wallet. An absent field means the limit of the exchange. */
export interface Limits {
  readonly openOrders?: number | undefined;
  /** Maximum of held and open contracts together, per outcome. */
  readonly positionContracts?: number | undefined;
}

/** Statuses of an order: on its way or held, resting, and three terminal ones (contract section 2.8). */
export const ORDER_STATUSES = ["PENDING", "OPEN", "FILLED", "CANCELED", "REJECTED"] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** An order of a wallet in a market, or on its way to it. */
export interface OpenOrder {
  readonly orderId: string;
  readonly clientId?: string | undefined;
  readonly marketId: string;
  readonly outcome: number;
  readonly currency: Currency;
  readonly price: Ticks;
  /** Remaining quantity. */
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
  /** All money of the wallet, reserved or not. */
  readonly total: Millicents;
  readonly reserved: Millicents;
}

/** State of a wallet at one moment, with the seqs of its private channels. */
export interface WalletSnapshot {
  readonly wallet: string;
  readonly policy: CollateralPolicy;
  readonly balances: Readonly<Record<Currency, Balance>>;
  readonly orders: { readonly seq: number; readonly open: readonly OpenOrder[] };
  readonly positions: { readonly seq: number; readonly positions: readonly WalletPosition[] };
  /** Number of pages in which the orders and positions can be read, when they are too many for the pages asked for. */
  readonly pages?: number | undefined;
}

/** Directions of a transfer: `fund` pays from the trader's own wallet into a subaccount, `defund` pays back. */
export const TRANSFER_DIRECTIONS = ["fund", "defund"] as const;
export type TransferDirection = (typeof TRANSFER_DIRECTIONS)[number];

export const TRANSFER_STATUSES = ["Applied", "Rejected"] as const;
type TransferStatus = (typeof TRANSFER_STATUSES)[number];

export interface Transfer {
  readonly transferId: string;
  readonly direction: TransferDirection;
  readonly trader: string;
  /** Wallet of the subaccount. The other side is the trader's own wallet, which has the id of the trader. */
  readonly wallet: string;
  /** Absent for CASH, the only currency before format 4. */
  readonly currency?: Currency | undefined;
  readonly amount: Millicents;
  readonly status: TransferStatus;
  /** Available money of the paying wallet, if the transfer was rejected. */
  readonly available?: Millicents | undefined;
  readonly clientTransferId?: string | undefined;
}
