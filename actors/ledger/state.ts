/** The state of a ledger shard. `fold.ts` folds it from deltas. */

import type { ActorId } from "../actor.js";
import { Deadlines } from "../deadlines.js";
import { DerivedIds, ledgerUuid } from "../ids.js";
import type { Currency } from "../market/types.js";
import { assert, type Contracts, type Millicents, subtract, ZERO } from "../units.js";
import type { Account, AccountOrder, ReserveRule } from "./account.js";
import type { FillWindow } from "./fill-window.js";
import { KnownIds } from "./ids/known.js";
import type { CollateralPolicy, Restriction } from "./types.js";
import { Wallets } from "./wallets.js";

export interface Funds {
  total: Millicents;
  reserved: Millicents;
}

export interface Wallet {
  readonly wallet: string;
  readonly trader: string;
  readonly funds: Readonly<Record<Currency, Funds>>;
  /** Last seqs of the private channels, less `skippedSeqs` of the shard. */
  readonly seqs: { orders: number; positions: number };
  readonly orders: Map<string, AccountOrder>;
  policy: CollateralPolicy;
  reserveRule: ReserveRule;
  /** True once the subaccount of the wallet is closed. */
  closed: boolean;
  /** Dead-man switch, if it is armed. */
  deadman: { readonly timeoutMs: number; readonly dueMs: number } | undefined;
  readonly groups: Map<string, Group>;
  /** Accounts by market and currency; see `accountKey`. */
  readonly accounts: Map<string, Account>;
}

/** An order group, and its fills within the window. */
export interface Group {
  readonly maxFilledQty: Contracts;
  readonly windowMs: number;
  readonly tripped: boolean;
  readonly fills: FillWindow;
}

/** Sums of all money that moved in and out of one shard, in one currency. */
export interface Totals {
  deposits: Millicents;
  withdrawals: Millicents;
  adjustments: Millicents;
  house: Millicents;
  /** Payments from markets, less payments to them. */
  received: Millicents;
}

export interface AcceptedClientId {
  readonly orderId: string;
  readonly digest: string;
  readonly untilMs: number;
}

export interface LedgerState {
  readonly shard: number;
  readonly ids: DerivedIds;
  readonly wallets: Wallets<Wallet>;
  /** Restricted traders, whose placements are refused. */
  readonly restricted: Map<string, Restriction>;
  /** Sums of the money of all wallets. */
  readonly funds: Readonly<Record<Currency, Funds>>;
  /** Client ids that were accepted in format 1, by wallet and clientId, oldest first. */
  readonly clientIds: Map<string, AcceptedClientId>;
  /** Client ids that were accepted since, transfers, and transactions of operators. */
  readonly known: KnownIds;
  readonly totals: Readonly<Record<Currency, Totals>>;
  /** Wallets with a dead-man switch, by its deadline. */
  readonly deadlines: Deadlines<string>;
  /** Count of all entries, from which new ones get their ids. */
  entries: number;
  /** Number of seqs that every channel of every wallet has left out. */
  skippedSeqs: number;
}

export function createLedger(id: ActorId): LedgerState {
  const shard = Number(id.slice("ledger:".length));
  return {
    shard,
    ids: new DerivedIds(ledgerUuid(shard)),
    wallets: new Wallets(),
    restricted: new Map(),
    funds: noFunds(),
    clientIds: new Map(),
    known: new KnownIds(),
    totals: { CASH: noTotals(), COIN: noTotals() },
    deadlines: new Deadlines(),
    entries: 0,
    skippedSeqs: 0,
  };
}

function noTotals(): Totals {
  return { deposits: ZERO, withdrawals: ZERO, adjustments: ZERO, house: ZERO, received: ZERO };
}

function noFunds(): Readonly<Record<Currency, Funds>> {
  return { CASH: { total: ZERO, reserved: ZERO }, COIN: { total: ZERO, reserved: ZERO } };
}

export function emptyWallet(wallet: string, trader: string, reserveRule: ReserveRule = 1): Wallet {
  return {
    wallet,
    trader,
    funds: noFunds(),
    seqs: { orders: 0, positions: 0 },
    orders: new Map(),
    policy: "hold",
    reserveRule,
    closed: false,
    deadman: undefined,
    groups: new Map(),
    accounts: new Map(),
  };
}

export function accountKey(marketId: string, currency: Currency): string {
  return `${currency}:${marketId}`;
}

/** Returns the money that is not reserved. It is negative only after a remediation. */
export function available(wallet: Wallet, currency: Currency): Millicents {
  const { total, reserved } = wallet.funds[currency];
  return subtract(total, reserved);
}

export function walletOf(state: LedgerState, wallet: string): Wallet {
  const found = state.wallets.get(wallet);
  assert(found !== undefined, "the wallet is not in this shard", wallet);
  return found;
}

/** Returns the time at which the next dead-man switch is due or ids are forgotten, Unix ms. */
export function nextDeadline({ deadlines, known }: LedgerState): number | undefined {
  const switches = deadlines.first()?.at;
  const forgetting = known.deadline;
  if (switches === undefined || forgetting === undefined) return switches ?? forgetting;
  return Math.min(switches, forgetting);
}
