/**
 * Conversion of a ledger shard to one value and back: the form of snapshots that earlier builds write and read. A restored
 * shard behaves exactly as the saved one.
 */

import type { ActorId } from "../../actor.js";
import { CURRENCIES, type Currency, type Holding, type Voids } from "../../market/types.js";
import { add } from "../../units.js";
import { Account, type AccountOrder, type ReserveRule } from "../account.js";
import { FillWindow, type GroupFill } from "../fill-window.js";
import type { SavedIdPart } from "../ids/known.js";
import {
  accountKey,
  type AcceptedClientId,
  createLedger,
  emptyWallet,
  type Funds,
  type Group,
  type LedgerState,
  type Totals,
  type Wallet,
} from "../state.js";
import type { Restriction, Transfer } from "../types.js";

interface SavedAccount {
  readonly marketId: string;
  readonly currency: Currency;
  readonly voids: Voids;
  readonly holdings: readonly Holding[];
  readonly settled: boolean;
}

type SavedGroup = Omit<Group, "fills"> & { readonly fills: readonly GroupFill[] };

interface SavedWallet {
  readonly wallet: string;
  readonly trader: string;
  readonly funds: Readonly<Record<Currency, Funds>>;
  readonly seqs: Wallet["seqs"];
  readonly orders: readonly AccountOrder[];
  readonly accounts: readonly SavedAccount[];
  readonly policy: Wallet["policy"];
  /** Absent for rule 1, which is that of the builds before format 4. */
  readonly reserveRule?: ReserveRule | undefined;
  /** Absent unless it is true. */
  readonly closed?: true | undefined;
  readonly deadman: Wallet["deadman"];
  readonly groups: readonly (readonly [string, SavedGroup])[];
}

interface SavedLedger {
  readonly wallets: readonly SavedWallet[];
  readonly clientIds: readonly (readonly [string, AcceptedClientId])[];
  /** The time of a transaction or transfer is absent in format 1. */
  readonly clientRefs: readonly (readonly [key: string, transactionId: string, ts?: number])[];
  readonly transfers: readonly (readonly [key: string, transfer: Transfer, ts?: number])[];
  /** Absent in a snapshot of a build without restrictions. */
  readonly restricted?: readonly (readonly [trader: string, restriction: Restriction])[];
  /** Absent in format 1. */
  readonly forgets?: boolean;
  readonly ids?: readonly SavedIdPart[];
  readonly totals: Readonly<Record<Currency, Totals>>;
  readonly entries: number;
  /** Absent in a snapshot of a build that skips no seqs. */
  readonly skippedSeqs?: number | undefined;
}

export function saveWholeLedger(state: LedgerState): SavedLedger {
  return {
    wallets: [...state.wallets.values()].map((wallet) => saveWallet(wallet, state.skippedSeqs)),
    clientIds: [...state.clientIds],
    clientRefs: [...state.known.clientRefs],
    transfers: [...state.known.transfers],
    restricted: [...state.restricted],
    forgets: state.known.forgets,
    ids: [...state.known.parts()],
    totals: state.totals,
    entries: state.entries,
    skippedSeqs: state.skippedSeqs === 0 ? undefined : state.skippedSeqs,
  };
}

/** Converts a wallet. A build that skips no seqs continues with the seqs as they were sent. */
function saveWallet(
  { wallet, trader, funds, seqs, orders, accounts, policy, reserveRule, closed, deadman, groups }: Wallet,
  skippedSeqs: number,
): SavedWallet {
  return {
    wallet,
    trader,
    funds,
    seqs: { orders: seqs.orders + skippedSeqs, positions: seqs.positions + skippedSeqs },
    orders: [...orders.values()],
    policy,
    reserveRule: reserveRule === 1 ? undefined : reserveRule,
    closed: closed ? true : undefined,
    deadman,
    groups: [...groups].map(([groupId, group]) => [groupId, { ...group, fills: group.fills.list() }]),
    accounts: [...accounts.values()].map(({ marketId, currency, voids, holdings, settled }) => ({
      marketId,
      currency,
      voids,
      holdings,
      settled,
    })),
  };
}

export function restoreWholeLedger(id: ActorId, data: unknown): LedgerState {
  const saved = data as SavedLedger;
  const state = createLedger(id);
  for (const wallet of saved.wallets) {
    const restored = restoreWallet(wallet, saved.skippedSeqs ?? 0);
    state.wallets.add(restored);
    for (const currency of CURRENCIES) {
      const { total, reserved } = restored.funds[currency];
      const sums = state.funds[currency];
      sums.total = add(sums.total, total);
      sums.reserved = add(sums.reserved, reserved);
    }
    if (wallet.deadman !== undefined) state.deadlines.set(wallet.deadman.dueMs, 0, wallet.wallet);
  }
  for (const [key, accepted] of saved.clientIds) state.clientIds.set(key, accepted);
  for (const [key, transactionId, ts] of saved.clientRefs)
    state.known.restoreTransaction(key, transactionId, ts);
  for (const [key, transfer, ts] of saved.transfers) state.known.restoreTransfer(key, transfer, ts);
  for (const [trader, restriction] of saved.restricted ?? []) state.restricted.set(trader, restriction);
  state.known.forgets = saved.forgets ?? false;
  for (const part of saved.ids ?? []) state.known.addPart(part);
  Object.assign(state.totals.CASH, saved.totals.CASH);
  Object.assign(state.totals.COIN, saved.totals.COIN);
  state.entries = saved.entries;
  state.skippedSeqs = saved.skippedSeqs ?? 0;
  return state;
}

function restoreWallet(saved: SavedWallet, skippedSeqs: number): Wallet {
  const wallet = emptyWallet(saved.wallet, saved.trader, saved.reserveRule);
  Object.assign(wallet.funds.CASH, saved.funds.CASH);
  Object.assign(wallet.funds.COIN, saved.funds.COIN);
  wallet.seqs.orders = saved.seqs.orders - skippedSeqs;
  wallet.seqs.positions = saved.seqs.positions - skippedSeqs;
  wallet.policy = saved.policy;
  wallet.closed = saved.closed === true;
  wallet.deadman = saved.deadman;
  for (const [groupId, group] of saved.groups)
    wallet.groups.set(groupId, { ...group, fills: new FillWindow(group.fills) });
  for (const { marketId, currency, voids, holdings, settled } of saved.accounts) {
    const account = new Account(marketId, currency, voids, holdings.length, wallet.reserveRule);
    holdings.forEach((holding, outcome) => account.setHolding(outcome, holding));
    account.settled = settled;
    wallet.accounts.set(accountKey(marketId, currency), account);
  }
  for (const savedOrder of saved.orders) {
    const { replaces } = savedOrder;
    const order = { ...savedOrder, replaces: undefined };
    wallet.orders.set(order.orderId, order);
    const original = replaces === undefined ? undefined : wallet.orders.get(replaces);
    wallet.accounts.get(accountKey(order.marketId, order.currency))?.add(order, original);
  }
  for (const account of wallet.accounts.values()) account.reserved = account.reserve(wallet.policy);
  return wallet;
}
