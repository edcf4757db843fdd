/** Orders in a market: entry, matching, resting, cancels, expiry (contract sections 2 to 4). */

import { add, assert, contracts, type Contracts, ZERO } from "../units.js";
import { type Sweep, sweep } from "./book/sweep.js";
import type { OrderPreview } from "./commands.js";
import type { Emitter } from "./emitter.js";
import { isCharged, takerFee } from "./fees.js";
import { executeStep } from "./matching.js";
import type { MarketState } from "./state.js";
import { rulesOf } from "./time-in-force.js";
import { CURRENCIES, type CancelReason, type Order, type RejectReason } from "./types.js";

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
  if (order.notAfter !== undefined && nowMs > order.notAfter) return "EXPIRED_IN_FLIGHT";
  if (order.expiresAt !== undefined && nowMs >= order.expiresAt) return "EXPIRED";
  // The order was accepted before the event went live, so it has no reserve for the fee. Going live also canceled the
  // resting orders.
  if (!order.feeReserved && isCharged(order.fee, state.live)) return "GO_LIVE";
  return undefined;
}

function reject(emitter: Emitter, order: Order, reason: RejectReason): void {
  const { orderId, wallet, ledger } = order;
  emitter.emit({ type: "order", kind: "reject", orderId, wallet, ledger, reason });
}

function execute(emitter: Emitter, order: Order): void {
  const { definition, resting } = emitter.state;
  assert(definition !== undefined, "the market of the order does not exist");
  const found = sweep(resting.ladders[order.currency], order, definition.ticks);
  const refusal = refusalOfSweep(order, found);
  if (refusal !== undefined) {
    // With `cancel_maker`, the order cancels resting orders of its own trader even if it matches no other order.
    if (refusal === "NO_MATCH")
      for (const step of found.steps) executeStep(emitter, definition, order, step, order.qty);
    reject(emitter, order, refusal);
    return;
  }

  let left = order.qty;
  for (const step of found.steps) left = executeStep(emitter, definition, order, step, left);

  if (left === 0) return;
  if (found.metOwn) cancelRemainder(emitter, order, left, "SELF_TRADE");
  else if (rulesOf(order.tif).mayRest) rest(emitter, order, left);
  else cancelRemainder(emitter, order, left, undefined);
}

/**
 * Returns the reason to reject the whole order after its sweep. A `GTC` or `GTT` order is rejected only for
 * `SELF_TRADE`.
 */
function refusalOfSweep({ tif }: Order, found: Sweep): RejectReason | undefined {
  const { mayTake, mayRest, fillsWhole } = rulesOf(tif);
  const fillsNothing = found.steps.every((step) => step.kind === "cancelOwn");
  if (!mayTake) return found.steps.length > 0 || found.metOwn ? "WOULD_MATCH" : undefined;
  if (fillsWhole && found.left > 0) return "NOT_FILLABLE";
  if (!fillsNothing) return undefined;
  if (found.metOwn) return "SELF_TRADE";
  return mayRest ? undefined : "NO_MATCH";
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

/** Cancels orders that rest or are held. Skips orders that have already ended. */
export function cancel(
  emitter: Emitter,
  orderIds: readonly string[],
  reason: CancelReason | undefined,
): void {
  for (const orderId of orderIds) cancelOne(emitter, orderId, reason);
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

/** Cancels all orders of both books, and all held orders. */
export function clear(emitter: Emitter, reason: CancelReason): void {
  const { state } = emitter;
  const all = [...state.resting.values()];
  for (const currency of CURRENCIES) {
    for (const resting of all)
      if (resting.order.currency === currency) emitter.cancelResting(resting, reason);
  }
  cancel(emitter, [...state.held.keys()], reason);
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
 * replacement. The replacement is rejected if the first order has ended, or if nothing is left for the replacement.
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
  return (state.resting.get(orderId) ?? state.held.get(orderId))?.remaining;
}

/** Returns the preview of an order, from the same sweep that executes orders. */
export function preview(state: MarketState, order: Order, nowMs: number): OrderPreview {
  const nothing = { fills: [], fee: ZERO, rests: contracts(0), queueAhead: contracts(0) };
  const refusal = refusalOf(state, order, nowMs);
  if (refusal !== undefined || state.definition === undefined) return { ...nothing, reject: refusal };
  const ladders = state.resting.ladders[order.currency];
  const found = sweep(ladders, order, state.definition.ticks);
  const reason = refusalOfSweep(order, found);
  if (reason !== undefined) return { ...nothing, reject: reason };

  const matches = found.steps.flatMap((step) => (step.kind === "match" ? [step] : []));
  const charged = isCharged(order.fee, state.live);
  const fee = matches.reduce(
    (sum, { price, qty }) => (charged ? add(sum, takerFee(order.fee, price, qty)) : sum),
    ZERO,
  );
  const rests = rulesOf(order.tif).mayRest && !found.metOwn ? found.left : contracts(0);
  const level = ladders[order.outcome]?.levels.find(({ price }) => price === order.price);
  const queueAhead = rests === 0 ? contracts(0) : (level?.qty ?? contracts(0));
  return { fills: matches.map(({ price, qty }) => ({ price, qty })), fee, rests, queueAhead };
}

/** Runs the deadlines that are due: cancels expired orders and enters held ones. */
export function runDeadlines(emitter: Emitter): void {
  const { state, nowMs } = emitter;
  for (
    let due = state.deadlines.first();
    due !== undefined && due.at <= nowMs;
    due = state.deadlines.first()
  ) {
    state.deadlines.pop();
    const held = state.held.get(due.subject);
    if (held === undefined) {
      if (isExpired(state, due.subject, nowMs)) cancelOne(emitter, due.subject, undefined);
    } else if (held.untilMs <= nowMs) {
      const order = { ...held.order, qty: held.remaining };
      const refusal = refusalOf(state, order, nowMs);
      if (refusal === undefined) execute(emitter, order);
      else reject(emitter, order, refusal);
    }
  }
}

function isExpired(state: MarketState, orderId: string, nowMs: number): boolean {
  const expiresAt = state.resting.get(orderId)?.order.expiresAt;
  return expiresAt !== undefined && expiresAt <= nowMs;
}
