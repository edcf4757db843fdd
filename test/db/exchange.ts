/** The real actors, connected in memory, and their deltas as log entries, which tests project. */

import { randomUUID } from "node:crypto";
import {
  ledgerActor,
  ledgerShardOf,
  marketActor,
  type Actor,
  type ActorId,
  type Batch,
  type Outgoing,
} from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { LedgerState } from "../../actors/ledger/state.js";
import type { MarketTerms, OperatorTransactionKind } from "../../actors/ledger/types.js";
import type { LifecycleAction, MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { EffectDelta, MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import type { MarketState } from "../../actors/market/state.js";
import type { Currency, FeeSchedule, Grade, Voids } from "../../actors/market/types.js";
import { contracts, millicents, ticks, type Ticks } from "../../actors/units.js";
import type { AnyDelta, Entry } from "../../stream/log/ports.js";
import type { TimeInForce } from "../../actors/market/time-in-force.js";

export const FEE: FeeSchedule = { coefficientPpm: 60_000, makerCreditPpm: 500_000, charged: "ALWAYS" };

const GRID: readonly Ticks[] = [
  ...Array.from({ length: 50 }, (_, i) => i + 1),
  ...Array.from({ length: 179 }, (_, i) => 55 + 5 * i),
  ...Array.from({ length: 50 }, (_, i) => 950 + i),
].map(ticks);

/** An actor with its state and all batches that it has emitted. */
class LocalActor<State, Command, Delta, Reply> {
  readonly state: State;
  readonly emitted: Batch<Delta>[] = [];

  constructor(
    readonly id: ActorId,
    readonly actor: Actor<State, Command, Delta, Reply>,
  ) {
    this.state = actor.create(id);
  }

  apply(command: Command, now: number): { reply: Reply | undefined; outgoing: readonly Outgoing[] } {
    const { deltas, reply } = this.actor.decide(this.state, command, now);
    const batch = JSON.parse(JSON.stringify({ ts: now, deltas })) as Batch<Delta>;
    this.emitted.push(batch);
    return { reply, outgoing: this.actor.route(this.id, batch) };
  }
}

/** Markets and ledgers. Their messages wait for delivery, in order between any two of them. */
class Network {
  now = 1_700_000_000_000;
  readonly markets = new Map<string, LocalActor<MarketState, MarketCommand, MarketDelta, MarketReply>>();
  readonly ledgers = new Map<number, LocalActor<LedgerState, LedgerCommand, LedgerDelta, LedgerReply>>();
  readonly undelivered: (Outgoing & { readonly from: ActorId })[] = [];

  marketOf(marketId: string) {
    const found = this.markets.get(marketId) ?? new LocalActor(marketActor(marketId), market);
    this.markets.set(marketId, found);
    return found;
  }

  ledgerOf(shard: number) {
    const found = this.ledgers.get(shard) ?? new LocalActor(ledgerActor(shard), ledger);
    this.ledgers.set(shard, found);
    return found;
  }

  market(marketId: string, command: MarketCommand): MarketReply | undefined {
    const actor = this.marketOf(marketId);
    const { reply, outgoing } = actor.apply(command, this.now);
    this.undelivered.push(...outgoing.map((message) => ({ ...message, from: actor.id })));
    return reply;
  }

  ledger(shard: number, command: LedgerCommand): LedgerReply | undefined {
    const actor = this.ledgerOf(shard);
    const { reply, outgoing } = actor.apply(command, this.now);
    this.undelivered.push(...outgoing.map((message) => ({ ...message, from: actor.id })));
    return reply;
  }

  /** Delivers the oldest message between one pair of actors, which `choice` selects. */
  deliver(choice: number): void {
    const pairs = [...new Set(this.undelivered.map(({ from, to }) => `${from} ${to}`))];
    const pair = pairs[choice % pairs.length];
    const index = this.undelivered.findIndex(({ from, to }) => `${from} ${to}` === pair);
    const [message] = index === -1 ? [] : this.undelivered.splice(index, 1);
    if (message === undefined) return;
    const [kind, id = ""] = message.to.split(":");
    if (kind === "market") this.market(id, message.command as MarketCommand);
    else this.ledger(Number(id), message.command as LedgerCommand);
  }

  deliverAll(): void {
    while (this.undelivered.length > 0) this.deliver(0);
  }

  /** Sums what undelivered messages pay to wallets, less what they take from wallets. */
  inFlight(currency: Currency): number {
    let sum = 0;
    for (const { command } of this.undelivered) {
      const { kind, deltas } = command as { kind: string; deltas: readonly EffectDelta[] };
      if (kind !== "effects") continue;
      for (const delta of deltas) {
        if (!("currency" in delta) || delta.currency !== currency) continue;
        if (delta.type === "payout") sum += delta.amount;
        if (delta.type === "reversal") sum -= delta.amount;
        if (delta.type === "order") sum += delta.payout - delta.cost;
      }
    }
    return sum;
  }
}

export interface MarketIds {
  readonly marketId: string;
  readonly eventId: string;
  readonly outcomeIds: readonly string[];
  readonly voids: Voids;
}

export interface PlaceOptions {
  readonly currency?: Currency;
  readonly tif?: TimeInForce;
  readonly clientId?: string;
  readonly wallet?: string;
}

export class SmallExchange {
  readonly network = new Network();
  readonly markets: MarketIds[] = [];
  readonly #logs = new Map<ActorId, Entry[]>();
  readonly #newId: () => string;

  constructor(newId: () => string = randomUUID) {
    this.#newId = newId;
  }

  createMarket(
    options: { eventId?: string; outcomes?: number; voids?: Voids; open?: boolean } = {},
  ): MarketIds {
    const { eventId = this.#newId(), outcomes = 2, voids = "FMV", open = true } = options;
    const marketId = this.#newId();
    const outcomeIds = Array.from({ length: outcomes }, () => this.#newId());
    this.command(marketId, {
      kind: "create",
      open,
      live: false,
      definition: {
        marketId,
        eventId,
        marketType: "MONEY",
        description: "who wins",
        strike: "2.5",
        voids,
        outcomes: outcomeIds.map((outcomeId, outcome) => ({ outcomeId, name: `outcome ${outcome}` })),
        fee: FEE,
        liveDelayMs: 0,
        ticks: GRID,
      },
    });
    const ids = { marketId, eventId, outcomeIds, voids };
    this.markets.push(ids);
    return ids;
  }

  command(marketId: string, command: MarketCommand): MarketReply | undefined {
    this.network.now += 1;
    return this.network.market(marketId, command);
  }

  lifecycle(market: MarketIds, ...actions: LifecycleAction[]): void {
    this.command(market.marketId, { kind: "lifecycle", actions });
  }

  grade(market: MarketIds, grade: Grade): void {
    this.command(market.marketId, { kind: "grade", settlementId: this.#newId(), grade });
  }

  settle(market: MarketIds, limit = 100): void {
    this.command(market.marketId, { kind: "settle", limit });
  }

  transact(
    trader: string,
    amount: number,
    options: { kind?: OperatorTransactionKind; currency?: Currency } = {},
  ): LedgerReply | undefined {
    this.network.now += 1;
    return this.network.ledger(ledgerShardOf(trader), {
      kind: "transact",
      transactionId: this.#newId(),
      transaction: options.kind ?? "DEPOSIT",
      wallet: trader,
      trader,
      currency: options.currency ?? "CASH",
      amount: millicents(amount),
      ref: "a \"quoted\" \\ reference, {with} 'everything'",
    });
  }

  fund(trader: string, wallet: string, amount: number, clientTransferId?: string): string {
    this.network.now += 1;
    const transferId = this.#newId();
    this.network.ledger(ledgerShardOf(trader), {
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
    market: MarketIds,
    outcome: number,
    price: number,
    qty: number,
    options: PlaceOptions = {},
  ): string {
    this.network.now += 1;
    const orderId = this.#newId();
    this.network.ledger(ledgerShardOf(trader), {
      kind: "place",
      wallet: options.wallet ?? trader,
      trader,
      atomic: false,
      orders: [
        {
          orderId,
          terms: termsOf(market),
          currency: options.currency ?? "CASH",
          outcome,
          price: ticks(price),
          qty: contracts(qty),
          tif: options.tif ?? "GTC",
          clientId: options.clientId,
          selfTrade: "wash",
        },
      ],
    });
    return orderId;
  }

  cancelAll(trader: string): void {
    this.network.now += 1;
    this.network.ledger(ledgerShardOf(trader), { kind: "cancelAll", wallet: trader, filter: {} });
  }

  amend(trader: string, orderId: string, qty: number): void {
    this.network.now += 1;
    this.network.ledger(ledgerShardOf(trader), {
      kind: "amend",
      wallet: trader,
      orderId,
      qty: contracts(qty),
    });
  }

  /** Replaces an order by an order at another price. */
  reprice(trader: string, market: MarketIds, orderId: string, price: number): void {
    this.network.now += 1;
    this.network.ledger(ledgerShardOf(trader), {
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

function termsOf({ marketId, outcomeIds, voids }: MarketIds): MarketTerms {
  return { marketId, outcomes: outcomeIds.length, voids, fee: FEE, live: false };
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
