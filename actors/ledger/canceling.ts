/** Cancels at the ledger: selects the orders, and passes the cancels on to the markets. */

import type { AccountOrder } from "./account.js";
import type { LedgerCommand, LedgerReply, OrderFilter } from "./commands.js";
import type { CancelingDelta } from "./deltas.js";
import type { Emitter } from "./emitter.js";
import type { Wallet } from "./state.js";
import type { OpenOrder } from "./types.js";

type Of<Kind extends LedgerCommand["kind"]> = Extract<LedgerCommand, { kind: Kind }>;

/** Returns an open order in the form that clients see. */
function openOrder(order: AccountOrder): OpenOrder {
  const { orderId, clientId, marketId, outcome, currency, price, remaining, tif, pending, expiresAt } = order;
  const status = pending ? "PENDING" : "OPEN";
  return { orderId, clientId, marketId, outcome, currency, price, qty: remaining, tif, status, expiresAt };
}

/** Returns the open orders of a wallet that are chosen, oldest first. */
export function openOrders(
  wallet: Wallet,
  isChosen: (order: Pick<OpenOrder, "orderId">) => boolean = () => true,
): readonly OpenOrder[] {
  return [...wallet.orders.values()].filter(isChosen).map(openOrder);
}

/** Passes cancels on to the markets of the orders that are open. */
export function cancel(emitter: Emitter, { wallet, orderIds, exceptMarkets }: Of<"cancel">): LedgerReply {
  const open = emitter.state.wallets.get(wallet)?.orders;
  const queued: AccountOrder[] = [];
  const unknown: string[] = [];
  let left = 0;
  for (const orderId of new Set(orderIds)) {
    const order = open?.get(orderId);
    if (order === undefined) unknown.push(orderId);
    else if (matches(order, { exceptMarkets })) queued.push(order);
    else left += 1;
  }
  send(emitter, wallet, queued, undefined);
  const reply = { ok: true, kind: "cancels", queued: queued.map(openOrder), unknown } as const;
  return exceptMarkets === undefined ? reply : { ...reply, left };
}

/** Cancels the orders of a wallet that match the filter. The answer counts all of them, also those of later pieces. */
export function cancelAll(
  emitter: Emitter,
  { wallet, filter, reason, from = 0 }: Of<"cancelAll">,
): LedgerReply {
  const chosen = ordersOf(emitter, wallet, filter);
  cancelFrom(emitter, wallet, filter, reason, chosen, from);
  const queued = chosen.slice(0, emitter.bounds.atOnce).map(openOrder);
  const reply = { ok: true, kind: "cancels", queued, unknown: [], count: chosen.length } as const;
  if (filter.exceptMarkets === undefined) return reply;
  const all = ordersOf(emitter, wallet, { ...filter, exceptMarkets: undefined });
  return { ...reply, left: all.length - chosen.length };
}

/** Cancels every order of every wallet of the shard. A piece visits a bounded number of wallets, which it may unpack. */
export function cancelEveryone(emitter: Emitter, { reason, from = 0 }: Of<"cancelEveryone">): LedgerReply {
  const end = from + emitter.bounds.atOnce;
  let next = from;
  for (const wallet of emitter.state.wallets.keys(from)) {
    if (next === end || emitter.room <= 0) {
      emitter.goOn({ kind: "cancelEveryone", reason, from: next });
      break;
    }
    cancelOf(emitter, wallet, {}, reason);
    next += 1;
  }
  return { ok: true, kind: "done" };
}

/** Cancels the selected orders of a wallet: as many as the command has room for at once, and the others in later pieces. */
export function cancelOf(
  emitter: Emitter,
  wallet: string,
  filter: OrderFilter,
  reason: CancelingDelta["reason"],
): void {
  cancelFrom(emitter, wallet, filter, reason, ordersOf(emitter, wallet, filter), 0);
}

/**
 * Cancels all orders of a group, at once or all in later pieces. This command may go on to end some of them, so their
 * numbers change until it has ended.
 */
export function cancelGroup(emitter: Emitter, wallet: string, groupId: string): void {
  const filter = { groupId };
  const reason = "GROUP_LIMIT";
  const orders = ordersOf(emitter, wallet, filter);
  if (orders.length <= emitter.room) send(emitter, wallet, orders, reason);
  else emitter.goOn({ kind: "cancelAll", wallet, filter, reason });
}

/** Cancels those of the chosen orders that an earlier piece has not canceled. No order ends between two pieces. */
function cancelFrom(
  emitter: Emitter,
  wallet: string,
  filter: OrderFilter,
  reason: CancelingDelta["reason"],
  chosen: readonly AccountOrder[],
  from: number,
): void {
  const end = from + Math.max(0, emitter.room);
  send(emitter, wallet, chosen.slice(from, end), reason);
  if (end < chosen.length) emitter.goOn({ kind: "cancelAll", wallet, filter, reason, from: end });
}

function ordersOf({ state }: Emitter, wallet: string, filter: OrderFilter): readonly AccountOrder[] {
  const orders = state.wallets.get(wallet)?.orders.values() ?? [];
  return [...orders].filter((order) => matches(order, filter));
}

function matches(
  order: AccountOrder,
  { groupId, marketIds, exceptMarkets, outcome, currency }: OrderFilter,
): boolean {
  if (exceptMarkets?.includes(order.marketId) === true) return false;
  if (groupId !== undefined && groupId !== order.groupId) return false;
  if (marketIds !== undefined && !marketIds.includes(order.marketId)) return false;
  if (outcome !== undefined && (outcome.marketId !== order.marketId || outcome.outcome !== order.outcome))
    return false;
  return currency === undefined || currency === order.currency;
}

/** Sends each market its orders, in cancels that the market works off in one piece each. */
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
  const { piece } = emitter.bounds;
  for (const [marketId, all] of byMarket) {
    for (let from = 0; from < all.length; from += piece) {
      const orderIds = all.slice(from, from + piece);
      emitter.emit({ type: "canceling", wallet, marketId, orderIds, reason });
    }
  }
}
