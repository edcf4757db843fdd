/** Orders at the ledger: acceptance, amendments, previews (contract sections 3.2, 5.15 and 5.16). */

import { CLIENT_ID_MS, MAX_MARKET_ORDERS, MAX_OPEN_ORDERS } from "../limits.js";
import { rulesOf } from "../market/time-in-force.js";
import { CURRENCIES, type Order } from "../market/types.js";
import { add, assert, MAX_CONTRACTS, type Millicents, subtract } from "../units.js";
import { Account } from "./account.js";
import type { LedgerCommand, LedgerReply, PlaceResult } from "./commands.js";
import type { AcceptedDelta } from "./deltas.js";
import type { Emitter } from "./emitter.js";
import { accountOrder, originalOf } from "./fold.js";
import { digestOf, isFixed, textOf } from "./ids/digest.js";
import { type Known, pairKey } from "./ids/known.js";
import type { FirstOrder } from "./ids/recent.js";
import { accountKey, available, type LedgerState, type Wallet } from "./state.js";
import type { LedgerRefusal, Limits, OrderRequest } from "./types.js";

type PlaceCommand = Extract<LedgerCommand, { kind: "place" }>;
/** The first order of each client id of a command. */
type KnownClientIds = Map<string, Known<FirstOrder>>;

/**
 * Accepts or refuses the orders one by one; with `atomic`, accepts all of them or none. Does nothing while the client id
 * of any order is uncertain.
 */
export function place(emitter: Emitter, command: PlaceCommand): LedgerReply {
  const known = knownIds(emitter, command);
  const ids = [...known].flatMap(([clientId, first]) => (first === "uncertain" ? [clientId] : []));
  if (ids.length > 0)
    return { ok: true, kind: "uncertain", ids, sinceMs: emitter.state.known.ordersSince(emitter.nowMs) };
  const { orders, own } = command;
  if (emitter.state.wallets.has(command.wallet)) emitter.changedOver(command.wallet);
  if (command.atomic) {
    const results = checkAll(emitter, command, known);
    if (results.some((result) => !result.ok)) return { ok: true, kind: "placed", results, own };
  }
  const results = orders.map((request) => placeOne(emitter, command, request, known));
  return { ok: true, kind: "placed", results, own };
}

function placeOne(
  emitter: Emitter,
  command: PlaceCommand,
  request: OrderRequest,
  known: KnownClientIds,
): PlaceResult {
  const wallet = emitter.walletOrEmpty(command.wallet, command.trader);
  const repeated = repeatOf(wallet, request, known);
  if (repeated !== undefined) return repeated;
  const accepted = acceptance(emitter, wallet, request);
  const refusal = refusalOf(emitter.state, wallet, accepted, command.limits);
  if (refusal !== undefined) return { ok: false, refusal };
  emitter.wallet(command.wallet, command.trader);
  emitter.emit(accepted);
  const { orderId, clientId } = request;
  const { digest } = accepted;
  if (clientId !== undefined && digest !== undefined) known.set(clientId, { orderId, digest });
  return { ok: true, orderId, clientId, repeated: false };
}

/**
 * Returns the answer to each order of an atomic request, as if the orders before it were accepted. Undoes its changes.
 */
function checkAll(emitter: Emitter, command: PlaceCommand, known: KnownClientIds): readonly PlaceResult[] {
  const wallet = emitter.walletOrEmpty(command.wallet, command.trader);
  const undo: (() => void)[] = [];
  const clientIds = new Set<string>();
  const results = command.orders.map((request): PlaceResult => {
    const repeated = repeatOf(wallet, request, known);
    if (repeated !== undefined) return repeated;
    if (request.clientId !== undefined && clientIds.has(request.clientId))
      return { ok: false, refusal: "CLIENT_ID_REUSED" };
    if (request.clientId !== undefined) clientIds.add(request.clientId);
    const accepted = acceptance(emitter, wallet, request);
    const refusal = refusalOf(emitter.state, wallet, accepted, command.limits);
    if (refusal !== undefined) return { ok: false, refusal };
    undo.push(reserve(wallet, accepted));
    return { ok: true, orderId: request.orderId, clientId: request.clientId, repeated: false };
  });
  for (const step of undo.reverse()) step();
  return results;
}

/** Reserves the money of an order as if it were accepted. Returns a function that undoes this. */
function reserve(wallet: Wallet, accepted: AcceptedDelta): () => void {
  const order = accountOrder(accepted);
  const { account, isNew } = accountFor(wallet, accepted);
  const funds = wallet.funds[order.currency];
  const before = { walletReserved: funds.reserved, accountReserved: account.reserved };
  const key = accountKey(order.marketId, order.currency);
  if (isNew) wallet.accounts.set(key, account);
  wallet.orders.set(order.orderId, order);
  account.add(order, originalOf(wallet, accepted));
  account.reserved = account.reserve(wallet.policy);
  funds.reserved = add(funds.reserved, subtract(account.reserved, before.accountReserved));
  return () => {
    wallet.orders.delete(order.orderId);
    account.remove(order);
    account.reserved = before.accountReserved;
    funds.reserved = before.walletReserved;
    if (isNew) wallet.accounts.delete(key);
  };
}

