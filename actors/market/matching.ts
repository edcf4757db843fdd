/**
 * Execution of the steps of a sweep: fills on both sides, prints, positions, fees (contract sections 2.2 to 2.7, 3.5
 * and 3.7).
 */

import type { DerivedIds } from "../ids.js";
import { MAX_OUTCOMES } from "../limits.js";
import { contracts, type Contracts, cost, ZERO } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { RestingOrder } from "./book/ladder.js";
import { nearestTick, type Step } from "./book/sweep.js";
import type { FillFacts } from "./deltas.js";
import type { Emitter } from "./emitter.js";
import { isCharged, makerCredit, takerFee } from "./fees.js";
import { acquire } from "./positions.js";
import type { MarketDefinition, Order } from "./types.js";

/** Executes one step of a sweep. Returns the remainder of the taker's order after it. */
export function executeStep(
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
      return unreachable(step);
  }
}

function wash(emitter: Emitter, order: Order, own: RestingOrder, qty: Contracts, left: Contracts): Contracts {
  const { ids, matches } = emitter.state;
  const remaining = contracts(left - qty);
  const ownRemaining = contracts(own.remaining - qty);
  const nothing = { cost: ZERO, payout: ZERO, fee: ZERO, credit: ZERO, wash: true } as const;
  const matchId = ids.of("match", matches);
  for (const side of [
    { order: own.order, remaining: ownRemaining, taker: false },
    { order, remaining, taker: true },
  ]) {
    const { orderId, wallet, ledger, currency, outcome, price } = side.order;
    const fillId = fillIdOf(ids, matches, outcome);
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
  const { ids } = state;
  const { currency } = order;
  const matchNumber = state.matches;
  const matchId = ids.of("match", matchNumber);
  const charged = isCharged(order.fee, state.live);
  const fee = charged ? takerFee(order.fee, step.price, step.qty) : ZERO;
  const credit = makerCredit(order.fee, fee, step.legs.length);

  for (const { resting, price } of step.legs) {
    const { outcome } = resting.order;
    const remaining = contracts(resting.remaining - step.qty);
    const fillId = fillIdOf(ids, matchNumber, outcome);
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
      tradeId: ids.of("trade", matchNumber * MAX_OUTCOMES + outcome),
      matchId,
      outcome,
      price: nearestTick(definition.ticks, price),
      qty: step.qty,
    });
  }
  const remaining = contracts(left - step.qty);
  const fillId = fillIdOf(ids, matchNumber, order.outcome);
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

/** Returns the id of a fill. A match has one fill per outcome, so its number and the outcome identify the fill. */
function fillIdOf(ids: DerivedIds, matchNumber: number, outcome: number): string {
  return ids.of("fill", matchNumber * MAX_OUTCOMES + outcome);
}

/** The facts of an execution that do not depend on the position of the wallet. */
type Execution = Omit<FillFacts, "outcome" | "cost" | "payout" | "wash">;

/** Emits one side of a match: the fill, and the new position of its wallet. */
function fill(emitter: Emitter, definition: MarketDefinition, order: Order, execution: Execution): void {
  const { orderId, wallet, ledger, currency, outcome } = order;
  const { positions } = emitter.state.books[currency];
  const position = positions.get(wallet);
  const paid = cost(execution.price, execution.qty);
  const after = acquire(position, definition.outcomes.length, definition.voids, outcome, execution.qty, paid);
  const winBefore = position?.win ?? ZERO;
  const pushBefore = position?.push ?? ZERO;
  emitter.emit({
    type: "order",
    kind: "fill",
    orderId,
    wallet,
    ledger,
    currency,
    outcome,
    fillId: execution.fillId,
    matchId: execution.matchId,
    price: execution.price,
    qty: execution.qty,
    remaining: execution.remaining,
    cost: paid,
    payout: after.payout,
    fee: execution.fee,
    credit: execution.credit,
    taker: execution.taker,
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
  if (after.win !== winBefore || after.push !== pushBefore) {
    emitter.emit({ type: "locked", wallet, ledger, currency, win: after.win, push: after.push });
  }
}
