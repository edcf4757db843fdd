/** The nouns of a ledger: wallets, what may be asked of them, and why they may refuse (contract sections 3, 5 and 8). */

import type { Currency, FeeSchedule, Holding, SelfTrade, TimeInForce, Voids } from "../market/types.js";
import type { Contracts, Millicents, Ticks } from "../units.js";

/** Transaction kinds of the specification. */
export type TransactionKind =
  | "FILL"
  | "FEE"
  | "MAKER_CREDIT"
  | "SETTLEMENT"
  | "TRANSFER_IN"
  | "TRANSFER_OUT"
  | "DEPOSIT"
  | "WITHDRAWAL"
  | "CREDIT"
  | "CREDIT_RECLAIM"
  | "ADJUSTMENT"
  | "FORWARDING";

/** The kinds an operator can post. */
export type OperatorTransactionKind = Extract<
  TransactionKind,
  "DEPOSIT" | "WITHDRAWAL" | "CREDIT" | "CREDIT_RECLAIM" | "ADJUSTMENT" | "FORWARDING"
>;

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
  readonly status: "PENDING" | "OPEN";
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

export interface Transfer {
  readonly transferId: string;
  readonly direction: "fund" | "defund";
  readonly trader: string;
  /** The subaccount's wallet; the other side is the trader's own wallet, whose id is the trader's. */
  readonly wallet: string;
  readonly amount: Millicents;
  readonly status: "Applied" | "Rejected";
  /** What the paying wallet had available, when rejected. */
  readonly available?: Millicents | undefined;
  readonly clientTransferId?: string | undefined;
}
