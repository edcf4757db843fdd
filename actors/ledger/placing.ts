/** Orders at the ledger: acceptance, reservation, and the way to the market for orders, cancels and amendments. */

import type { Currency, Order } from "../market/types.js";
import { add, type Contracts, MAX_CONTRACTS, type Millicents, subtract } from "../units.js";
import { Account, type AccountOrder } from "./account.js";
import type { LedgerCommand, LedgerReply, OrderFilter, PlaceResult } from "./commands.js";
import type { AcceptedDelta } from "./deltas.js";
import type { Emitter } from "./emitter.js";
import {
  accountKey,
  accountOrder,
  available,
  emptyWallet,
  type LedgerState,
  pairKey,
  type Wallet,
} from "./state.js";
import type { LedgerRefusal, OpenOrder, OrderRequest } from "./types.js";

/** Open orders a wallet may have at once. */
export const MAX_OPEN_ORDERS = 20_000;

type PlaceCommand = Extract<LedgerCommand, { kind: "place" }>;

/** Judges the orders one by one; with `atomic`, accepts all of them or none. */
export function place(emitter: Emitter, command: PlaceCommand): LedgerReply {
  if (command.atomic) {
    const refusals = rehearse(emitter, command);
    if (refusals.some((result) => !result.ok)) return { ok: true, kind: "placed", results: refusals };
  }
  return {
    ok: true,
    kind: "placed",
    results: command.orders.map((request) => placeOne(emitter, command, request)),
  };
}

function placeOne(emitter: Emitter, command: PlaceCommand, request: OrderRequest): PlaceResult {
  const { state } = emitter;
  const wallet = state.wallets.get(command.wallet) ?? emptyWallet(command.wallet, command.trader);
  const repeated = repeatOf(state, wallet, request, emitter.nowMs);
  if (repeated !== undefined) return repeated;
  const accepted = acceptance(state, wallet, request, emitter.nowMs);
  const refusal = judge(wallet, accepted);
  if (refusal !== undefined) return { ok: false, refusal };
  emitter.wallet(command.wallet, command.trader);
  emitter.emit(accepted);
  return { ok: true, orderId: request.orderId, clientId: request.clientId, repeated: false };
}

/** What each order of an atomic request would get after those before it; afterwards nothing has changed. */
function rehearse(emitter: Emitter, command: PlaceCommand): readonly PlaceResult[] {
  const { state } = emitter;
  const wallet = state.wallets.get(command.wallet) ?? emptyWallet(command.wallet, command.trader);
  const undo: (() => void)[] = [];
  const clientIds = new Set<string>();
  const results = command.orders.map((request): PlaceResult => {
    const repeated = repeatOf(state, wallet, request, emitter.nowMs);
    if (repeated !== undefined) return repeated;
    if (request.clientId !== undefined && clientIds.has(request.clientId))
      return { ok: false, refusal: "CLIENT_ID_REUSED" };
    if (request.clientId !== undefined) clientIds.add(request.clientId);
    const accepted = acceptance(state, wallet, request, emitter.nowMs);
    const refusal = judge(wallet, accepted);
    if (refusal !== undefined) return { ok: false, refusal };
    undo.push(reserve(wallet, accepted));
    return { ok: true, orderId: request.orderId, clientId: request.clientId, repeated: false };
  });
  for (const step of undo.reverse()) step();
  return results;
}

/** Holds the order's money back in the state as if it had been accepted; the result takes that back. */
function reserve(wallet: Wallet, accepted: AcceptedDelta): () => void {
  const order = accountOrder(accepted);
  const { account, isNew } = accountFor(wallet, accepted);
  const funds = wallet.funds[order.currency];
  const before = { walletReserved: funds.reserved, accountReserved: account.reserved };
  const key = accountKey(order.marketId, order.currency);
  if (isNew) wallet.accounts.set(key, account);
  wallet.orders.set(order.orderId, order);
  account.add(order);
  account.reserved = account.reserve();
  funds.reserved = add(funds.reserved, subtract(account.reserved, before.accountReserved));
  return () => {
    wallet.orders.delete(order.orderId);
    account.take(order);
    account.reserved = before.accountReserved;
    funds.reserved = before.walletReserved;
    if (isNew) wallet.accounts.delete(key);
  };
}

/** The first answer to the same `clientId`, or the refusal of it with another body. */
function repeatOf(
  state: LedgerState,
  wallet: Wallet,
  request: OrderRequest,
  nowMs: number,
): PlaceResult | undefined {
  const { clientId } = request;
  if (clientId === undefined) return undefined;
  const known = state.clientIds.get(pairKey(wallet.wallet, clientId));
  if (known === undefined || known.untilMs <= nowMs) return undefined;
  if (known.digest !== digestOf(request)) return { ok: false, refusal: "CLIENT_ID_REUSED" };
  return { ok: true, orderId: known.orderId, clientId, repeated: true };
}

/** All that the caller chose about an order, as one string. */
function digestOf(request: OrderRequest): string {
  const { terms, currency, outcome, price, qty, tif, ttlMs, selfTrade, notAfter, groupId } = request;
  return [terms.marketId, currency, outcome, price, qty, tif, ttlMs, selfTrade, notAfter, groupId].join(" ");
}

