/** Orders in a market: entry, matching, resting, cancels, expiry (contract sections 2 to 4). */

import { BOUNDS } from "../limits.js";
import { add, assert, contracts, type Contracts, NONE, ZERO } from "../units.js";
import { isFillable } from "./book/fillable.js";
import { type Sweep, sweep } from "./book/sweep.js";
import type { MarketCommand, OrderPreview } from "./commands.js";
import type { Emitter } from "./emitter.js";
import { isCharged, takerFee } from "./fees.js";
import { executeStep } from "./matching.js";
import type { MarketState } from "./state.js";
import { rulesOf } from "./time-in-force.js";
import { CURRENCIES, type CancelReason, type Order, type RejectReason } from "./types.js";

type CancelCommand = Extract<MarketCommand, { kind: "cancel" }>;

/** Receives an order from its ledger: rejects it, holds it for the in-play delay, or executes it. */
export function enter(emitter: Emitter, order: Order): void {
  const { state, nowMs } = emitter;
  const refusal = refusalOf(state, order, nowMs);
  if (refusal !== undefined) {
    reject(emitter, order, refusal);
    return;
  }
  const delayMs = state.live ? (state.definition?.liveDelayMs ?? 0) : 0;
  if (delayMs > 0 && rulesOf(order.tif).mayTake) {
    emitter.emit({ type: "order", kind: "hold", order, untilMs: nowMs + delayMs });
    return;
  }
  execute(emitter, order);
}

function refusalOf(state: MarketState, order: Order, nowMs: number): RejectReason | undefined {
  if (state.definition === undefined || state.status !== "OPEN") return "MARKET_CLOSED";
  if (order.outcome >= state.definition.outcomes.length) return "UNKNOWN_OUTCOME";
  if (state.paused) return "MARKET_PAUSED";
  if (isLate(order, nowMs)) return "EXPIRED_IN_FLIGHT";
  if (order.expiresAt !== undefined && nowMs >= order.expiresAt) return "EXPIRED";
  // The order was accepted before the event went live, so it has no reserve for the fee. Going live also canceled the
  // resting orders.
  if (!order.feeReserved && isCharged(order.fee, state.live)) return "GO_LIVE";
  return undefined;
}

function isLate({ notAfter }: Order, nowMs: number): boolean {
  return notAfter !== undefined && nowMs > notAfter;
}

function reject(emitter: Emitter, order: Order, reason: RejectReason): void {
  const { orderId, wallet, ledger } = order;
  emitter.emit({ type: "order", kind: "reject", orderId, wallet, ledger, reason });
}

function execute(emitter: Emitter, order: Order): void {
  const found = nextSweep(emitter, order, order.qty);
  const refusal = refusalOnArrival(emitter.state, order, found);
  if (refusal === undefined) carryOut(emitter, order, order.qty, found);
  else reject(emitter, order, refusal);
}

/** Continues the sweep of an order of which `left` is unfilled. */
export function take(emitter: Emitter, order: Order, left: Contracts): void {
  carryOut(emitter, order, left, nextSweep(emitter, order, left));
}

/** Returns the sweep of the unfilled part of an order as a whole or, when that is too long, its next piece. */
function nextSweep({ state, bounds, room }: Emitter, order: Order, left: Contracts): Sweep {
  const found = sweepFor(state, order, left, bounds.atOnce);
  return found.more ? sweepFor(state, order, left, room) : found;
}

/** Returns the sweep of the unfilled part of an order, which ends after `maxOrders` resting orders. */
function sweepFor(
  { definition, resting }: MarketState,
  order: Order,
  left: Contracts,
  maxOrders: number,
): Sweep {
  assert(definition !== undefined, "the market of the order does not exist");
  return sweep(resting.ladders[order.currency], order, left, definition.ticks, maxOrders);
}

/** Returns the reason to reject an order before its first fill. A `FOK` is judged by its whole sweep. */
function refusalOnArrival(state: MarketState, order: Order, found: Sweep): RejectReason | undefined {
  const { mayTake, fillsWhole } = rulesOf(order.tif);
  if (!mayTake) return found.steps.length > 0 || found.metOwn || found.more ? "WOULD_MATCH" : undefined;
  if (!fillsWhole) return undefined;
  const fills = found.more ? isFillable(state.resting, order) : found.left === 0;
  return fills ? undefined : "NOT_FILLABLE";
}

/** Executes the steps of a sweep, of which `unfilled` is the quantity. Then ends the order, or goes on later. */
function carryOut(emitter: Emitter, order: Order, unfilled: Contracts, found: Sweep): void {
  const { definition } = emitter.state;
  assert(definition !== undefined, "the market of the order does not exist");
  let left = unfilled;
  for (const step of found.steps) left = executeStep(emitter, definition, order, step, left);
  if (found.more) emitter.goOn({ kind: "take", order, left });
  else if (left > 0) conclude(emitter, order, left, found.metOwn);
}

/** Ends the sweep of an order that is not filled: rejects the order, cancels the remainder or rests it. */
function conclude(emitter: Emitter, order: Order, left: Contracts, metOwn: boolean): void {
  const refusal = refusalAtEnd(order, left, metOwn);
  if (refusal !== undefined) reject(emitter, order, refusal);
  else if (metOwn) cancelRemainder(emitter, order, left, "SELF_TRADE");
  else if (rulesOf(order.tif).mayRest) rest(emitter, order, left);
  else cancelRemainder(emitter, order, left, undefined);
}

/** Returns the reason to reject an order after its sweep: nothing is filled, and the order may not rest. */
function refusalAtEnd(order: Order, left: Contracts, metOwn: boolean): RejectReason | undefined {
  if (left < order.qty) return undefined;
  if (metOwn) return "SELF_TRADE";
  return rulesOf(order.tif).mayRest ? undefined : "NO_MATCH";
}

