/** Life cycle, grades, payouts in batches, remediation (contract sections 4.4 to 4.8). */

import { ZERO } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { LifecycleAction, MarketCommand, MarketRefusal, PreviewedPayout } from "./commands.js";
import type { Emitter } from "./emitter.js";
import { refusalOfGrade, sameGrade } from "./grade.js";
import { settlementOf, type OpenPosition, PositionWalk } from "./positions.js";
import { type MarketState, type Settlement, settlementKey } from "./state.js";
import { clear } from "./trading.js";
import type { CancelReason, Grade, MarketDefinition } from "./types.js";

export type GradeCommand = Extract<MarketCommand, { kind: "grade" }>;

/**
 * Takes the steps in order. Stops at the first step that the status of the market does not allow, and returns why. A
 * step whose orders are not all canceled goes on later, and its life-cycle delta is emitted when they are.
 */
export function runLifecycle(
  emitter: Emitter,
  actions: readonly LifecycleAction[],
  byEvent?: true,
): MarketRefusal | undefined {
  for (const [index, action] of actions.entries()) {
    const outcome = step(emitter, action, byEvent);
    if (outcome === "unfinished") {
      emitter.goOn({ kind: "lifecycle", actions: actions.slice(index), ...(byEvent && { byEvent }) });
      return undefined;
    }
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

function step(
  emitter: Emitter,
  action: LifecycleAction,
  byEvent: true | undefined,
): MarketRefusal | "unfinished" | undefined {
  const { state } = emitter;
  const { status, paused, live, settlement } = state;
  switch (action) {
    case "open":
      if (settlement !== undefined) return "INVALID_TRANSITION";
      if (status === "CLOSED") emitter.lifecycle("OPEN", "OPEN");
      return undefined;
    case "close":
      return status === "OPEN" && !close(emitter, "MARKET_CLOSED", byEvent) ? "unfinished" : undefined;
    case "pause":
      if (status !== "OPEN") return "INVALID_TRANSITION";
      if (!paused) emitter.lifecycle("PAUSE", status);
      return undefined;
    case "resume":
      if (status !== "OPEN") return "INVALID_TRANSITION";
      if (paused) emitter.lifecycle("RESUME", status);
      return undefined;
    case "golive":
      if (live) return undefined;
      if (!state.started) emitter.lifecycle("START", status);
      if (!clear(emitter, "GO_LIVE")) return "unfinished";
      emitter.lifecycle("GOLIVE", status);
      if (state.closedByEvent && settlement === undefined) emitter.lifecycle("OPEN", "OPEN");
      return undefined;
    case "unlive":
      if (!live) return undefined;
      if (!clear(emitter, "GO_LIVE")) return "unfinished";
      emitter.lifecycle("UNLIVE", status);
      return undefined;
    case "clear":
      return clear(emitter, "NEUTRALIZED") ? undefined : "unfinished";
    case "end":
      emitter.lifecycle("END", status);
      return undefined;
    default:
      return unreachable(action);
  }
}

/** Cancels all orders and closes the market. Returns false when orders are left, and the market is still open. */
function close(emitter: Emitter, reason: CancelReason, byEvent?: true): boolean {
  if (!clear(emitter, reason)) return false;
  emitter.lifecycle("CLOSE", "CLOSED", byEvent);
  return true;
}

/** Puts a grade in force. The same grade again changes nothing; a different grade is refused until remediation. */
export function grade(
  emitter: Emitter,
  definition: MarketDefinition,
  command: GradeCommand,
): MarketRefusal | undefined {
  const { settlementId, grade: requested } = command;
  const refusal = refusalOfGrade(definition, requested);
  if (refusal !== undefined) return refusal;
  const { settlement } = emitter.state;
  if (settlement !== undefined) return sameGrade(settlement.grade, requested) ? undefined : "ALREADY_GRADED";
  if (emitter.state.status === "OPEN" && !close(emitter, "SETTLED")) {
    emitter.goOn(command);
    return undefined;
  }
  emitter.emit({ type: "graded", settlementId, grade: requested });
  return undefined;
}

/** Starts to reverse a finished settlement. */
export function remediate(emitter: Emitter, reason: string): MarketRefusal | undefined {
  const { status, settlement } = emitter.state;
  if (settlement === undefined) return "NOT_SETTLED";
  if (settlement.direction === "reversing") return undefined;
  if (status !== "SETTLED") return "NOT_SETTLED";
  emitter.emit({ type: "remediating", reason });
  return undefined;
}

/** Pays the next `limit` wallets, or reverses their payouts. The last wallet moves the market to its new status. */
export function payNextWallets(
  emitter: Emitter,
  definition: MarketDefinition,
  limit: number,
): MarketRefusal | undefined {
  const { state } = emitter;
  const { settlement } = state;
  if (settlement === undefined) return "NOT_GRADED";
  const paying = settlement.direction === "paying";
  const { positions } = settlement;
  for (let n = 0; n < limit && positions.next !== undefined; n += 1) {
    if (paying) pay(emitter, settlement, positions.next);
    else reverse(emitter, definition, settlement, positions.next);
  }
  if (positions.next !== undefined) return undefined;
  if (paying && state.status !== "SETTLED") emitter.lifecycle("GRADE", "SETTLED");
  if (!paying) emitter.lifecycle("REMEDIATE", "CLOSED");
  return undefined;
}

function pay(emitter: Emitter, settlement: Settlement, { currency, position }: OpenPosition): void {
  const { settlementId } = settlement;
  const { wallet, ledger } = position;
  const amount = settlementOf(position, settlement.grade);
  emitter.emit({ type: "payout", settlementId, wallet, ledger, currency, amount });
}

function reverse(
  emitter: Emitter,
  definition: MarketDefinition,
  settlement: Settlement,
  { currency, position }: OpenPosition,
): void {
  const { settlementId } = settlement;
  const { voids } = definition;
  const { wallet, ledger } = position;
  const amount = settlement.paid.get(settlementKey(currency, wallet)) ?? ZERO;
  const holdings = position.holdings
    .map((holding, outcome) => ({ outcome, qty: holding.qty, cost: holding.cost }))
    .filter((holding) => holding.qty > 0);
  emitter.emit({
    type: "reversal",
    settlementId,
    wallet,
    ledger,
    currency,
    amount,
    voids,
    outcomes: definition.outcomes.length,
    holdings,
  });
}

/** Returns at most `limit` payouts of a grade, from the index `from` on, without putting the grade in force. */
export function previewGrade(
  state: MarketState,
  requested: Grade,
  from: number,
  limit: number,
): readonly PreviewedPayout[] {
  const payouts: PreviewedPayout[] = [];
  const positions = new PositionWalk(state.books, from);
  while (payouts.length < limit && positions.next !== undefined) {
    const { currency, position } = positions.next;
    payouts.push({ wallet: position.wallet, currency, amount: settlementOf(position, requested) });
    positions.advance();
  }
  return payouts;
}
