/** Cancels at the ledger: selects the orders, and passes the cancels on to the markets. */

import type { Currency } from "../market/types.js";
import type { AccountOrder } from "./account.js";
import type { LedgerReply, OrderFilter } from "./commands.js";
import type { CancelingDelta } from "./deltas.js";
import type { Emitter } from "./emitter.js";
import type { Wallet } from "./state.js";
import type { OpenOrder } from "./types.js";

/** Returns an open order in the form that clients see. */
function openOrder(order: AccountOrder): OpenOrder {
  const { orderId, clientId, marketId, outcome, currency, price, remaining, tif, pending, expiresAt } = order;
  const status = pending ? "PENDING" : "OPEN";
  return { orderId, clientId, marketId, outcome, currency, price, qty: remaining, tif, status, expiresAt };
}

/** Returns the open orders of a wallet, oldest first; with a currency, only those in it. */
export function openOrders(wallet: Wallet, currency?: Currency): readonly OpenOrder[] {
  const orders = [...wallet.orders.values()];
  return orders.filter((order) => currency === undefined || order.currency === currency).map(openOrder);
}

/** Passes cancels on to the markets of the orders that are open. */
export function cancel(emitter: Emitter, walletId: string, orderIds: readonly string[]): LedgerReply {
  const open = emitter.state.wallets.get(walletId)?.orders;
  const queued: AccountOrder[] = [];
  const unknown: string[] = [];
  for (const orderId of new Set(orderIds)) {
    const order = open?.get(orderId);
    if (order === undefined) unknown.push(orderId);
    else queued.push(order);
  }
  send(emitter, walletId, queued, undefined);
  return { ok: true, kind: "cancels", queued: queued.map(openOrder), unknown };
}

/** Cancels the orders of a wallet that match the filter. */
export function cancelAll(
  emitter: Emitter,
  walletId: string,
  filter: OrderFilter,
  reason: CancelingDelta["reason"],
): LedgerReply {
  const queued = cancelWhere(emitter, walletId, (order) => matches(order, filter), reason);
  return { ok: true, kind: "cancels", queued: queued.map(openOrder), unknown: [] };
}

/** Cancels every order of every wallet of the shard. */
export function cancelEveryone(emitter: Emitter, reason: CancelingDelta["reason"]): LedgerReply {
  for (const wallet of emitter.state.wallets.keys()) cancelWhere(emitter, wallet, () => true, reason);
  return { ok: true, kind: "done" };
}

/** Passes on the cancels of the chosen orders of a wallet, and returns these orders. */
export function cancelWhere(
  emitter: Emitter,
  walletId: string,
  isChosen: (order: AccountOrder) => boolean,
  reason: CancelingDelta["reason"],
): readonly AccountOrder[] {
  const chosen = [...(emitter.state.wallets.get(walletId)?.orders.values() ?? [])].filter(isChosen);
  send(emitter, walletId, chosen, reason);
  return chosen;
}

function matches(order: AccountOrder, { marketIds, outcome, currency }: OrderFilter): boolean {
  if (marketIds !== undefined && !marketIds.includes(order.marketId)) return false;
  if (outcome !== undefined && (outcome.marketId !== order.marketId || outcome.outcome !== order.outcome))
    return false;
  return currency === undefined || currency === order.currency;
}

function send(
  emitter: Emitter,
  wallet: string,
  orders: readonly AccountOrder[],
  reason: CancelingDelta["reason"],
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
