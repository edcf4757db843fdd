/** Orders in a market: entering, matching, resting, canceling, expiring (contract sections 2 to 4). */

import { deriveId } from "../ids.js";
import { add, assert, contracts, type Contracts, cost, type Millicents, type Ticks, ZERO } from "../units.js";
import type { OrderPreview } from "./commands.js";
import type { Emitter } from "./emitter.js";
import { isCharged, makerCredit, takerFee } from "./fees.js";
import type { RestingOrder } from "./ladder.js";
import { acquire } from "./positions.js";
import type { MarketState } from "./state.js";
import { nearestTick, type Step, type Sweep, sweep } from "./sweep.js";
import {
  CURRENCIES,
  type CancelReason,
  type MarketDefinition,
  type Order,
  type RejectReason,
} from "./types.js";

/** An order arrives from its ledger: it is rejected, held for the in-play delay, or executed. */
export function enter(emitter: Emitter, order: Order): void {
  const { state, nowMs } = emitter;
  const refusal = refusalOf(state, order, nowMs);
  if (refusal !== undefined) {
    reject(emitter, order, refusal);
    return;
  }
  const delayMs = state.live ? (state.definition?.liveDelayMs ?? 0) : 0;
  if (delayMs > 0 && order.tif !== "PO") {
    emitter.emit({ type: "order", kind: "hold", order, untilMs: nowMs + delayMs });
    return;
  }
  execute(emitter, order);
}

function refusalOf(state: MarketState, order: Order, nowMs: number): RejectReason | undefined {
  if (state.definition === undefined || state.status !== "OPEN") return "MARKET_CLOSED";
  if (order.outcome >= state.definition.outcomes.length) return "UNKNOWN_OUTCOME";
  if (state.paused) return "MARKET_PAUSED";
  if (order.notAfter !== undefined && nowMs > order.notAfter) return "EXPIRED_IN_FLIGHT";
  if (order.expiresAt !== undefined && nowMs >= order.expiresAt) return "EXPIRED";
  // Accepted before the event went live, so no fee was reserved: it goes the way of the orders that were resting.
  if (!order.feeReserved && isCharged(order.fee, state.live)) return "GO_LIVE";
  return undefined;
}

function reject(emitter: Emitter, order: Order, reason: RejectReason): void {
  const { orderId, wallet, ledger } = order;
  emitter.emit({ type: "order", kind: "reject", orderId, wallet, ledger, reason });
}

function execute(emitter: Emitter, order: Order): void {
  const { definition, books } = emitter.state;
  assert(definition !== undefined, "an order executes in a market that does not exist");
  const found = sweep(books[order.currency].ladders, order, definition.ticks);
  const refusal = refusalOfSweep(order, found);
  if (refusal !== undefined) {
    // An order that cancels its trader's own does so even when nothing else is there for it.
    if (refusal === "NO_MATCH")
      for (const step of found.steps) take(emitter, definition, order, step, order.qty);
    reject(emitter, order, refusal);
    return;
  }

  let left = order.qty;
  for (const step of found.steps) left = take(emitter, definition, order, step, left);

  if (left === 0) return;
  if (found.metOwn) end(emitter, order, left, "SELF_TRADE");
  else if (order.tif === "IOC") end(emitter, order, left, undefined);
  else rest(emitter, order, left);
}

/** Why an order that finds this in the book is rejected whole: only orders that may not rest, or may only rest, are. */
function refusalOfSweep({ tif }: Order, found: Sweep): RejectReason | undefined {
  const untouched = !found.steps.some((step) => step.kind !== "cancelOwn");
  if (tif === "PO") return found.steps.length > 0 || found.metOwn ? "WOULD_MATCH" : undefined;
  if (tif === "FOK" && found.left > 0) return "NOT_FILLABLE";
  if (!untouched) return undefined;
  if (found.metOwn) return "SELF_TRADE";
  return tif === "IOC" ? "NO_MATCH" : undefined;
}

/** What is left of an order that does not rest goes. */
function end(emitter: Emitter, order: Order, remaining: Contracts, reason: CancelReason | undefined): void {
  const { orderId, wallet, ledger } = order;
  emitter.emit({ type: "order", kind: "cancel", orderId, wallet, ledger, remaining, reason });
}

function rest(emitter: Emitter, order: Order, qty: Contracts): void {
  const { orderId, currency, outcome, price } = order;
  emitter.emit({ type: "order", kind: "open", order, qty });
  emitter.emit({
    type: "book",
    seq: emitter.seq(currency, "book"),
    currency,
    kind: "add",
    orderId,
    outcome,
    price,
    qty,
  });
}

/** Carries out one step of a sweep; gives what is left of the taker's order after it. */
function take(
  emitter: Emitter,
  definition: MarketDefinition,
  order: Order,
  step: Step,
  left: Contracts,
): Contracts {
  switch (step.kind) {
    case "cancelOwn":
      emitter.cancelResting(step.own, "SELF_TRADE");
      return left;
    case "wash":
      return wash(emitter, order, step.own, step.qty, left);
    case "match":
      return match(emitter, definition, order, step, left);
    default:
      return step satisfies never;
  }
}

