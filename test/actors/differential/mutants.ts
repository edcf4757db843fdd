/**
 * Bugs planted in the rules of the exchange, from outside: commands that are changed on their way in, deltas that are
 * changed on their way out (the state then follows the changed ones), or a method that is replaced for a while. The
 * naive exchange or an invariant must notice each within some scenarios.
 */

import type { Actor, ActorId } from "../../../actors/actor.js";
import { ledgerActor, marketActor } from "../../../actors/actor.js";
import { Account } from "../../../actors/ledger/account.js";
import type { LedgerCommand } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { ledger } from "../../../actors/ledger/ledger.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { MarketCommand } from "../../../actors/market/commands.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import { Ladder, type RestingOrder } from "../../../actors/market/book/ladder.js";
import { market } from "../../../actors/market/market.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { Order } from "../../../actors/market/types.js";
import { contracts, millicents } from "../../../actors/units.js";
import type { Actors, Ledger, Market } from "../joined.js";
import { feeFor } from "../naive/arithmetic.js";

export interface ExchangeMutant {
  readonly name: string;
  readonly actors: Actors;
  /** Changes the code itself; the result changes it back. */
  readonly patch?: () => () => void;
}

interface Change<Command, Delta> {
  readonly command?: (command: Command) => Command;
  readonly deltas?: (deltas: readonly Delta[], command: Command) => readonly Delta[];
}

/** An actor that is told something else, or says something else, than the real one. */
function changed<State, Command, Delta, Reply>(
  actor: Actor<State, Command, Delta, Reply>,
  idOf: (state: State) => ActorId,
  { command: change = (command) => command, deltas: rewrite }: Change<Command, Delta>,
): Actor<State, Command, Delta, Reply> {
  return {
    ...actor,
    decide: (state, command, nowMs) => {
      if (rewrite === undefined) return actor.decide(state, change(command), nowMs);
      const saved = JSON.stringify(actor.save(state));
      const copy = actor.restore(idOf(state), JSON.parse(saved));
      const { deltas, reply } = actor.decide(copy, change(command), nowMs);
      const rewritten = rewrite(deltas, command);
      for (const delta of rewritten) actor.evolve(state, delta, nowMs);
      return { deltas: rewritten, reply };
    },
  };
}

function inMarket(name: string, change: Change<MarketCommand, MarketDelta>): ExchangeMutant {
  const idOf = (state: MarketState): ActorId => marketActor(state.marketId);
  const mutant: Market = changed(market, idOf, change);
  return { name, actors: { market: mutant, ledger } };
}

function inLedger(name: string, change: Change<LedgerCommand, LedgerDelta>): ExchangeMutant {
  const idOf = (state: LedgerState): ActorId => ledgerActor(state.shard);
  const mutant: Ledger = changed(ledger, idOf, change);
  return { name, actors: { market, ledger: mutant } };
}

/** An order that is another when it enters. */
function entering(name: string, change: (order: Order) => Order): ExchangeMutant {
  return inMarket(name, {
    command: (command) => (command.kind === "enter" ? { ...command, order: change(command.order) } : command),
  });
}

type Fill = Extract<MarketDelta, { type: "order"; kind: "fill" }>;

function filling(name: string, change: (fill: Fill, command: MarketCommand) => Fill): ExchangeMutant {
  return inMarket(name, {
    deltas: (deltas, command) =>
      deltas.map((delta) =>
        delta.type === "order" && delta.kind === "fill" ? change(delta, command) : delta,
      ),
  });
}

function without(name: string, isDropped: (delta: MarketDelta) => boolean): ExchangeMutant {
  return inMarket(name, { deltas: (deltas) => deltas.filter((delta) => !isDropped(delta)) });
}

/** Replaces a method of a class while the mutant runs. */
function replacing<Class extends object>(
  name: string,
  prototype: Class,
  methods: Partial<Class>,
): ExchangeMutant {
  return {
    name,
    actors: { market, ledger },
    patch: () => {
      const names = Object.keys(methods);
      const plain = names.map((one) => [one, Object.getOwnPropertyDescriptor(prototype, one)] as const);
      Object.assign(prototype, methods);
      return () => {
        for (const [one, descriptor] of plain)
          if (descriptor !== undefined) Object.defineProperty(prototype, one, descriptor);
      };
    },
  };
}

const reserve = Object.getOwnPropertyDescriptor(Account.prototype, "reserve")?.value as Account["reserve"];
const take = Object.getOwnPropertyDescriptor(Account.prototype, "take")?.value as Account["take"];
const append = Object.getOwnPropertyDescriptor(Ladder.prototype, "append")?.value as Ladder["append"];

