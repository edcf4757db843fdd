/**
 * The ledger actor: the only place where money changes hands (contract section 3.1). It accepts orders against the
 * funds of a wallet, passes them to their markets, and applies the effects of the markets. Read `decide` first.
 */

import {
  type Actor,
  type ActorId,
  type Batch,
  checkCommand,
  type Decision,
  malformed,
  marketActor,
  type Outgoing,
} from "../actor.js";
import { type Format, LATEST_FORMAT } from "../format.js";
import { boundsOf } from "../limits.js";
import type { MarketCommand } from "../market/commands.js";
import type { Currency } from "../market/types.js";
import { subtract } from "../units.js";
import { unreachable } from "../unreachable.js";
import { cancel, cancelAll, cancelEveryone, openOrders } from "./canceling.js";
import type { LedgerCommand, LedgerReply, LedgerReport } from "./commands.js";
import { isRequest, type LedgerDelta, type RequestDelta } from "./deltas.js";
import { applyEffects } from "./effects.js";
import { Emitter } from "./emitter.js";
import { evolveLedger } from "./fold.js";
import { closeWallet, transact, transfer } from "./funds.js";
import { amend, place, preview } from "./placing.js";
import {
  changeGroup,
  listGroups,
  restrict,
  runDeadmanSwitches,
  setDeadman,
  setGroup,
  setPolicy,
} from "./safety.js";
import { restoreLedger, saveLedger } from "./saved/parts.js";
import { restoreWholeLedger, saveWholeLedger } from "./saved/whole.js";
import { createLedger, emptyWallet, type LedgerState, nextDeadline, type Wallet } from "./state.js";
import type { WalletPosition, WalletSnapshot } from "./types.js";

function decide(
  state: LedgerState,
  command: LedgerCommand,
  nowMs: number,
  format: Format = LATEST_FORMAT,
  bounds = boundsOf(format),
): Decision<LedgerDelta, LedgerReply, LedgerCommand> {
  checkCommand(command);
  const emitter = new Emitter(state, nowMs, format, bounds);
  const reply = run(emitter, command);
  emitter.finish();
  const { deltas, unfinished } = emitter;
  return { deltas, reply, unfinished };
}

function run(emitter: Emitter, command: LedgerCommand): LedgerReply | undefined {
  const { state } = emitter;
  switch (command.kind) {
    case "place":
      return place(emitter, command);
    case "cancel":
      return cancel(emitter, command);
    case "cancelAll":
      return cancelAll(emitter, command);
    case "amend":
      return amend(emitter, command);
    case "preview":
      return preview(emitter, command);
    case "cancelEveryone":
      return cancelEveryone(emitter, command);
    case "deadman":
      return setDeadman(emitter, command);
    case "setGroup":
      return setGroup(emitter, command);
    case "removeGroup":
    case "resetGroup":
      return changeGroup(emitter, command);
    case "groups":
      return listGroups(emitter, command.wallet);
    case "setPolicy":
      return setPolicy(emitter, command);
    case "restrict":
      return restrict(emitter, command);
    case "closeWallet":
      return closeWallet(emitter, command);
    case "transact":
      return transact(emitter, command);
    case "transfer":
      return transfer(emitter, command);
    case "effects":
      applyEffects(emitter, command.marketId, command.deltas);
      return undefined;
    case "wallet":
      return { ok: true, kind: "wallet", wallet: walletSnapshot(state, command) };
    case "report":
      return { ok: true, kind: "report", report: report(state) };
    case "skip":
      emitter.emit({ type: "skipped", count: command.count });
      return undefined;
    case "tick":
      runDeadmanSwitches(emitter);
      forgetIds(emitter);
      return undefined;
    default:
      return malformed(command satisfies never);
  }
}

/** Forgets the ids that are due to leave the memory. */
function forgetIds(emitter: Emitter): void {
  const { state, nowMs } = emitter;
  if ((state.known.deadline ?? Infinity) <= nowMs) emitter.emit(state.known.forgottenAt(nowMs));
}