function wash(emitter: Emitter, order: Order, own: RestingOrder, qty: Contracts, left: Contracts): Contracts {
  const { marketId, matches } = emitter.state;
  const remaining = contracts(left - qty);
  const ownRemaining = contracts(own.remaining - qty);
  const nothing = { cost: ZERO, payout: ZERO, fee: ZERO, credit: ZERO, wash: true } as const;
  const matchId = deriveId(marketId, "match", matches);
  for (const side of [
    { order: own.order, remaining: ownRemaining, taker: false },
    { order, remaining, taker: true },
  ]) {
    const { orderId, wallet, ledger, currency, outcome, price } = side.order;
    const fillId = fillIdOf(marketId, matches, side.taker ? order.outcome : outcome);
    const common = {
      orderId,
      wallet,
      ledger,
      currency,
      outcome,
      price,
      qty,
      remaining: side.remaining,
      taker: side.taker,
    };
    emitter.emit({ type: "order", kind: "fill", fillId, matchId, ...common, ...nothing });
  }
  emitter.executeResting(own, ownRemaining);
  return remaining;
}

function match(
  emitter: Emitter,
  definition: MarketDefinition,
  order: Order,
  step: Extract<Step, { kind: "match" }>,
  left: Contracts,
): Contracts {
  const { state } = emitter;
  const { currency } = order;
  const matchNumber = state.matches;
  const matchId = deriveId(state.marketId, "match", matchNumber);
  const charged = isCharged(order.fee, state.live);
  const fee = charged ? takerFee(order.fee, step.price, step.qty) : ZERO;
  const credit = makerCredit(order.fee, fee, step.legs.length);

  for (const { resting, price } of step.legs) {
    const { outcome } = resting.order;
    const remaining = contracts(resting.remaining - step.qty);
    const fillId = fillIdOf(state.marketId, matchNumber, outcome);
    fill(emitter, definition, resting.order, {
      fillId,
      matchId,
      price,
      qty: step.qty,
      remaining,
      fee: ZERO,
      credit,
      taker: false,
    });
    emitter.executeResting(resting, remaining);
    emitter.emit({
      type: "trade",
      seq: emitter.seq(currency, "trades"),
      currency,
      tradeId: deriveId(state.marketId, "trade", matchNumber * MAX_OUTCOMES + outcome),
      matchId,
      outcome,
      price: nearestTick(definition.ticks, price),
      qty: step.qty,
    });
  }
  const remaining = contracts(left - step.qty);
  const fillId = fillIdOf(state.marketId, matchNumber, order.outcome);
  fill(emitter, definition, order, {
    fillId,
    matchId,
    price: step.price,
    qty: step.qty,
    remaining,
    fee,
    credit: ZERO,
    taker: true,
  });
  const printed = nearestTick(definition.ticks, step.price);
  emitter.emit({ type: "match", currency, outcome: order.outcome, price: printed, qty: step.qty });
  return remaining;
}

export const MAX_OUTCOMES = 64;

/** A match has one fill per outcome, so the match's number and the outcome name it. */
function fillIdOf(marketId: string, matchNumber: number, outcome: number): string {
  return deriveId(marketId, "fill", matchNumber * MAX_OUTCOMES + outcome);
}

interface Execution {
  readonly fillId: string;
  readonly matchId: string;
  readonly price: Ticks;
  readonly qty: Contracts;
  readonly remaining: Contracts;
  readonly fee: Millicents;
  readonly credit: Millicents;
  readonly taker: boolean;
}

/** One side of a match: the fill, and what it makes of the wallet's position. */
function fill(emitter: Emitter, definition: MarketDefinition, order: Order, execution: Execution): void {
  const { orderId, wallet, ledger, currency, outcome } = order;
  const { positions } = emitter.state.books[currency];
  const position = positions.get(wallet);
  const paid = cost(execution.price, execution.qty);
  const after = acquire(position, definition.outcomes.length, definition.voids, outcome, execution.qty, paid);
  const lockedBefore = { win: position?.win ?? ZERO, push: position?.push ?? ZERO };
  emitter.emit({
    type: "order",
    kind: "fill",
    orderId,
    wallet,
    ledger,
    currency,
    outcome,
    ...execution,
    cost: paid,
    payout: after.payout,
    wash: false,
  });
  for (const { outcome: changed, holding } of after.holdings) {
    emitter.emit({
      type: "position",
      wallet,
      ledger,
      currency,
      outcome: changed,
      qty: holding.qty,
      cost: holding.cost,
    });
  }
  if (after.win !== lockedBefore.win || after.push !== lockedBefore.push) {
    emitter.emit({ type: "locked", wallet, ledger, currency, win: after.win, push: after.push });
  }
}

/** Cancels the orders that are still here, wherever they wait; the others reached their end before. */
export function cancel(
  emitter: Emitter,
  orderIds: readonly string[],
  reason: CancelReason | undefined,
): void {
  for (const orderId of orderIds) cancelOne(emitter, orderId, reason);
}