/** Returns what is known of the client ids of a command before any of its orders is accepted. */
function knownIds({ state, nowMs }: Emitter, command: PlaceCommand): KnownClientIds {
  const known: KnownClientIds = new Map();
  for (const { clientId } of command.orders) {
    if (clientId !== undefined && !known.has(clientId))
      known.set(clientId, firstOf(state, command, clientId, nowMs));
  }
  return known;
}

/** Returns the order that was accepted under the client id within its time. */
function firstOf(
  state: LedgerState,
  { wallet, lookedUp }: PlaceCommand,
  clientId: string,
  nowMs: number,
): Known<FirstOrder> {
  const kept = state.clientIds.get(pairKey(wallet, clientId));
  if (kept !== undefined && kept.untilMs > nowMs) return kept;
  const known = state.known.orderOf(wallet, clientId);
  const found = known === "uncertain" ? lookedUp?.find((id) => id.clientId === clientId) : undefined;
  if (found === undefined) return known;
  const { first } = found;
  return first === undefined || first.ts + CLIENT_ID_MS <= nowMs ? "new" : first;
}

/**
 * Returns the first answer to the same `clientId`, or a refusal if the body differs. A request has ids of its own for its
 * orders, so one whose order is open is a repeat too, of which the answer is forgotten.
 */
function repeatOf(wallet: Wallet, request: OrderRequest, known: KnownClientIds): PlaceResult | undefined {
  const { clientId, orderId } = request;
  if (wallet.orders.has(orderId)) return { ok: true, orderId, clientId, repeated: true };
  const first = clientId === undefined ? "new" : known.get(clientId);
  assert(first !== undefined && first !== "uncertain", "an uncertain client id is decided", clientId);
  if (first === "new") return undefined;
  const digest = isFixed(first.digest) ? digestOf(request) : textOf(request);
  if (first.digest !== digest) return { ok: false, refusal: "CLIENT_ID_REUSED" };
  return { ok: true, orderId: first.orderId, clientId, repeated: true };
}

/** Returns the order of a request in the form that its market receives. */
export function orderOf(
  request: OrderRequest,
  owner: Pick<Order, "wallet" | "trader" | "ledger">,
  nowMs: number,
): Order {
  const { orderId, terms, currency, outcome, price, qty, tif, ttlMs, selfTrade, notAfter } = request;
  const { fee, live } = terms;
  const { wallet, trader, ledger } = owner;
  return {
    orderId,
    wallet,
    trader,
    ledger,
    currency,
    outcome,
    price,
    qty,
    tif,
    selfTrade,
    acceptedTs: nowMs,
    expiresAt: rulesOf(tif).expiry?.(nowMs, ttlMs),
    notAfter,
    fee,
    feeReserved: fee.charged === "ALWAYS" || live,
  };
}

/** Returns the delta that would accept a request. */
function acceptance(
  { state, nowMs, format }: Emitter,
  { wallet, trader }: Wallet,
  request: OrderRequest,
): AcceptedDelta {
  const { terms, clientId, groupId } = request;
  const digest = format === 1 ? textOf : digestOf;
  return {
    type: "accepted",
    wallet,
    marketId: terms.marketId,
    order: orderOf(request, { wallet, trader, ledger: state.shard }, nowMs),
    outcomes: terms.outcomes,
    voids: terms.voids,
    clientId,
    digest: clientId === undefined ? undefined : digest(request),
    groupId,
  };
}

function refusalOf(
  state: LedgerState,
  wallet: Wallet,
  accepted: AcceptedDelta,
  limits: Limits = {},
): LedgerRefusal | undefined {
  const restriction = state.restricted.get(wallet.trader);
  if (restriction !== undefined) return restriction;
  if (wallet.closed) return "SUBACCOUNT_NOT_FOUND";
  const { order, groupId } = accepted;
  const { openOrders = MAX_OPEN_ORDERS, positionContracts = MAX_CONTRACTS } = limits;
  if (groupId !== undefined) {
    const group = wallet.groups.get(groupId);
    if (group === undefined) return "GROUP_NOT_FOUND";
    if (group.tripped) return "GROUP_LIMIT";
  }
  const spare = available(wallet, order.currency);
  const tried = withinMost(wallet, accepted, spare) ?? withOrder(wallet, accepted);
  if (!tried.isReplacement && (isFull(wallet, openOrders) || isFullInMarket(wallet, accepted.marketId)))
    return "OPEN_ORDER_LIMIT_EXCEEDED";
  if (tried.exposure > positionContracts) return "POSITION_LIMIT_EXCEEDED";
  if (spare < 0 || tried.reserve > spare) return "INSUFFICIENT_BALANCE";
  return undefined;
}

function accountFor(
  wallet: Wallet,
  { marketId, order, voids, outcomes }: AcceptedDelta,
): { account: Account; isNew: boolean } {
  const found = wallet.accounts.get(accountKey(marketId, order.currency));
  return found === undefined
    ? { account: new Account(marketId, order.currency, voids, outcomes, wallet.reserveRule), isNew: true }
    : { account: found, isNew: false };
}