/** The delta that accepts a request, should it be accepted. */
function acceptance(state: LedgerState, wallet: Wallet, request: OrderRequest, nowMs: number): AcceptedDelta {
  const {
    orderId,
    terms,
    currency,
    outcome,
    price,
    qty,
    tif,
    ttlMs,
    clientId,
    selfTrade,
    notAfter,
    groupId,
  } = request;
  const { fee } = terms;
  const order: Order = {
    orderId,
    wallet: wallet.wallet,
    trader: wallet.trader,
    ledger: state.shard,
    currency,
    outcome,
    price,
    qty,
    tif,
    selfTrade,
    expiresAt: ttlMs === undefined ? undefined : nowMs + ttlMs,
    notAfter,
    fee,
    feeReserved: fee.charged === "ALWAYS" || terms.live,
  };
  return {
    type: "accepted",
    wallet: wallet.wallet,
    marketId: terms.marketId,
    order,
    outcomes: terms.outcomes,
    voids: terms.voids,
    clientId,
    digest: clientId === undefined ? undefined : digestOf(request),
    groupId,
  };
}

function judge(wallet: Wallet, accepted: AcceptedDelta): LedgerRefusal | undefined {
  const { order } = accepted;
  if (wallet.orders.size >= MAX_OPEN_ORDERS) return "OPEN_ORDER_LIMIT_EXCEEDED";
  const { account } = accountFor(wallet, accepted);
  if (account.exposure(order.outcome) + order.qty > MAX_CONTRACTS) return "POSITION_LIMIT_EXCEEDED";
  const spare = available(wallet, order.currency);
  if (spare < 0 || reserveFor(account, accountOrder(accepted)) > spare) return "INSUFFICIENT_BALANCE";
  return undefined;
}

function accountFor(
  wallet: Wallet,
  { marketId, order, voids, outcomes }: AcceptedDelta,
): { account: Account; isNew: boolean } {
  const found = wallet.accounts.get(accountKey(marketId, order.currency));
  return found === undefined
    ? { account: new Account(marketId, order.currency, voids, outcomes), isNew: true }
    : { account: found, isNew: false };
}

/** How much more an account must hold back with one order more. */
function reserveFor(account: Account, order: AccountOrder): Millicents {
  account.add(order);
  const reserve = account.reserve();
  account.take(order);
  return subtract(reserve, account.reserved);
}

/** An open order as clients see it. */
export function openOrder(order: AccountOrder): OpenOrder {
  const { orderId, clientId, marketId, outcome, currency, price, remaining, tif, pending, expiresAt } = order;
  return {
    orderId,
    clientId,
    marketId,
    outcome,
    currency,
    price,
    qty: remaining,
    tif,
    status: pending ? "PENDING" : "OPEN",
    expiresAt,
  };
}

type CancelReason = "DISCONNECTED" | "MAINTENANCE" | "GROUP_LIMIT";

/** Passes cancels on to the markets of those orders that are open. */
export function cancel(emitter: Emitter, walletId: string, orderIds: readonly string[]): LedgerReply {
  const open = emitter.state.wallets.get(walletId)?.orders;
  const queued: AccountOrder[] = [];
  const unknown: string[] = [];
  for (const orderId of new Set(orderIds)) {
    const order = open?.get(orderId);
    if (order === undefined) unknown.push(orderId);
    else queued.push(order);
  }
  sendCancels(emitter, walletId, queued, undefined);
  return { ok: true, kind: "cancels", queued: queued.map(openOrder), unknown };
}

export function cancelAll(
  emitter: Emitter,
  walletId: string,
  filter: OrderFilter,
  reason: CancelReason | undefined,
): LedgerReply {
  const open = emitter.state.wallets.get(walletId)?.orders.values() ?? [];
  const queued = [...open].filter((order) => matches(order, filter));
  sendCancels(emitter, walletId, queued, reason);
  return { ok: true, kind: "cancels", queued: queued.map(openOrder), unknown: [] };
}

function matches(order: AccountOrder, { marketIds, outcome, currency }: OrderFilter): boolean {
  if (marketIds !== undefined && !marketIds.includes(order.marketId)) return false;
  if (outcome !== undefined && (outcome.marketId !== order.marketId || outcome.outcome !== order.outcome))
    return false;
  return currency === undefined || currency === order.currency;
}

function sendCancels(
  emitter: Emitter,
  wallet: string,
  orders: readonly AccountOrder[],
  reason: CancelReason | undefined,
): void {
  const byMarket = new Map<string, string[]>();
  for (const { marketId, orderId } of orders) {
    const orderIds = byMarket.get(marketId);
    if (orderIds === undefined) byMarket.set(marketId, [orderId]);
    else orderIds.push(orderId);
  }
  for (const [marketId, orderIds] of byMarket)
    emitter.emit({ type: "canceling", wallet, marketId, orderIds, reason });
}

/** Passes an amendment to less on to the order's market. */
export function amend(emitter: Emitter, walletId: string, orderId: string, qty: Contracts): LedgerReply {
  const order = emitter.state.wallets.get(walletId)?.orders.get(orderId);
  if (order === undefined) return { ok: true, kind: "cancels", queued: [], unknown: [orderId] };
  if (qty === 0 || qty > order.remaining) return { ok: false, refusal: "QTY_OUT_OF_RANGE" };
  emitter.emit({ type: "amending", wallet: walletId, marketId: order.marketId, orderId, qty });
  return { ok: true, kind: "cancels", queued: [openOrder(order)], unknown: [] };
}

/** All open orders of a wallet in a currency, oldest first. */
export function openOrders(wallet: Wallet, currency?: Currency): readonly OpenOrder[] {
  return [...wallet.orders.values()]
    .filter((order) => currency === undefined || order.currency === currency)
    .map(openOrder);
}
