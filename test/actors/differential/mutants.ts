/**
 * Bugs planted in the rules of the exchange from outside: by commands that are changed before a decision, by deltas that
 * are changed after a decision (the state then follows the changed deltas), or by a method that is replaced. The naive
 * exchange or an invariant must catch each bug within some scenarios.
 */

import type { Actor, ActorId } from "../../../actors/actor.js";
import { ledgerActor, marketActor } from "../../../actors/actor.js";
import { Account, type AccountOrder } from "../../../actors/ledger/account.js";
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
import type { Actors, Ledger, Market } from "../../support/exchange/network.js";
import { feeFor } from "../naive/arithmetic.js";
import { restoredCopy } from "../../support/exchange/saved.js";

export interface ExchangeMutant {
  readonly name: string;
  readonly actors: Actors;
  /** Changes the code itself. Returns the function that restores it. */
  readonly patch?: () => () => void;
}

interface Change<Command, Delta> {
  readonly command?: (command: Command) => Command;
  readonly deltas?: (deltas: readonly Delta[], command: Command) => readonly Delta[];
}

/** Returns an actor that decides on changed commands, or emits changed deltas. */
function changedActor<State, Command, Delta, Reply>(
  actor: Actor<State, Command, Delta, Reply>,
  idOf: (state: State) => ActorId,
  { command: change = (command) => command, deltas: rewrite }: Change<Command, Delta>,
): Actor<State, Command, Delta, Reply> {
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      if (rewrite === undefined) return actor.decide(state, change(command), nowMs, format, bounds);
      const copy = restoredCopy(actor, idOf(state), state);
      const decision = actor.decide(copy, change(command), nowMs, format, bounds);
      const { deltas } = decision;
      const rewritten = rewrite(deltas, command);
      for (const delta of rewritten) actor.evolve(state, delta, nowMs);
      return { ...decision, deltas: rewritten };
    },
  };
}

function inMarket(name: string, change: Change<MarketCommand, MarketDelta>): ExchangeMutant {
  const idOf = (state: MarketState): ActorId => marketActor(state.marketId);
  const mutant: Market = changedActor(market, idOf, change);
  return { name, actors: { market: mutant, ledger } };
}

function inLedger(name: string, change: Change<LedgerCommand, LedgerDelta>): ExchangeMutant {
  const idOf = (state: LedgerState): ActorId => ledgerActor(state.shard);
  const mutant: Ledger = changedActor(ledger, idOf, change);
  return { name, actors: { market, ledger: mutant } };
}

/** Changes each order as it enters the market. */
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

/** Replaces methods of a class while the mutant runs. */
function replacing<Class extends object>(
  name: string,
  prototype: Class,
  methods: Partial<Class>,
): ExchangeMutant {
  return {
    name,
    actors: { market, ledger },
    patch: () => {
      const methodNames = Object.keys(methods);
      const originals = methodNames.map(
        (method) => [method, Object.getOwnPropertyDescriptor(prototype, method)] as const,
      );
      Object.assign(prototype, methods);
      return () => {
        for (const [method, descriptor] of originals)
          if (descriptor !== undefined) Object.defineProperty(prototype, method, descriptor);
      };
    },
  };
}

const reserve = Object.getOwnPropertyDescriptor(Account.prototype, "reserve")?.value as Account["reserve"];
const remove = Object.getOwnPropertyDescriptor(Account.prototype, "remove")?.value as Account["remove"];
const update = Object.getOwnPropertyDescriptor(Account.prototype, "update")?.value as Account["update"];
const add = Object.getOwnPropertyDescriptor(Account.prototype, "add")?.value as Account["add"];
const append = Object.getOwnPropertyDescriptor(Ladder.prototype, "append")?.value as Ladder["append"];

/** Bugs in the reserve, which the property of `../reserve.property.test.ts` must catch too. */
export const RESERVE_MUTANTS: readonly ExchangeMutant[] = [
  replacing("the reserve of a canceled order is not released", Account.prototype, {
    remove(this: Account, order) {
      if (order.pending || order.remaining === 0) remove.call(this, order);
    },
  }),
  replacing("a held contract counts for two orders", Account.prototype, {
    reserve(this: Account, policy) {
      const held = Array.from({ length: this.outcomes }, (_, outcome) => this.holding(outcome));
      for (const [outcome, { qty, cost }] of held.entries())
        this.setHolding(outcome, { qty: contracts(2 * qty), cost: millicents(2 * cost) });
      const reserved = reserve.call(this, policy);
      for (const [outcome, holding] of held.entries()) this.setHolding(outcome, holding);
      return reserved;
    },
  }),
  replacing("the fee of an order is left out of its reserve", Account.prototype, {
    add(this: Account, order, original) {
      order.pending = false;
      add.call(this, order, original);
    },
  }),
  replacing("an order needs no money of its own", Account.prototype, {
    mostWith(this: Account) {
      return this.reserved;
    },
  }),
  replacing("an account reserves half of the required amount", Account.prototype, {
    reserve(this: Account, policy) {
      return millicents(Math.floor(reserve.call(this, policy) / 2));
    },
  }),
];

/** Replacement of each order that `Account.add` has seen. */
const replacements = new WeakMap<AccountOrder, AccountOrder>();

