/** Orders in a market: entering, matching, resting, canceling, expiring (contract sections 2 to 4). */

import { deriveId } from "../ids.js";
import { assert, contracts, type Contracts, cost, type Millicents, type Ticks, ZERO } from "../units.js";
import type { Emitter } from "./emitter.js";
import { isCharged, makerCredit, takerFee } from "./fees.js";
import type { RestingOrder } from "./ladder.js";
import { acquire } from "./positions.js";
import type { MarketState } from "./state.js";
import { nearestTick, type Step, sweep } from "./sweep.js";
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
  const matchable = found.steps.reduce((sum, step) => sum + (step.kind === "cancelOwn" ? 0 : step.qty), 0);

  if (order.tif === "PO" && (found.steps.length > 0 || found.metOwn)) {
    reject(emitter, order, "WOULD_MATCH");
    return;
  }
  if (order.tif === "FOK" && matchable < order.qty) {
    reject(emitter, order, "NOT_FILLABLE");
    return;
  }

  let left = order.qty;
  for (const step of found.steps) left = take(emitter, definition, order, step, left);

  if (left === 0) return;
  const untouched = matchable === 0;
  if (found.metOwn) {
    end(emitter, order, left, untouched ? "SELF_TRADE" : undefined, "SELF_TRADE");
    return;
  }
  if (order.tif === "IOC") {
    end(emitter, order, left, untouched ? "NO_MATCH" : undefined, undefined);
    return;
  }
  rest(emitter, order, left);
}

/** An order that does not rest ends: rejected when nothing of it was filled, else canceled for the remainder. */
function end(
  emitter: Emitter,
  order: Order,
  remaining: Contracts,
  rejected: RejectReason | undefined,
  canceled: CancelReason | undefined,
): void {
  if (rejected !== undefined) {
    reject(emitter, order, rejected);
    return;
  }
  const { orderId, wallet, ledger } = order;
  emitter.emit({ type: "order", kind: "cancel", orderId, wallet, ledger, remaining, reason: canceled });
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
  if (held !== undefined) end(emitter, held.order, held.remaining, undefined, reason);
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
