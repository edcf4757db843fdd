/** The market actor: turns one command into deltas (contract sections 2 to 4). Read `decide` first. */

import {
  type Actor,
  type ActorId,
  type Batch,
  checkCommand,
  type Decision,
  ledgerActor,
  type LedgerActorId,
  malformed,
  type Outgoing,
} from "../actor.js";
import { type Format, LATEST_FORMAT } from "../format.js";
import { boundsOf } from "../limits.js";
import { negate } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { MarketCommand, MarketRefusal, MarketReply } from "./commands.js";
import { type EffectDelta, isEffect, type MarketDelta } from "./deltas.js";
import { Emitter } from "./emitter.js";
import { refusalOfGrade } from "./grade.js";
import { countPositions } from "./positions.js";
import { restoreMarket, saveMarket } from "./saved/parts.js";
import { restoreWholeMarket, saveWholeMarket } from "./saved/whole.js";
import {
  grade,
  type GradeCommand,
  previewGrade,
  remediate,
  runLifecycle,
  payNextWallets,
} from "./settlement.js";
import { createMarket, evolveMarket, type MarketState, nextDeadline } from "./state.js";
import { amend, cancel, enter, preview, replace, runDeadlines, take } from "./trading.js";

function decide(
  state: MarketState,
  command: MarketCommand,
  nowMs: number,
  format: Format = LATEST_FORMAT,
  bounds = boundsOf(format),
): Decision<MarketDelta, MarketReply, MarketCommand> {
  checkCommand(command);
  const emitter = new Emitter(state, nowMs, format, bounds);
  const reply = run(emitter, command);
  emitter.finish();
  const { deltas, unfinished } = emitter;
  return { deltas, reply, unfinished };
}

function run(emitter: Emitter, command: MarketCommand): MarketReply | undefined {
  const { state } = emitter;
  switch (command.kind) {
    case "enter":
      enter(emitter, command.order);
      return undefined;
    case "cancel":
      cancel(emitter, command.orderIds, command.reason);
      return undefined;
    case "amend":
      amend(emitter, command.orderId, command.qty);
      return undefined;
    case "replace":
      replace(emitter, command.order, command.orderId, command.remaining);
      return undefined;
    case "take":
      take(emitter, command.order, command.left);
      return undefined;
    case "preview":
      return { ok: true, kind: "preview", preview: preview(state, command.order, emitter.nowMs) };
    case "skip":
      if (state.definition !== undefined) emitter.emit({ type: "skipped", count: command.count });
      return undefined;
    case "tick":
      runDeadlines(emitter);
      return undefined;
    case "create":
      return answer(state, create(emitter, command));
    case "configure":
    case "lifecycle":
    case "previewGrade":
    case "grade":
    case "remediate":
    case "settle":
    case "settlement":
    case "report":
      return runForOperator(emitter, command);
    default:
      return malformed(command satisfies never);
  }
}

type OperatorCommand = Extract<
  MarketCommand,
  {
    kind:
      "configure" | "lifecycle" | "previewGrade" | "grade" | "remediate" | "settle" | "settlement" | "report";
  }
>;

function runForOperator(emitter: Emitter, command: OperatorCommand): MarketReply {
  const { state } = emitter;
  const { definition } = state;
  if (definition === undefined) return { ok: false, refusal: "MARKET_NOT_FOUND" };
  switch (command.kind) {
    case "configure": {
      const { fee, liveDelayMs, description, ticks } = command;
      emitter.emit({ type: "configured", fee, liveDelayMs, description, ticks });
      return answer(state, undefined);
    }
    case "lifecycle":
      return lifecycleAnswer(emitter, runLifecycle(emitter, command.actions, command.byEvent));
    case "previewGrade": {
      const refusal = refusalOfGrade(definition, command.grade);
      if (refusal !== undefined) return { ok: false, refusal };
      return gradePreview(emitter, command);
    }
    case "grade":
      return gradeAnswer(emitter, command, grade(emitter, definition, command));
    case "remediate":
      return settlementAnswer(state, remediate(emitter, command.reason));
    case "settlement":
      return settlementAnswer(state, state.settlement === undefined ? "NOT_GRADED" : undefined);
    case "settle":
      return settlementAnswer(
        state,
        payNextWallets(emitter, definition, Math.min(command.limit, emitter.bounds.atOnce)),
      );
    case "report": {
      const { CASH, COIN } = state.books;
      const money = {
        CASH: { escrow: CASH.escrow, sent: negate(CASH.escrow) },
        COIN: { escrow: COIN.escrow, sent: negate(COIN.escrow) },
      };
      return { ok: true, kind: "report", report: { marketId: state.marketId, money } };
    }
    default:
      return unreachable(command);
  }
}

