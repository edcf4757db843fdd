/** Fold of a ledger shard from its deltas. Only this fold moves money. */

import { CLIENT_ID_MS } from "../limits.js";
import { add, assert, type Contracts, subtract } from "../units.js";
import { unreachable } from "../unreachable.js";
import { Account, type AccountOrder } from "./account.js";
import type {
  AcceptedDelta,
  BalanceDelta,
  DeadmanDelta,
  EntryDelta,
  GroupDelta,
  LedgerDelta,
  PolicyDelta,
  ReserveRuleDelta,
  WalletOrderDelta,
  WalletPositionDelta,
} from "./deltas.js";
import { FillWindow } from "./fill-window.js";
import { isFixed } from "./ids/digest.js";
import { pairKey } from "./ids/known.js";
import { accountKey, emptyWallet, type Group, type LedgerState, type Wallet, walletOf } from "./state.js";

/** Seqs that are skipped for one entry, because the ids of entries have fewer numbers than seqs. */
const SKIPPED_SEQS_PER_ENTRY = 10;

export function evolveLedger(state: LedgerState, delta: LedgerDelta, ts: number): void {
  switch (delta.type) {
    case "wallet":
      state.wallets.add(emptyWallet(delta.wallet, delta.trader));
      return;
    case "accepted":
      evolveAccepted(state, delta, ts);
      return;
    case "canceling":
    case "amending":
      return;
    case "order":
      evolveOrder(state, delta, ts);
      return;
    case "position":
      evolvePosition(state, delta);
      return;
    case "entry":
      evolveEntry(state, delta, ts);
      return;
    case "balance":
      checkBalance(state, delta);
      return;
    case "deadman":
      evolveDeadman(state, delta);
      return;
    case "group":
      evolveGroup(state, delta);
      return;
    case "policy":
      evolvePolicy(state, delta);
      return;
    case "reserveRule":
      evolveReserveRule(state, delta);
      return;
    case "restricted":
      if (delta.restriction === undefined) state.restricted.delete(delta.trader);
      else state.restricted.set(delta.trader, delta.restriction);
      return;
    case "closed":
      walletOf(state, delta.wallet).closed = true;
      return;
    case "transfer": {
      const { trader, clientTransferId } = delta.transfer;
      if (clientTransferId !== undefined)
        state.known.addTransfer(pairKey(trader, clientTransferId), delta.transfer, ts);
      return;
    }
    case "skipped":
      state.skippedSeqs += delta.count;
      // The ids of lost entries are not given out again either.
      state.entries += Math.ceil(delta.count / SKIPPED_SEQS_PER_ENTRY);
      return;
    case "forgotten":
      state.known.forget(delta);
      dropExpiredClientIds(state, ts);
      return;
    default:
      return unreachable(delta);
  }
}

function evolveAccepted(state: LedgerState, delta: AcceptedDelta, ts: number): void {
  const wallet = walletOf(state, delta.wallet);
  const { order, marketId } = delta;
  const accepted = accountOrder(delta);
  const key = accountKey(marketId, order.currency);
  let account = wallet.accounts.get(key);
  if (account === undefined) {
    account = new Account(marketId, order.currency, delta.voids, delta.outcomes, wallet.reserveRule);
    wallet.accounts.set(key, account);
  }
  wallet.orders.set(order.orderId, accepted);
  account.add(accepted, originalOf(wallet, delta));
  rebalance(state, wallet, account);
  const { clientId, digest } = delta;
  if (clientId === undefined || digest === undefined) return;
  dropExpiredClientIds(state, ts);
  const { orderId } = order;
  if (isFixed(digest)) {
    state.known.addOrder(delta.wallet, clientId, { orderId, digest }, ts);
    return;
  }
  const clientKey = pairKey(delta.wallet, clientId);
  state.clientIds.delete(clientKey);
  state.clientIds.set(clientKey, { orderId, digest, untilMs: ts + CLIENT_ID_MS });
}

/** Returns the order that an accepted one replaces, while it is open. */
export function originalOf(wallet: Wallet, { replaces }: AcceptedDelta): AccountOrder | undefined {
  return replaces === undefined ? undefined : wallet.orders.get(replaces.orderId);
}

/** Returns an accepted order as its wallet keeps it. */
export function accountOrder({ order, marketId, clientId, groupId }: AcceptedDelta): AccountOrder {
  const { orderId, wallet, currency, outcome, price, tif, fee, feeReserved, selfTrade, expiresAt, qty } =
    order;
  return {
    orderId,
    wallet,
    marketId,
    currency,
    outcome,
    price,
    tif,
    fee,
    feeReserved,
    selfTrade,
    clientId,
    groupId,
    expiresAt,
    remaining: qty,
    pending: true,
    replaces: undefined,
  };
}

function dropExpiredClientIds(state: LedgerState, ts: number): void {
  for (const [key, { untilMs }] of state.clientIds) {
    if (untilMs > ts) return;
    state.clientIds.delete(key);
  }
}

