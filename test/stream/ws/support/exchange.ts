/** Real markets and ledgers in one process, connected by a `MemoryTail`; implements the ports of the bridge in tests. */

import { randomUUID } from "node:crypto";
import { type ActorId, type Batch, ledgerShardOf, marketActor } from "../../../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../../../actors/ledger/commands.js";
import type { OrderRequest, WalletSnapshot } from "../../../../actors/ledger/types.js";
import type { MarketCommand } from "../../../../actors/market/commands.js";
import { market } from "../../../../actors/market/market.js";
import type { MarketState } from "../../../../actors/market/state.js";
import type { Currency, MarketDefinition } from "../../../../actors/market/types.js";
import { contracts, parsePrice } from "../../../../actors/units.js";
import type { AnyDelta } from "../../../../stream/log/ports.js";
import type {
  CancelAllAnswer,
  CancelAnswer,
  Caller,
  Catalog,
  MarketIdentity,
  PlaceAnswer,
  Trading,
} from "../../../../stream/ws/ports.js";
import type { LoadMarket } from "../../../../stream/ws/market/replica.js";
import { createMarket, deposit, marketDefinition, orderRequest } from "../../../support/exchange/commands.js";
import { ActorNetwork } from "../../../support/exchange/network.js";
import { MemoryTail, type Random } from "./memory-tail.js";
import { restoredCopy } from "../../../support/exchange/saved.js";

export const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

/** An order as a client sends it. */
export interface WireOrder {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: number;
  readonly tif: "GTC" | "IOC" | "FOK" | "PO";
  readonly clientId?: string;
  readonly currency?: Currency;
}

export class TestExchange implements Catalog, Trading {
  readonly tail: MemoryTail;
  readonly #random: Random;
  readonly #network: ActorNetwork;
  readonly #definitions = new Map<string, MarketDefinition>();
  /** Batches that are decided but not committed; several commands may share an entry. */
  readonly #open = new Map<ActorId, Batch<AnyDelta>[]>();
  readonly #listeners = new Set<(marketId: string) => void>();
  readonly #events = new Map<string, string[]>();
  /** Calls of `cancelAll`, with their reasons. */
  readonly canceledAll: (string | undefined)[] = [];
  /** Makes the catalog fail this many times. */
  catalogFailures = 0;
  /** Makes `load` fail this many times. */
  loadFailures = 0;

  constructor(random: Random = () => 0) {
    this.#random = random;
    this.tail = new MemoryTail(random);
    this.#network = new ActorNetwork({ onBatch: (actor, batch) => this.#emit(actor, batch) });
  }

  /** Opens a market, in a new event unless one is given, and notifies the listeners of the catalog. */
  createMarket(outcomes = 2, eventId: string = randomUUID()): MarketDefinition {
    const definition = marketDefinition({ eventId, outcomes });
    const { marketId } = definition;
    this.#definitions.set(marketId, definition);
    this.operate(marketId, createMarket(definition));
    this.#events.set(eventId, [...(this.#events.get(eventId) ?? []), marketId]);
    this.announce(marketId);
    return definition;
  }