/** The sizes of a wallet with one more order. */
interface Tried {
  /** True if the order counts as one with the order that it replaces. */
  readonly isReplacement: boolean;
  /** Held and open quantity of the outcome. */
  readonly exposure: number;
  /**
   * Amount by which the order raises the reserve of its account, or more. It is negative for a replacement that needs less.
   */
  readonly reserve: Millicents;
}

/**
 * Returns the sizes of a wallet with one more order, of which `reserve` is the most that it can be, if that is covered and
 * the order replaces no other. Most orders need no closer look, which takes time with the number of orders in the account.
 */
function withinMost(wallet: Wallet, accepted: AcceptedDelta, spare: Millicents): Tried | undefined {
  if (accepted.replaces !== undefined) return undefined;
  const { account } = accountFor(wallet, accepted);
  const order = accountOrder(accepted);
  const reserve = subtract(account.mostWith(order), account.reserved);
  if (reserve > spare) return undefined;
  return {
    isReplacement: false,
    exposure: account.exposure(order.outcome) + order.remaining,
    reserve,
  };
}

/** Returns the exact sizes of a wallet as they would be with one more order. Changes nothing. */
function withOrder(wallet: Wallet, accepted: AcceptedDelta): Tried {
  const { account } = accountFor(wallet, accepted);
  const order = accountOrder(accepted);
  account.add(order, originalOf(wallet, accepted));
  const tried = {
    isReplacement: order.replaces !== undefined,
    exposure: account.exposure(order.outcome),
    reserve: subtract(account.reserve(wallet.policy), account.reserved),
  };
  account.remove(order);
  return tried;
}

/** Returns true for a wallet that may have no more open orders. An order and its replacement are one. */
function isFull({ orders }: Wallet, most: number): boolean {
  if (orders.size < most) return false;
  let count = 0;
  for (const { replaces } of orders.values()) if (replaces === undefined) count += 1;
  return count >= most;
}

/** Returns true for a wallet that may have no more open orders in a market, in all currencies together. */
function isFullInMarket({ orders, accounts }: Wallet, marketId: string): boolean {
  if (orders.size < MAX_MARKET_ORDERS) return false;
  let count = 0;
  for (const currency of CURRENCIES) count += accounts.get(accountKey(marketId, currency))?.openOrders ?? 0;
  return count >= MAX_MARKET_ORDERS;
}

/** Returns the reserve of an order, and its refusal if it would be refused. */
export function preview(emitter: Emitter, command: Extract<LedgerCommand, { kind: "preview" }>): LedgerReply {
  const wallet = emitter.walletOrEmpty(command.wallet, command.trader);
  const accepted = acceptance(emitter, wallet, command.order);
  const { reserve } = withOrder(wallet, accepted);
  return {
    ok: true,
    kind: "preview",
    reserve,
    refusal: refusalOf(emitter.state, wallet, accepted, command.limits),
  };
}

/** Passes an amendment to the market. A lower quantity alone keeps the place; any other change replaces the order. */
export function amend(emitter: Emitter, command: Extract<LedgerCommand, { kind: "amend" }>): LedgerReply {
  const { wallet: walletId, orderId, price, qty, replacement } = command;
  const wallet = emitter.state.wallets.get(walletId);
  const order = wallet?.orders.get(orderId);
  if (wallet === undefined || order === undefined) return { ok: false, refusal: "ORDER_NOT_FOUND" };
  const newQty = qty ?? order.remaining;
  if (newQty === 0 || newQty > MAX_CONTRACTS) return { ok: false, refusal: "QTY_OUT_OF_RANGE" };
  if ((price ?? order.price) === order.price && newQty <= order.remaining) {
    if (newQty < order.remaining)
      emitter.emit({ type: "amending", wallet: walletId, marketId: order.marketId, orderId, qty: newQty });
    return { ok: true, kind: "amended", orderId };
  }
  if (replacement === undefined) return { ok: false, refusal: "QTY_OUT_OF_RANGE" };
  emitter.changedOver(walletId);
  const { currency, outcome, tif, selfTrade, clientId, groupId } = order;
  const request: OrderRequest = {
    ...replacement,
    currency,
    outcome,
    price: price ?? order.price,
    qty: newQty,
    tif,
    selfTrade,
    clientId,
    groupId,
  };
  const accepted = acceptance(emitter, wallet, request);
  const { expiresAt, remaining } = order;
  const replacing = {
    ...accepted,
    order: { ...accepted.order, expiresAt },
    // Without a digest the client id keeps its first order, so a repeat of the placement gets the first acceptance.
    digest: undefined,
    replaces: { orderId, remaining },
  };
  const refusal = refusalOf(emitter.state, wallet, replacing, command.limits);
  if (refusal !== undefined) return { ok: false, refusal };
  emitter.emit(replacing);
  return { ok: true, kind: "amended", orderId: replacement.orderId };
}