/** Cancels the remainder of an order that is not in the book. */
function cancelRemainder(
  emitter: Emitter,
  order: Order,
  remaining: Contracts,
  reason: CancelReason | undefined,
): void {
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

/** Cancels orders that rest or are held. Skips orders that have already ended. Many orders are canceled in pieces. */
export function cancel(emitter: Emitter, orderIds: readonly string[], reason: CancelCommand["reason"]): void {
  for (const [index, orderId] of orderIds.entries()) {
    if (emitter.room <= 0) {
      emitter.goOn({ kind: "cancel", orderIds: orderIds.slice(index), reason });
      return;
    }
    cancelOne(emitter, orderId, reason);
  }
}

function cancelOne(emitter: Emitter, orderId: string, reason: CancelReason | undefined): void {
  const { state } = emitter;
  const resting = state.resting.get(orderId);
  if (resting !== undefined) {
    emitter.cancelResting(resting, reason);
    return;
  }
  const held = state.held.get(orderId);
  if (held !== undefined) cancelRemainder(emitter, held.order, held.remaining, reason);
}

/**
 * Cancels all orders of both books, and all held orders, as far as the command has room. Returns false when orders are
 * left.
 */
export function clear(emitter: Emitter, reason: CancelReason): boolean {
  const { resting, held } = emitter.state;
  for (const currency of CURRENCIES) {
    for (const order of resting.values()) {
      if (order.order.currency !== currency) continue;
      if (emitter.room <= 0) return false;
      emitter.cancelResting(order, reason);
    }
  }
  for (const { order, remaining } of held.values()) {
    if (emitter.room <= 0) return false;
    cancelRemainder(emitter, order, remaining, reason);
  }
  return true;
}

/**
 * Reduces the remaining quantity of an order to `qty`. The order keeps its place. Skips an order that has ended, and
 * one that already has no more than `qty` left.
 */
export function amend(emitter: Emitter, orderId: string, qty: Contracts): void {
  const { state } = emitter;
  const resting = state.resting.get(orderId);
  if (resting !== undefined && resting.remaining > qty) {
    const { wallet, ledger, currency } = resting.order;
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
 * Cancels an order and enters a replacement. Fills of the first order that its ledger did not know of reduce the
 * replacement. The replacement is rejected if the first order has ended, or if nothing is left for the replacement. A
 * replacement that comes too late is rejected too, and leaves the first order as it is.
 */
export function replace(emitter: Emitter, order: Order, orderId: string, remaining: Contracts): void {
  if (isLate(order, emitter.nowMs)) {
    reject(emitter, order, "EXPIRED_IN_FLIGHT");
    return;
  }
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
  return (state.resting.get(orderId) ?? state.held.get(orderId))?.remaining;
}

/** Returns the preview of an order, from the same sweep that executes orders. The sweep ends after `BOUNDS.atOnce` orders. */
export function preview(state: MarketState, order: Order, nowMs: number): OrderPreview {
  const nothing = { fills: [], fee: ZERO, rests: NONE, queueAhead: NONE };
  const refusal = refusalOf(state, order, nowMs);
  if (refusal !== undefined || state.definition === undefined) return { ...nothing, reject: refusal };
  const ladders = state.resting.ladders[order.currency];
  const found = sweepFor(state, order, order.qty, BOUNDS.atOnce);
  const isEnd = !found.more && found.left > 0;
  const reason =
    refusalOnArrival(state, order, found) ??
    (isEnd ? refusalAtEnd(order, found.left, found.metOwn) : undefined);
  if (reason !== undefined) return { ...nothing, reject: reason };

  const matches = found.steps.flatMap((step) => (step.kind === "match" ? [step] : []));
  const charged = isCharged(order.fee, state.live);
  const fee = matches.reduce(
    (sum, { price, qty }) => (charged ? add(sum, takerFee(order.fee, price, qty)) : sum),
    ZERO,
  );
  const rests = isEnd && rulesOf(order.tif).mayRest && !found.metOwn ? found.left : NONE;
  const level = ladders[order.outcome]?.levels.find(({ price }) => price === order.price);
  const queueAhead = rests === 0 ? NONE : (level?.qty ?? NONE);
  const fills = matches.map(({ price, qty }) => ({ price, qty }));
  return { fills, fee, rests, queueAhead, ...(found.more ? { partial: true } : {}) };
}

/** Runs the deadlines that are due: cancels expired orders and enters held ones. Many orders take several pieces. */
export function runDeadlines(emitter: Emitter): void {
  const { state, nowMs } = emitter;
  for (
    let due = state.deadlines.first();
    due !== undefined && due.at <= nowMs;
    due = state.deadlines.first()
  ) {
    if (emitter.room <= 0 || emitter.unfinished.length > 0) {
      emitter.goOn({ kind: "tick" });
      return;
    }
    const held = state.held.get(due.subject);
    if (held === undefined) cancelOne(emitter, due.subject, undefined);
    else enterHeld(emitter, { ...held.order, qty: held.remaining });
    // The deadline ends with a delta of its order, so that the fold of the deltas has the same deadlines. A held order
    // that only cancels orders of its own trader in this piece keeps its deadline until it goes on.
    const hasEnded = state.deadlines.get(due.subject) !== due.at;
    assert(hasEnded || emitter.unfinished.length > 0, "a deadline has no effect", due.subject);
  }
}

function enterHeld(emitter: Emitter, order: Order): void {
  const refusal = refusalOf(emitter.state, order, emitter.nowMs);
  if (refusal === undefined) execute(emitter, order);
  else reject(emitter, order, refusal);
}