  announce(marketId: string): void {
    for (const listener of this.#listeners) listener(marketId);
  }

  state(marketId: string): MarketState {
    return this.#network.marketOf(marketId).state;
  }

  wallet(traderId: string, wallet = traderId): WalletSnapshot {
    return this.#network.wallet(ledgerShardOf(traderId), wallet);
  }

  operate(marketId: string, command: MarketCommand): void {
    this.#network.now += 1;
    this.#network.market(marketId, command);
    this.#deliver();
  }

  fund(traderId: string, currency: Currency = "CASH", wallet = traderId): void {
    this.#run(traderId, deposit(traderId, 1_000_000_000, { currency, wallet }));
  }

  amend({ wallet, traderId }: Caller, orderId: string, qty: number): void {
    this.#run(traderId, { kind: "amend", wallet, orderId, qty: contracts(qty) });
  }

  /** Behaves like `Exchange.ledger`: the answer is delayed, and deltas may arrive before it. */
  readonly ledger = async (shard: number, command: LedgerCommand): Promise<LedgerReply> => {
    await this.#pause();
    this.#network.now += 1;
    const reply = this.#network.ledger(shard, command);
    this.#deliver();
    await this.#pause();
    if (reply === undefined) throw new Error(`a ledger does not answer ${command.kind}`);
    return reply;
  };

  readonly load: LoadMarket = async (marketId) => {
    await this.#pause();
    if (this.loadFailures > 0) {
      this.loadFailures -= 1;
      throw new Error("the state cannot be read");
    }
    if (!this.#definitions.has(marketId)) return undefined;
    const actor = marketActor(marketId);
    this.commit();
    const loaded = { seq: this.tail.last(actor), state: restoredCopy(market, actor, this.state(marketId)) };
    await this.#pause();
    return loaded;
  };

  /** Commits all batches so far, so that followers receive them. */
  commit(): void {
    for (const [actor, batches] of this.#open) this.tail.commit(actor, batches);
    this.#open.clear();
  }

  async market(marketId: string): Promise<MarketIdentity | undefined> {
    await this.#pause();
    if (this.catalogFailures > 0) {
      this.catalogFailures -= 1;
      throw new Error("the catalog is down");
    }
    return this.#definitions.get(marketId);
  }

  listed(marketIds: readonly string[]): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set(marketIds.filter((marketId) => this.#definitions.has(marketId))));
  }

  async marketsOf(eventId: string): Promise<readonly string[] | undefined> {
    await this.#pause();
    return this.#events.get(eventId);
  }

  onMarket(listener: (marketId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async place(caller: Caller, orders: readonly unknown[], atomic: boolean): Promise<PlaceAnswer> {
    const requests = (orders as WireOrder[]).map((order) => this.#request(order));
    const unknown = requests.findIndex((request) => request === undefined);
    if (unknown >= 0)
      return { ok: false, code: "OUTCOME_NOT_FOUND", message: `order ${unknown} names no outcome` };
    const reply = await this.ledger(ledgerShardOf(caller.traderId), {
      kind: "place",
      wallet: caller.wallet,
      trader: caller.traderId,
      orders: requests.filter((request) => request !== undefined),
      atomic,
    });
    if (!reply.ok || reply.kind !== "placed") throw new Error("a placement received another kind of reply");
    const accepted = reply.results.flatMap((result) =>
      result.ok ? [{ orderId: result.orderId, clientId: result.clientId }] : [],
    );
    const rejected = reply.results.flatMap((result, index) =>
      result.ok
        ? []
        : [{ index, outcomeId: (orders as WireOrder[])[index]?.outcomeId ?? "", reason: result.refusal }],
    );
    if (rejected.length === 0) return { ok: true, accepted };
    return {
      ok: false,
      code: "BATCH_PARTIALLY_REJECTED",
      message: "some orders were refused",
      accepted,
      rejected,
    };
  }

  async cancel(caller: Caller, orderIds: readonly string[]): Promise<CancelAnswer> {
    const { wallet, traderId } = caller;
    const reply = await this.ledger(ledgerShardOf(traderId), { kind: "cancel", wallet, orderIds });
    if (!reply.ok || reply.kind !== "cancels") throw new Error("a cancel received another kind of reply");
    const notCanceled = reply.unknown.map((orderId) => ({ orderId, reason: "NOT_FOUND" as const }));
    return { ok: true, canceled: reply.queued.map(({ orderId }) => orderId), notCanceled };
  }

  async cancelAll(caller: Caller, _filter: object, reason?: "DISCONNECTED"): Promise<CancelAllAnswer> {
    this.canceledAll.push(reason);
    const { wallet, traderId } = caller;
    const reply = await this.ledger(ledgerShardOf(traderId), {
      kind: "cancelAll",
      wallet,
      filter: {},
      reason,
    });
    if (!reply.ok || reply.kind !== "cancels") throw new Error("a cancel received another kind of reply");
    return { ok: true, canceled: reply.queued.length };
  }

  #request({ outcomeId, price: text, ...order }: WireOrder): OrderRequest | undefined {
    for (const definition of this.#definitions.values()) {
      const outcome = definition.outcomes.findIndex((one) => one.outcomeId === outcomeId);
      const price = parsePrice(text);
      if (outcome < 0 || price === undefined) continue;
      const request = orderRequest(definition, { ...order, outcome, price });
      return { ...request, terms: { ...request.terms, live: this.state(definition.marketId).live } };
    }
    return undefined;
  }

  #run(traderId: string, command: LedgerCommand): void {
    this.#network.now += 1;
    this.#network.ledger(ledgerShardOf(traderId), command);
    this.#deliver();
  }

  /** Delivers every message; the clock moves with each of them. */
  #deliver(): void {
    while (this.#network.undelivered.length > 0) {
      this.#network.now += 1;
      this.#network.deliver(0);
    }
  }

  #emit(actor: ActorId, batch: Batch<AnyDelta>): void {
    this.#open.set(actor, [...(this.#open.get(actor) ?? []), batch]);
    if (this.#random(3) === 0) this.commit();
  }

  async #pause(): Promise<void> {
    for (let turns = this.#random(3); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
  }
}