export const EXCHANGE_MUTANTS: readonly ExchangeMutant[] = [
  filling("a fee rounded down", (fill, command) => {
    if (command.kind !== "enter" || fill.fee === 0) return fill;
    const exact = feeFor(
      { ...command.order.fee, coefficientPpm: command.order.fee.coefficientPpm * 2 },
      fill.price,
      fill.qty,
    );
    return { ...fill, fee: millicents(Math.min(fill.fee, Math.floor(exact / 2))) };
  }),
  filling("a fee of the maker", (fill) => ({
    ...fill,
    fee: millicents(fill.credit),
    credit: millicents(fill.fee),
  })),
  filling("a maker's credit kept by the house", (fill) => ({ ...fill, credit: millicents(0) })),
  filling("netting that pays the full value on PUSH", (fill) =>
    fill.payout === 0 ? fill : { ...fill, payout: millicents(Math.ceil(fill.payout / 1_000) * 1_000) },
  ),
  filling("netting that pays nothing", (fill) => ({ ...fill, payout: millicents(0) })),
  filling("a wash that costs", (fill) =>
    fill.wash ? { ...fill, cost: millicents(fill.price * fill.qty) } : fill,
  ),
  filling("a taker that pays its limit", (fill, command) =>
    command.kind === "enter" && fill.taker && !fill.wash
      ? { ...fill, price: command.order.price, cost: millicents(command.order.price * fill.qty) }
      : fill,
  ),
  entering("post-only orders that take", (order) => (order.tif === "PO" ? { ...order, tif: "GTC" } : order)),
  entering("IOC orders that rest", (order) => (order.tif === "IOC" ? { ...order, tif: "GTC" } : order)),
  entering("FOK orders that fill in part", (order) =>
    order.tif === "FOK" ? { ...order, tif: "IOC" } : order,
  ),
  entering("orders that never expire", ({ expiresAt: _expiresAt, ...order }) => order),
  entering("a notAfter that is not looked at", ({ notAfter: _notAfter, ...order }) => order),
  entering("own orders that trade with each other", (order) => ({ ...order, trader: order.orderId })),
  entering("selfTrade always washes", (order) => ({ ...order, selfTrade: "wash" })),
  inMarket("a pause that changes nothing", {
    command: (command) =>
      command.kind === "lifecycle"
        ? { ...command, actions: command.actions.filter((action) => action !== "pause") }
        : command,
  }),
  inMarket("going live leaves the book as it was", {
    deltas: (deltas, command) =>
      command.kind === "lifecycle" &&
      deltas.some((delta) => delta.type === "lifecycle" && delta.kind === "GOLIVE")
        ? deltas.filter((delta) => delta.type === "lifecycle")
        : deltas,
  }),
  without("a best bid that is not told", (delta) => delta.type === "bbo" && delta.bbo === null),
  without("a print missing", (delta) => delta.type === "trade" && delta.outcome === 1),
  without("what netting left is not kept for settlement", (delta) => delta.type === "locked"),
  inMarket("losers are paid their cost", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "payout" && delta.amount === 0 ? { ...delta, amount: millicents(1) } : delta,
      ),
  }),
  inMarket("a remediation takes back one less", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "reversal" && delta.amount > 0
          ? { ...delta, amount: millicents(delta.amount - 1) }
          : delta,
      ),
  }),
  inMarket("an amendment loses its place", {
    command: (command) =>
      command.kind === "amend" ? { kind: "cancel", orderIds: [command.orderId] } : command,
  }),
  inLedger("a transfer with one leg", {
    deltas: (deltas) => deltas.filter((delta) => delta.type !== "entry" || delta.kind !== "TRANSFER_IN"),
  }),
  inLedger("a clientId forgotten", {
    deltas: (deltas) =>
      deltas.map((delta) => (delta.type === "accepted" ? { ...delta, clientId: undefined } : delta)),
  }),
  inLedger("a private seq told twice", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "order" && delta.kind === "cancel" ? { ...delta, seq: delta.seq - 1 } : delta,
      ),
  }),
  inLedger("a cancel that does not go on to its market", {
    deltas: (deltas) => deltas.filter((delta) => delta.type !== "canceling"),
  }),
  replacing("a reservation that is not released", Account.prototype, {
    take(this: Account, order) {
      if (order.pending) take.call(this, order);
    },
  }),
  replacing("half of what an order needs reserved", Account.prototype, {
    reserve(this: Account, policy) {
      return millicents(Math.floor(reserve.call(this, policy) / 2));
    },
  }),
  replacing("time priority reversed", Ladder.prototype, {
    append(this: Ladder, resting: RestingOrder) {
      append.call(this, resting);
      const { level } = resting;
      if (level === undefined || level.first === resting) return;
      const { first, last } = level;
      level.last = last?.ahead;
      if (level.last !== undefined) level.last.behind = undefined;
      resting.ahead = undefined;
      resting.behind = first;
      if (first !== undefined) first.ahead = resting;
      level.first = resting;
    },
  }),
  replacing("an amended order that keeps its quantity in the level", Ladder.prototype, {
    shrink(this: Ladder, resting: RestingOrder, remaining) {
      resting.remaining = contracts(remaining);
    },
  }),
];
