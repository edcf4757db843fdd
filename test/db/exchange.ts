/** The real actors, connected in memory, and their deltas as log entries, which tests project. */

import { randomUUID } from "node:crypto";
import { ledgerActor, ledgerShardOf, marketActor, type ActorId, type Batch } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { OperatorTransactionKind } from "../../actors/ledger/types.js";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { Currency, Grade, MarketDefinition, Voids } from "../../actors/market/types.js";
import { contracts, millicents, ticks } from "../../actors/units.js";
import type { AnyDelta, Entry } from "../../stream/log/ports.js";
import type { TimeInForce } from "../../actors/market/time-in-force.js";
import {
  createMarket,
  deposit,
  FEE,
  marketDefinition,
  orderRequest,
  placement,
  termsOf,
} from "../support/exchange/commands.js";
import { ActorNetwork } from "../support/exchange/network.js";

export interface TestMarket extends MarketDefinition {
  readonly outcomeIds: readonly string[];
}

export interface PlaceOptions {
  readonly currency?: Currency;
  readonly tif?: TimeInForce;
  readonly clientId?: string;
  readonly wallet?: string;
}

export class SmallExchange {
  readonly network = new ActorNetwork();
  readonly markets: TestMarket[] = [];
  readonly #logs = new Map<ActorId, Entry[]>();
  readonly #newId: () => string;

  constructor(newId: () => string = randomUUID) {
    this.#newId = newId;
  }

  createMarket(
    options: { eventId?: string; outcomes?: number; voids?: Voids; open?: boolean } = {},
  ): TestMarket {
    const { open = true, ...changes } = options;
    const definition = marketDefinition({ strike: "2.5", fee: FEE, ...changes }, this.#newId);
    this.command(definition.marketId, createMarket(definition, open));
    const market = { ...definition, outcomeIds: definition.outcomes.map(({ outcomeId }) => outcomeId) };
    this.markets.push(market);
    return market;
  }

  command(marketId: string, command: MarketCommand): MarketReply | undefined {
    this.network.now += 1;
    return this.network.market(marketId, command);
  }

  lifecycle(market: TestMarket, ...actions: LifecycleAction[]): void {
    this.command(market.marketId, { kind: "lifecycle", actions });
  }

  grade(market: TestMarket, grade: Grade): void {
    this.command(market.marketId, { kind: "grade", settlementId: this.#newId(), grade });
  }

  settle(market: TestMarket, limit = 100): void {
    this.command(market.marketId, { kind: "settle", limit });
  }

  transact(
    trader: string,
    amount: number,
    options: { kind?: OperatorTransactionKind; currency?: Currency } = {},
  ): LedgerReply | undefined {
    const { kind = "DEPOSIT", currency = "CASH" } = options;
    return this.#ledger(
      trader,
      deposit(trader, amount, {
        transactionId: this.#newId(),
        transaction: kind,
        currency,
        ref: "a \"quoted\" \\ reference, {with} 'everything'",
      }),
    );
  }

  fund(trader: string, wallet: string, amount: number, clientTransferId?: string): string {
    const transferId = this.#newId();
    this.#ledger(trader, {
      kind: "transfer",
      transferId,
      direction: "fund",
      trader,
      wallet,
      amount: millicents(amount),
      clientTransferId,
    });
    return transferId;
  }

  place(
    trader: string,
    market: TestMarket,
    outcome: number,
    price: number,
    qty: number,
    { wallet, ...changes }: PlaceOptions = {},
  ): string {
    const orderId = this.#newId();
    const order = orderRequest(market, { orderId, outcome, price, qty, ...changes });
    this.#ledger(trader, placement(trader, order, wallet));
    return orderId;
  }

  cancelAll(trader: string): void {
    this.#ledger(trader, { kind: "cancelAll", wallet: trader, filter: {} });
  }

  amend(trader: string, orderId: string, qty: number): void {
    this.#ledger(trader, { kind: "amend", wallet: trader, orderId, qty: contracts(qty) });
  }

  /** Replaces an order by an order at another price. */
  reprice(trader: string, market: TestMarket, orderId: string, price: number): void {
    this.#ledger(trader, {
      kind: "amend",
      wallet: trader,
      orderId,
      price: ticks(price),
      replacement: { orderId: this.#newId(), terms: termsOf(market) },
    });
  }

  deliverAll(): void {
    this.network.deliverAll();
  }

  /** Returns the entries of each actor so far. New batches go into entries of `batchesPerEntry` batches each. */
  entries(batchesPerEntry = 1): Entry[] {
    for (const [marketId, { emitted }] of this.network.markets) {
      this.#write(marketActor(marketId), emitted, batchesPerEntry);
    }
    for (const [shard, { emitted }] of this.network.ledgers) {
      this.#write(ledgerActor(shard), emitted, batchesPerEntry);
    }
    return [...this.#logs.values()].flat();
  }

  #ledger(trader: string, command: LedgerCommand): LedgerReply | undefined {
    this.network.now += 1;
    return this.network.ledger(ledgerShardOf(trader), command);
  }

  #write(actor: ActorId, emitted: readonly Batch<AnyDelta>[], batchesPerEntry: number): void {
    const log = this.#logs.get(actor) ?? [];
    this.#logs.set(actor, log);
    const written = log.reduce((sum, { batches }) => sum + batches.length, 0);
    const fresh = emitted.filter(({ deltas }) => deltas.length > 0).slice(written);
    for (let start = 0; start < fresh.length; start += batchesPerEntry) {
      log.push(entry(actor, log.length + 1, fresh.slice(start, start + batchesPerEntry)));
    }
  }
}

export function entry(actor: ActorId, seq: number, batches: Entry["batches"]): Entry {
  return { actor, seq, batches, cursor: "0-0", sources: {}, answers: [] };
}

/** Returns a function that returns pseudo-random integers from 0 up to but not including `below`. */
export function dice(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Returns a function that derives ids from the dice, so that the same seed gives the same ids. */
export function idsOf(roll: (below: number) => number): () => string {
  const digits = (count: number) => Array.from({ length: count }, () => roll(16).toString(16)).join("");
  return () => `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
}

/** Mixes the entries of different actors at random, and keeps those of each actor in order. */
export function interleave(entries: readonly Entry[], roll: (below: number) => number): Entry[] {
  const byActor = new Map<ActorId, Entry[]>();
  for (const entry of entries) byActor.set(entry.actor, [...(byActor.get(entry.actor) ?? []), entry]);
  const queues = [...byActor.values()];
  const mixed: Entry[] = [];
  while (queues.length > 0) {
    const index = roll(queues.length);
    const next = queues[index]?.shift();
    if (next === undefined) queues.splice(index, 1);
    else mixed.push(next);
  }
  return mixed;
}