function cancelOne(emitter: Emitter, orderId: string, reason: CancelReason | undefined): void {
  const { state } = emitter;
  for (const currency of CURRENCIES) {
    const resting = state.books[currency].resting.get(orderId);
    if (resting !== undefined) {
      emitter.cancelResting(resting, reason);
      return;
    }
  }
  const held = state.held.get(orderId);
  if (held !== undefined) end(emitter, held.order, held.remaining, reason);
}

/** Cancels everything in both books and everything held. */
export function clear(emitter: Emitter, reason: CancelReason): void {
  const { state } = emitter;
  for (const currency of CURRENCIES) {
    for (const resting of [...state.books[currency].resting.values()]) emitter.cancelResting(resting, reason);
  }
  cancel(emitter, [...state.held.keys()], reason);
}

/** Brings an order down to `qty` left, keeping its place. An order that is gone or has less left is left alone. */
export function amend(emitter: Emitter, orderId: string, qty: Contracts): void {
  const { state } = emitter;
  for (const currency of CURRENCIES) {
    const resting = state.books[currency].resting.get(orderId);
    if (resting === undefined || resting.remaining <= qty) continue;
    const { wallet, ledger } = resting.order;
    emitter.emit({
      type: "book",
      seq: emitter.seq(currency, "book"),
      currency,
      kind: "update",
      orderId,
      remaining: qty,
    });
    emitter.emit({ type: "order", kind: "reduce", orderId, wallet, ledger, remaining: qty });
  }
  const held = state.held.get(orderId);
  if (held !== undefined && held.remaining > qty) {
    const { wallet, ledger } = held.order;
    emitter.emit({ type: "order", kind: "reduce", orderId, wallet, ledger, remaining: qty });
  }
}

/**
 * Cancels an order and enters another in its stead. What filled of the first since the ledger looked comes off the
 * second; when the first is gone, or nothing is left for the second, the second is rejected.
 */
export function replace(emitter: Emitter, order: Order, orderId: string, remaining: Contracts): void {
  const left = remainingOf(emitter.state, orderId);
  const qty = order.qty - (remaining - (left ?? 0));
  if (left !== undefined) cancelOne(emitter, orderId, undefined);
  if (left === undefined || qty <= 0) {
    reject(emitter, order, "CANCELED");
    return;
  }
  if (qty < order.qty) {
    const { wallet, ledger } = order;
    emitter.emit({
      type: "order",
      kind: "reduce",
      orderId: order.orderId,
      wallet,
      ledger,
      remaining: contracts(qty),
    });
  }
  enter(emitter, { ...order, qty: contracts(qty) });
}

function remainingOf(state: MarketState, orderId: string): Contracts | undefined {
  const { CASH, COIN } = state.books;
  return (CASH.resting.get(orderId) ?? COIN.resting.get(orderId) ?? state.held.get(orderId))?.remaining;
}

/** What an order would do now, by the same sweep that executes. */
export function preview(state: MarketState, order: Order, nowMs: number): OrderPreview {
  const nothing = { fills: [], fee: ZERO, rests: contracts(0), queueAhead: contracts(0) };
  const refusal = refusalOf(state, order, nowMs);
  if (refusal !== undefined || state.definition === undefined) return { ...nothing, reject: refusal };
  const { ladders } = state.books[order.currency];
  const found = sweep(ladders, order, state.definition.ticks);
  const reason = refusalOfSweep(order, found);
  if (reason !== undefined) return { ...nothing, reject: reason };

  const matches = found.steps.flatMap((step) => (step.kind === "match" ? [step] : []));
  const charged = isCharged(order.fee, state.live);
  const fee = matches.reduce(
    (sum, { price, qty }) => (charged ? add(sum, takerFee(order.fee, price, qty)) : sum),
    ZERO,
  );
  const rests = order.tif === "IOC" || found.metOwn ? contracts(0) : found.left;
  const level = ladders[order.outcome]?.levels.find(({ price }) => price === order.price);
  const queueAhead = rests === 0 ? contracts(0) : (level?.qty ?? contracts(0));
  return { fills: matches.map(({ price, qty }) => ({ price, qty })), fee, rests, queueAhead };
}

/** What is due by now: held orders enter, expired ones are canceled. */
export function runDeadlines(emitter: Emitter): void {
  const { state, nowMs } = emitter;
  for (
    let due = state.deadlines.first();
    due !== undefined && due.at <= nowMs;
    due = state.deadlines.first()
  ) {
    state.deadlines.pop();
    const held = state.held.get(due.what);
    if (held === undefined) {
      if (isExpired(state, due.what, nowMs)) cancelOne(emitter, due.what, undefined);
    } else if (held.untilMs <= nowMs) {
      const order = { ...held.order, qty: held.remaining };
      const refusal = refusalOf(state, order, nowMs);
      if (refusal === undefined) execute(emitter, order);
      else reject(emitter, order, refusal);
    }
  }
}

function isExpired(state: MarketState, orderId: string, nowMs: number): boolean {
  return CURRENCIES.some((currency) => {
    const expiresAt = state.books[currency].resting.get(orderId)?.order.expiresAt;
    return expiresAt !== undefined && expiresAt <= nowMs;
  });
}