/** Bugs in the reserve of an order and its replacement, which show only while their market has not answered. */
export const REPLACING_MUTANTS: readonly ExchangeMutant[] = [
  replacing("the replacement of an order holds nothing", Account.prototype, {
    add(this: Account, order, original) {
      add.call(this, order, original);
      if (original !== undefined) update.call(this, order, contracts(0), order.pending);
    },
  }),
  replacing("the fills of an order are not taken off its replacement", Account.prototype, {
    add(this: Account, order, original) {
      add.call(this, order, original);
      if (original !== undefined) replacements.set(original, order);
    },
    update(this: Account, order, remaining, pending) {
      const replacement = replacements.get(order);
      const before = replacement?.remaining;
      update.call(this, order, remaining, pending);
      if (replacement === undefined || before === undefined || replacement.remaining === before) return;
      update.call(this, replacement, before, replacement.pending);
    },
  }),
];

export const EXCHANGE_MUTANTS: readonly ExchangeMutant[] = [
  filling("a fee is rounded down", (fill, command) => {
    if (command.kind !== "enter" || fill.fee === 0) return fill;
    const exact = feeFor(
      { ...command.order.fee, coefficientPpm: command.order.fee.coefficientPpm * 2 },
      fill.price,
      fill.qty,
    );
    return { ...fill, fee: millicents(Math.min(fill.fee, Math.floor(exact / 2))) };
  }),
  filling("the maker pays the taker's fee", (fill) => ({
    ...fill,
    fee: millicents(fill.credit),
    credit: millicents(fill.fee),
  })),
  filling("the house keeps the maker's credit", (fill) => ({ ...fill, credit: millicents(0) })),
  filling("netting pays the full value on a PUSH market", (fill) =>
    fill.payout === 0 ? fill : { ...fill, payout: millicents(Math.ceil(fill.payout / 1_000) * 1_000) },
  ),
  filling("netting pays nothing", (fill) => ({ ...fill, payout: millicents(0) })),
  filling("a wash has a cost", (fill) =>
    fill.wash ? { ...fill, cost: millicents(fill.price * fill.qty) } : fill,
  ),
  filling("a taker pays its limit price", (fill, command) =>
    command.kind === "enter" && fill.taker && !fill.wash
      ? { ...fill, price: command.order.price, cost: millicents(command.order.price * fill.qty) }
      : fill,
  ),
  entering("a post-only order takes", (order) => (order.tif === "PO" ? { ...order, tif: "GTC" } : order)),
  entering("an IOC order rests", (order) => (order.tif === "IOC" ? { ...order, tif: "GTC" } : order)),
  entering("a FOK order fills in part", (order) => (order.tif === "FOK" ? { ...order, tif: "IOC" } : order)),
  entering("an order never expires", ({ expiresAt: _expiresAt, ...order }) => order),
  entering("the notAfter of an order is ignored", ({ notAfter: _notAfter, ...order }) => order),
  entering("orders of one trader match each other", (order) => ({ ...order, trader: order.orderId })),
  entering("every self-trade is a wash", (order) => ({ ...order, selfTrade: "wash" })),
  inMarket("a pause changes nothing", {
    command: (command) =>
      command.kind === "lifecycle"
        ? { ...command, actions: command.actions.filter((action) => action !== "pause") }
        : command,
  }),
  inMarket("a market that its operator has closed opens when the event goes live", {
    command: (command) => (command.kind === "lifecycle" ? { ...command, byEvent: true } : command),
  }),
  inMarket("a market that its event has closed stays closed when the event goes live", {
    command: (command) => (command.kind === "lifecycle" ? { ...command, byEvent: undefined } : command),
  }),
  inMarket("going live keeps the book", {
    deltas: (deltas, command) =>
      command.kind === "lifecycle" &&
      deltas.some((delta) => delta.type === "lifecycle" && delta.kind === "GOLIVE")
        ? deltas.filter((delta) => delta.type === "lifecycle")
        : deltas,
  }),
  without("the end of a best bid is not published", (delta) => delta.type === "bbo" && delta.bbo === null),
  without("a print is missing", (delta) => delta.type === "trade" && delta.outcome === 1),
  without("the rest of a netted set is not kept for settlement", (delta) => delta.type === "locked"),
  inMarket("losers are paid 1 millicent", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "payout" && delta.amount === 0 ? { ...delta, amount: millicents(1) } : delta,
      ),
  }),
  inMarket("a remediation takes back 1 millicent less", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "reversal" && delta.amount > 0
          ? { ...delta, amount: millicents(delta.amount - 1) }
          : delta,
      ),
  }),
  inMarket("an amendment cancels the order", {
    command: (command) =>
      command.kind === "amend" ? { kind: "cancel", orderIds: [command.orderId] } : command,
  }),
  inLedger("a transfer has only one leg", {
    deltas: (deltas) => deltas.filter((delta) => delta.type !== "entry" || delta.kind !== "TRANSFER_IN"),
  }),
  inLedger("a transfer moves CASH whatever its currency", {
    command: (command) => (command.kind === "transfer" ? { ...command, currency: undefined } : command),
  }),
  inLedger("a clientId is not recorded", {
    deltas: (deltas) =>
      deltas.map((delta) => (delta.type === "accepted" ? { ...delta, clientId: undefined } : delta)),
  }),
  inLedger("a private seq is used twice", {
    deltas: (deltas) =>
      deltas.map((delta) =>
        delta.type === "order" && delta.kind === "cancel" ? { ...delta, seq: delta.seq - 1 } : delta,
      ),
  }),
  inLedger("a cancel is not sent to its market", {
    deltas: (deltas) => deltas.filter((delta) => delta.type !== "canceling"),
  }),
  ...RESERVE_MUTANTS,
  replacing("time priority is reversed", Ladder.prototype, {
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
  replacing("an amended order keeps its quantity in the level", Ladder.prototype, {
    shrink(this: Ladder, resting: RestingOrder, remaining) {
      resting.remaining = contracts(remaining);
    },
  }),
];
