/**
 * Everything a ledger says. `seq` numbers the batches of a wallet's private channels (orders, positions): all
 * deltas of one command on one channel of one wallet carry the same `seq`.
 */

import type { CancelReason, Currency, Order, RejectReason, Voids } from "../market/types.js";
import type { FillFacts } from "../market/deltas.js";
import type { Contracts, Millicents } from "../units.js";
import type { CollateralPolicy, TransactionKind, Transfer } from "./types.js";
import { unreachable } from "../unreachable.js";

/** A wallet exists from here on. */
export interface WalletDelta {
  readonly type: "wallet";
  readonly wallet: string;
  readonly trader: string;
}

/** Accepted and reserved for; on its way to the market. Not on the private channel. */
export interface AcceptedDelta {
  readonly type: "accepted";
  readonly wallet: string;
  readonly marketId: string;
  readonly order: Order;
  readonly outcomes: number;
  readonly voids: Voids;
  readonly clientId?: string | undefined;
  /** The request's fields as one string: the same `clientId` with another digest is refused. */
  readonly digest?: string | undefined;
  readonly groupId?: string | undefined;
  /** The order that this one replaces, and what was left of it as the ledger knew it. */
  readonly replaces?: { readonly orderId: string; readonly remaining: Contracts } | undefined;
}

/** Cancels on their way to a market. */
export interface CancelingDelta {
  readonly type: "canceling";
  readonly wallet: string;
  readonly marketId: string;
  readonly orderIds: readonly string[];
  readonly reason?: "DISCONNECTED" | "MAINTENANCE" | "GROUP_LIMIT" | undefined;
}

/** An amendment to less on its way to a market. */
export interface AmendingDelta {
  readonly type: "amending";
  readonly wallet: string;
  readonly marketId: string;
  readonly orderId: string;
  readonly qty: Contracts;
}

/** The private orders channel. Fees are told apart from prices. */
export type WalletOrderDelta = {
  readonly type: "order";
  readonly wallet: string;
  readonly seq: number;
  readonly marketId: string;
  readonly orderId: string;
} & (
  | { readonly kind: "open"; readonly qty: Contracts }
  | ({ readonly kind: "fill" } & FillFacts)
  | { readonly kind: "reduce"; readonly remaining: Contracts }
  | { readonly kind: "cancel"; readonly remaining: Contracts; readonly reason?: CancelReason | undefined }
  | { readonly kind: "reject"; readonly reason: RejectReason }
);

/** The private positions channel: what the wallet holds of an outcome from now on. */
export interface WalletPositionDelta {
  readonly type: "position";
  readonly wallet: string;
  readonly seq: number;
  readonly marketId: string;
  readonly currency: Currency;
  readonly outcome: number;
  readonly qty: Contracts;
  readonly cost: Millicents;
  /** Set when a settlement closes it: orders still on their way to the market hold nothing any more. */
  readonly settled?: true | undefined;
  /** Set when a remediation brings a closed position back. */
  readonly terms?: { readonly voids: Voids; readonly outcomes: number } | undefined;
}

/** The other side of a ledger entry. */
export type Counterparty = `market:${string}` | `wallet:${string}` | "house" | "external";

/** A double entry: `amount` into the wallet (out of it when negative), and its opposite into the counterparty. */
export interface EntryDelta {
  readonly type: "entry";
  readonly transactionId: string;
  readonly wallet: string;
  readonly counterparty: Counterparty;
  readonly kind: TransactionKind;
  readonly currency: Currency;
  readonly amount: Millicents;
  readonly ref: string;
  /** Set on an operator's transaction, whose repeat gives the first answer. */
  readonly clientRef?: string | undefined;
}

/** Where a wallet stands after the command; recovery checks it against the fold. */
export interface BalanceDelta {
  readonly type: "balance";
  readonly wallet: string;
  readonly currency: Currency;
  readonly total: Millicents;
  readonly reserved: Millicents;
}

/** The wallet's dead-man switch: armed until `dueMs`, or off. */
export interface DeadmanDelta {
  readonly type: "deadman";
  readonly wallet: string;
  readonly timeoutMs: number;
  readonly dueMs?: number | undefined;
}

/** An order group as it stands from now on, what it has counted forgotten unless it was tripped by this; or removed. */
export interface GroupDelta {
  readonly type: "group";
  readonly wallet: string;
  readonly groupId: string;
  readonly group?:
    { readonly maxFilledQty: Contracts; readonly windowMs: number; readonly tripped: boolean } | undefined;
}

/** How the wallet's orders hold money from now on. */
export interface PolicyDelta {
  readonly type: "policy";
  readonly wallet: string;
  readonly policy: CollateralPolicy;
}

/** A transfer reached its end. */
export interface TransferDelta {
  readonly type: "transfer";
  readonly transfer: Transfer;
}

export type LedgerDelta =
  | WalletDelta
  | AcceptedDelta
  | CancelingDelta
  | AmendingDelta
  | WalletOrderDelta
  | WalletPositionDelta
  | EntryDelta
  | BalanceDelta
  | DeadmanDelta
  | GroupDelta
  | PolicyDelta
  | TransferDelta;

/** Who reads each kind of delta besides the fold and the tables: a market, the wallet's owner, or nobody. */
export const LEDGER_DELTA_READERS = {
  wallet: "nobody",
  accepted: "market",
  canceling: "market",
  amending: "market",
  order: "owner",
  position: "owner",
  entry: "nobody",
  balance: "nobody",
  deadman: "nobody",
  group: "nobody",
  policy: "nobody",
  transfer: "nobody",
} as const satisfies Readonly<Record<LedgerDelta["type"], "market" | "owner" | "nobody">>;

type Readers = typeof LEDGER_DELTA_READERS;
type ReadBy<Reader> = { [T in keyof Readers]: Readers[T] extends Reader ? T : never }[keyof Readers];

/** The ledger's deltas that lead to a command for a market. */
export type RequestDelta = Extract<LedgerDelta, { type: ReadBy<"market"> }>;
/** The ledger's deltas that go out on a wallet's private channels. */
export type PrivateDelta = Extract<LedgerDelta, { type: ReadBy<"owner"> }>;

/** Returns true for a delta that leads to a command for a market. Throws on an unknown kind. */
export function isRequest(delta: LedgerDelta): delta is RequestDelta {
  return readerOf(delta) === "market";
}

/** Returns true for a delta of a private channel. Throws on an unknown kind. */
export function isPrivate(delta: LedgerDelta): delta is PrivateDelta {
  return readerOf(delta) === "owner";
}

function readerOf(delta: LedgerDelta): Readers[keyof Readers] {
  if (!Object.hasOwn(LEDGER_DELTA_READERS, delta.type)) unreachable(delta as never);
  return LEDGER_DELTA_READERS[delta.type];
}
