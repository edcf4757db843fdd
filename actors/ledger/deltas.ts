/**
 * The deltas of a ledger. `seq` numbers the batches of a wallet's private channels (orders, positions): all deltas of one
 * command on one channel of one wallet have the same `seq`.
 */

import type { FillFacts } from "../market/deltas.js";
import type { CancelReason, Currency, Order, RejectReason, Voids } from "../market/types.js";
import type { Contracts, Millicents } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { ReserveRule } from "./account.js";
import type { CollateralPolicy, Restriction, TransactionKind, Transfer } from "./types.js";

/** Creation of a wallet. */
export interface WalletDelta {
  readonly type: "wallet";
  readonly wallet: string;
  readonly trader: string;
}

/** Acceptance of an order: its money is reserved, and it goes to its market. The private channel does not show it. */
export interface AcceptedDelta {
  readonly type: "accepted";
  readonly wallet: string;
  readonly marketId: string;
  readonly order: Order;
  readonly outcomes: number;
  readonly voids: Voids;
  readonly clientId?: string | undefined;
  /**
   * Digest of the fields of the request; in format 1 these fields as one string. The same `clientId` with another digest
   * is refused. Absent for a replacement, which has the `clientId` of its original.
   */
  readonly digest?: string | undefined;
  readonly groupId?: string | undefined;
  /** The order that this one replaces, and its remainder as the ledger knew it. */
  readonly replaces?: { readonly orderId: string; readonly remaining: Contracts } | undefined;
}

/** Cancels that go to a market. */
export interface CancelingDelta {
  readonly type: "canceling";
  readonly wallet: string;
  readonly marketId: string;
  readonly orderIds: readonly string[];
  readonly reason?: "DISCONNECTED" | "MAINTENANCE" | "GROUP_LIMIT" | undefined;
}

/** Amendment to a lower quantity that goes to a market. */
interface AmendingDelta {
  readonly type: "amending";
  readonly wallet: string;
  readonly marketId: string;
  readonly orderId: string;
  readonly qty: Contracts;
}

/** Progress of an order, on the private orders channel. Fees are separate from prices. */
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

/** New holding of the wallet in an outcome, on the private positions channel. */
export interface WalletPositionDelta {
  readonly type: "position";
  readonly wallet: string;
  readonly seq: number;
  readonly marketId: string;
  readonly currency: Currency;
  readonly outcome: number;
  readonly qty: Contracts;
  readonly cost: Millicents;
  /** Set when a settlement closes the position. Orders on their way to the market then hold nothing. */
  readonly settled?: true | undefined;
  /** Set when a remediation restores a closed position. */
  readonly terms?: { readonly voids: Voids; readonly outcomes: number } | undefined;
}

/** Other side of a ledger entry. */
export type Counterparty = `market:${string}` | `wallet:${string}` | "house" | "external";

/** Double entry: `amount` into the wallet, or out of it when negative, and the opposite for the counterparty. */
export interface EntryDelta {
  readonly type: "entry";
  readonly transactionId: string;
  readonly wallet: string;
  readonly counterparty: Counterparty;
  readonly kind: TransactionKind;
  readonly currency: Currency;
  readonly amount: Millicents;
  readonly ref: string;
  /** Set on a transaction of an operator. A repeat with the same value gets the first answer. */
  readonly clientRef?: string | undefined;
}

/** Balance of a wallet after the command. Every fold checks it. */
export interface BalanceDelta {
  readonly type: "balance";
  readonly wallet: string;
  readonly currency: Currency;
  readonly total: Millicents;
  readonly reserved: Millicents;
}

/** State of the dead-man switch of a wallet: armed until `dueMs`, or off when that is absent. */
export interface DeadmanDelta {
  readonly type: "deadman";
  readonly wallet: string;
  readonly timeoutMs: number;
  readonly dueMs?: number | undefined;
}

/** New state of an order group, with a count of fills that starts at zero. Without `group`: removal of the group. */
export interface GroupDelta {
  readonly type: "group";
  readonly wallet: string;
  readonly groupId: string;
  readonly group?:
    { readonly maxFilledQty: Contracts; readonly windowMs: number; readonly tripped: boolean } | undefined;
}

/** New collateral policy of a wallet. */
export interface PolicyDelta {
  readonly type: "policy";
  readonly wallet: string;
  readonly policy: CollateralPolicy;
}

/** Rule by which the wallet computes its reserves from now on. Since format 4. */
export interface ReserveRuleDelta {
  readonly type: "reserveRule";
  readonly wallet: string;
  readonly rule: ReserveRule;
}

/** Refusal that every placement of a trader gets from now on, or none. Since format 4. */
export interface RestrictedDelta {
  readonly type: "restricted";
  readonly trader: string;
  readonly restriction?: Restriction | undefined;
}

/** Closing of a wallet. Since format 4. */
interface ClosedDelta {
  readonly type: "closed";
  readonly wallet: string;
}

/** End of a transfer. */
export interface TransferDelta {
  readonly type: "transfer";
  readonly transfer: Transfer;
}

/** Seqs that every private channel leaves out, because the log may have lost batches that were sent with them. */
interface SkippedDelta {
  readonly type: "skipped";
  readonly count: number;
}

/** Removal of the ids before these times (Unix ms) from the memory of the ledger. Since format 2. */
export interface ForgottenDelta {
  readonly type: "forgotten";
  /** Client ids of orders. */
  readonly recentBefore: number;
  /** Transfers, transactions of operators, and the filters of the client ids of orders. */
  readonly rememberedBefore: number;
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
  | ReserveRuleDelta
  | RestrictedDelta
  | ClosedDelta
  | TransferDelta
  | SkippedDelta
  | ForgottenDelta;

/** Reader of each kind of delta besides the fold and the tables: a market, the owner of the wallet, or nobody. */
const LEDGER_DELTA_READERS = {
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
  reserveRule: "nobody",
  restricted: "nobody",
  closed: "nobody",
  transfer: "nobody",
  skipped: "nobody",
  forgotten: "nobody",
} as const satisfies Readonly<Record<LedgerDelta["type"], "market" | "owner" | "nobody">>;

type Readers = typeof LEDGER_DELTA_READERS;
type ReadBy<Reader> = { [T in keyof Readers]: Readers[T] extends Reader ? T : never }[keyof Readers];

/** Deltas of a ledger that lead to a command for a market. */
export type RequestDelta = Extract<LedgerDelta, { type: ReadBy<"market"> }>;
/** Deltas of a ledger that go out on the private channels of a wallet. */
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