function create(
  emitter: Emitter,
  { definition, open, live }: Extract<MarketCommand, { kind: "create" }>,
): MarketRefusal | undefined {
  if (emitter.state.definition !== undefined) return "MARKET_EXISTS";
  emitter.emit({ type: "created", definition });
  // Clients that watch the event hear first of a market that takes orders.
  if (open) runLifecycle(emitter, ["open"]);
  if (live) runLifecycle(emitter, ["golive"]);
  return undefined;
}

function answer(state: MarketState, refusal: MarketRefusal | undefined): MarketReply {
  return refusal === undefined ? { ok: true, kind: "done", status: state.status } : { ok: false, refusal };
}

function lifecycleAnswer(
  { state, deltas, unfinished }: Emitter,
  refusal: MarketRefusal | undefined,
): MarketReply {
  const reply = answer(state, refusal);
  const isUnchanged = deltas.length === 0 && unfinished.length === 0;
  return reply.ok && reply.kind === "done" && isUnchanged ? { ...reply, unchanged: true } : reply;
}

/** Answers with one page of the payouts of a grade, or with all of them when the sender asks for no page. */
function gradePreview(
  { state, bounds }: Emitter,
  { grade: requested, from = 0, limit }: Extract<MarketCommand, { kind: "previewGrade" }>,
): MarketReply {
  const most = limit === undefined ? Infinity : Math.min(limit, bounds.atOnce);
  const payouts = previewGrade(state, requested, from, most);
  const next = from + payouts.length;
  return {
    ok: true,
    kind: "gradePreview",
    payouts,
    next: next < countPositions(state.books) ? next : undefined,
    matches: state.matches,
  };
}

/** Answers a grade. A market that is still closing has no settlement yet; its progress is that of one about to start. */
function gradeAnswer(
  { state, unfinished }: Emitter,
  { settlementId }: GradeCommand,
  refusal: MarketRefusal | undefined,
): MarketReply {
  if (unfinished.length === 0) return settlementAnswer(state, refusal);
  const { status, books } = state;
  const wallets = countPositions(books);
  return { ok: true, kind: "settlement", status, settlementId, paid: 0, wallets, done: false };
}

function settlementAnswer(state: MarketState, refusal: MarketRefusal | undefined): MarketReply {
  if (refusal !== undefined) return { ok: false, refusal };
  const { settlement, status } = state;
  // A finished remediation has removed the settlement.
  if (settlement === undefined)
    return { ok: true, kind: "settlement", status, settlementId: "", paid: 0, wallets: 0, done: true };
  const { settlementId, direction } = settlement;
  return {
    ok: true,
    kind: "settlement",
    status,
    settlementId,
    paid: settlement.done,
    wallets: settlement.positions.count,
    done: direction === "paying" && status === "SETTLED",
  };
}

/** The effects of a batch on the wallets of one ledger. */
interface Effects {
  readonly to: LedgerActorId;
  readonly command: {
    readonly kind: "effects";
    readonly marketId: string;
    readonly ts: number;
    readonly deltas: EffectDelta[];
  };
}

/** Sends the effects of a batch, in order, to the ledgers of the wallets that they concern. */
function route(id: ActorId, { ts, deltas }: Batch<MarketDelta>): readonly Outgoing[] {
  const marketId = id.slice("market:".length);
  const outgoing: Effects[] = [];
  for (const delta of deltas) {
    if (!isEffect(delta)) continue;
    const to = ledgerActor("order" in delta ? delta.order.ledger : delta.ledger);
    const known = outgoing.find((effects) => effects.to === to);
    if (known !== undefined) known.command.deltas.push(delta);
    else outgoing.push({ to, command: { kind: "effects", marketId, ts, deltas: [delta] } });
  }
  return outgoing;
}

export const market: Actor<MarketState, MarketCommand, MarketDelta, MarketReply> = {
  create: createMarket,
  decide,
  evolve: evolveMarket,
  deadline: nextDeadline,
  tick: { kind: "tick" },
  skip: (count) => ({ kind: "skip", count }),
  route,
  save: saveMarket,
  restore: restoreMarket,
  saveWhole: saveWholeMarket,
  restoreWhole: restoreWholeMarket,
};