function evolveOrder(state: LedgerState, delta: WalletOrderDelta, ts: number): void {
  const wallet = walletOf(state, delta.wallet);
  const order = wallet.orders.get(delta.orderId);
  assert(order !== undefined, "the order is not open in its wallet", delta.orderId);
  const account = wallet.accounts.get(accountKey(order.marketId, order.currency));
  assert(account !== undefined, "the order has no account", delta.orderId);
  wallet.seqs.orders = delta.seq - state.skippedSeqs;
  switch (delta.kind) {
    case "open":
      account.update(order, delta.qty, false);
      break;
    case "fill":
      account.update(order, delta.remaining, order.pending);
      if (order.groupId !== undefined) countFill(wallet.groups.get(order.groupId), ts, delta.qty);
      break;
    case "reduce":
      account.update(order, delta.remaining, order.pending);
      break;
    case "cancel":
    case "reject":
      break;
    default:
      unreachable(delta);
  }
  if (delta.kind === "cancel" || delta.kind === "reject" || order.remaining === 0) {
    account.remove(order);
    wallet.orders.delete(order.orderId);
  }
  rebalance(state, wallet, account);
  // The `position` delta that follows a fill needs the account.
  if (delta.kind !== "fill" || delta.wash) dropIfEmpty(wallet, account);
}

function countFill(group: Group | undefined, ts: number, qty: Contracts): void {
  group?.fills.add({ ts, qty }, group.windowMs);
}

function evolveGroup(state: LedgerState, { wallet, groupId, group }: GroupDelta): void {
  const { groups } = walletOf(state, wallet);
  if (group === undefined) groups.delete(groupId);
  else groups.set(groupId, { ...group, fills: new FillWindow() });
}

function evolveDeadman(state: LedgerState, { wallet, timeoutMs, dueMs }: DeadmanDelta): void {
  walletOf(state, wallet).deadman = dueMs === undefined ? undefined : { timeoutMs, dueMs };
  if (dueMs === undefined) state.deadlines.delete(wallet);
  else state.deadlines.set(dueMs, 0, wallet);
}

function evolvePolicy(state: LedgerState, delta: PolicyDelta): void {
  const wallet = walletOf(state, delta.wallet);
  wallet.policy = delta.policy;
  for (const account of wallet.accounts.values()) rebalance(state, wallet, account);
}

function evolvePosition(state: LedgerState, delta: WalletPositionDelta): void {
  const wallet = walletOf(state, delta.wallet);
  wallet.seqs.positions = delta.seq - state.skippedSeqs;
  const key = accountKey(delta.marketId, delta.currency);
  let account = wallet.accounts.get(key);
  if (account === undefined) {
    if (delta.qty === 0) return;
    assert(delta.terms !== undefined, "the wallet has no account in the market", delta.wallet);
    const { voids, outcomes } = delta.terms;
    account = new Account(delta.marketId, delta.currency, voids, outcomes, wallet.reserveRule);
    wallet.accounts.set(key, account);
  }
  account.setHolding(delta.outcome, { qty: delta.qty, cost: delta.cost });
  if (delta.settled === true || delta.terms !== undefined) account.settled = delta.settled === true;
  rebalance(state, wallet, account);
  dropIfEmpty(wallet, account);
}

function evolveReserveRule(state: LedgerState, delta: ReserveRuleDelta): void {
  const wallet = walletOf(state, delta.wallet);
  wallet.reserveRule = delta.rule;
  for (const account of wallet.accounts.values()) {
    account.rule = delta.rule;
    rebalance(state, wallet, account);
  }
}

/** Updates the reserved money of the wallet after a change of an account. */
function rebalance(state: LedgerState, wallet: Wallet, account: Account): void {
  const funds = wallet.funds[account.currency];
  const reserve = account.reserve(wallet.policy);
  const sums = state.funds[account.currency];
  const change = subtract(reserve, account.reserved);
  funds.reserved = add(funds.reserved, change);
  sums.reserved = add(sums.reserved, change);
  account.reserved = reserve;
}

function dropIfEmpty(wallet: Wallet, account: Account): void {
  if (account.isEmpty) wallet.accounts.delete(accountKey(account.marketId, account.currency));
}

function evolveEntry(state: LedgerState, delta: EntryDelta, ts: number): void {
  const funds = walletOf(state, delta.wallet).funds[delta.currency];
  const sums = state.funds[delta.currency];
  funds.total = add(funds.total, delta.amount);
  sums.total = add(sums.total, delta.amount);
  state.entries += 1;
  const totals = state.totals[delta.currency];
  switch (delta.kind) {
    case "FILL":
    case "SETTLEMENT":
      totals.received = add(totals.received, delta.amount);
      break;
    case "FEE":
    case "MAKER_CREDIT":
      totals.house = subtract(totals.house, delta.amount);
      break;
    case "DEPOSIT":
    case "CREDIT":
    case "FORWARDING":
      totals.deposits = add(totals.deposits, delta.amount);
      break;
    case "WITHDRAWAL":
    case "CREDIT_RECLAIM":
      totals.withdrawals = subtract(totals.withdrawals, delta.amount);
      break;
    case "ADJUSTMENT":
      totals.adjustments = add(totals.adjustments, delta.amount);
      break;
    case "TRANSFER_IN":
    case "TRANSFER_OUT":
      break;
    default:
      unreachable(delta.kind);
  }
  if (delta.clientRef !== undefined) {
    const { trader } = walletOf(state, delta.wallet);
    state.known.addTransaction(pairKey(trader, delta.clientRef), delta.transactionId, ts);
  }
}

/** Checks the emitted balance against the fold. */
function checkBalance(state: LedgerState, delta: BalanceDelta): void {
  const { total, reserved } = walletOf(state, delta.wallet).funds[delta.currency];
  const agrees = total === delta.total && reserved === delta.reserved;
  assert(agrees, "the emitted balance differs from the folded balance", delta.wallet);
}