/** Orders and positions that a page of a wallet has on average at most; an answer with so many has about 250 kB. */
const PAGE_ROWS = 1_000;

/** Returns the page of an order of a wallet, by its id, or of a position, by its market. */
export function walletPageOf(id: string, of: number): number {
  let hash = 0;
  for (let i = 0; i < id.length; i += 1) hash = (Math.imul(hash, 31) + id.charCodeAt(i)) >>> 0;
  return hash % of;
}

/**
 * Returns a wallet: all of it, its balances alone, or one page of its orders and positions. A page of too few pages has
 * none of them, and names the number of pages that are needed. An unknown wallet is empty.
 */
function walletSnapshot(
  state: LedgerState,
  { wallet: walletId, part }: Extract<LedgerCommand, { kind: "wallet" }>,
): WalletSnapshot {
  const wallet = state.wallets.get(walletId) ?? emptyWallet(walletId, "");
  const { funds, seqs, policy } = wallet;
  const { skippedSeqs } = state;
  const page = part === "balances" ? undefined : part;
  const needed = Math.ceil((wallet.orders.size + wallet.accounts.size) / PAGE_ROWS);
  const isTooLarge = page !== undefined && page.of < needed;
  const isLeftOut = part === "balances" || isTooLarge;
  const isOnPage = (id: string): boolean => page === undefined || walletPageOf(id, page.of) === page.page;
  const open = isLeftOut ? [] : openOrders(wallet, ({ orderId }) => isOnPage(orderId));
  const positions = isLeftOut ? [] : walletPositions(wallet).filter(({ marketId }) => isOnPage(marketId));
  return {
    wallet: walletId,
    policy,
    balances: { CASH: { ...funds.CASH }, COIN: { ...funds.COIN } },
    orders: { seq: skippedSeqs + seqs.orders, open },
    positions: { seq: skippedSeqs + seqs.positions, positions },
    ...(isTooLarge ? { pages: needed } : {}),
  };
}

/** Returns the holdings of a wallet. */
export function walletPositions(wallet: Wallet): readonly WalletPosition[] {
  return [...wallet.accounts.values()].flatMap((account) =>
    Array.from({ length: account.outcomes }, (_, outcome) => ({
      marketId: account.marketId,
      outcome,
      currency: account.currency,
      ...account.holding(outcome),
    })).filter(({ qty }) => qty > 0),
  );
}

function report(state: LedgerState): LedgerReport {
  return { shard: state.shard, money: { CASH: moneyOf(state, "CASH"), COIN: moneyOf(state, "COIN") } };
}

function moneyOf({ totals, funds }: LedgerState, currency: Currency): LedgerReport["money"][Currency] {
  const { total, reserved } = funds[currency];
  return { ...totals[currency], available: subtract(total, reserved), reserved };
}

/** Sends orders, cancels and amendments to their markets, in the order of their acceptance. */
function route(_id: ActorId, batch: Batch<LedgerDelta>): readonly Outgoing[] {
  const outgoing: Outgoing[] = [];
  for (const delta of batch.deltas)
    if (isRequest(delta)) outgoing.push({ to: marketActor(delta.marketId), command: requestOf(delta) });
  return outgoing;
}

function requestOf(delta: RequestDelta): MarketCommand {
  switch (delta.type) {
    case "accepted": {
      const { order, replaces } = delta;
      return replaces === undefined ? { kind: "enter", order } : { kind: "replace", order, ...replaces };
    }
    case "canceling":
      return { kind: "cancel", orderIds: delta.orderIds, reason: delta.reason };
    case "amending":
      return { kind: "amend", orderId: delta.orderId, qty: delta.qty };
    default:
      return unreachable(delta);
  }
}

export const ledger: Actor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply> = {
  create: createLedger,
  decide,
  evolve: evolveLedger,
  deadline: nextDeadline,
  filterBytes: ({ known }) => known.filterBytes,
  tick: { kind: "tick" },
  skip: (count) => ({ kind: "skip", count }),
  route,
  save: saveLedger,
  restore: restoreLedger,
  saveWhole: saveWholeLedger,
  restoreWhole: restoreWholeLedger,
};
