/** Real markets and ledgers in one process, connected by a `MemoryTail`; implements the ports of the bridge in tests. */

import { randomUUID } from "node:crypto";
import {
  type ActorId,
  type Batch,
  ledgerActor,
  ledgerShardOf,
  marketActor,
  type Outgoing,
} from "../../../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../../../actors/ledger/commands.js";
import { ledger, walletSnapshot } from "../../../../actors/ledger/ledger.js";
import type { LedgerState } from "../../../../actors/ledger/state.js";
import type { OrderRequest, WalletSnapshot } from "../../../../actors/ledger/types.js";
import type { MarketCommand } from "../../../../actors/market/commands.js";
import { market } from "../../../../actors/market/market.js";
import type { MarketState } from "../../../../actors/market/state.js";
import type { Currency, MarketDefinition } from "../../../../actors/market/types.js";
import { contracts, millicents, parsePrice } from "../../../../actors/units.js";
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
import { FREE, GRID } from "../../../actors/scenario.js";
import { MemoryTail, type Random } from "./memory-tail.js";

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
  nowMs = 1_700_000_000_000;
  readonly #random: Random;
  readonly #markets = new Map<string, MarketState>();
  readonly #ledgers = new Map<number, LedgerState>();
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
  }

  /** Opens a market, in a new event unless one is given, and notifies the listeners of the catalog. */
  createMarket(outcomes = 2, eventId: string = randomUUID()): MarketDefinition {
    const marketId = randomUUID();
    const definition: MarketDefinition = {
      marketId,
      eventId,
      marketType: "MONEY",
      description: "who wins",
      voids: "FMV",
      outcomes: ids(outcomes).map((outcomeId, index) => ({ outcomeId, name: `outcome ${index}` })),
      fee: FREE,
      liveDelayMs: 0,
      ticks: GRID,
    };
    this.#markets.set(marketId, market.create(marketActor(marketId)));
    this.operate(marketId, { kind: "create", definition, open: true, live: false });
    this.#events.set(eventId, [...(this.#events.get(eventId) ?? []), marketId]);
    this.announce(marketId);
    return definition;
  }

  announce(marketId: string): void {
    for (const listener of this.#listeners) listener(marketId);
  }

  state(marketId: string): MarketState {
    const state = this.#markets.get(marketId);
    if (state === undefined) throw new Error(`no market ${marketId}`);
    return state;
  }

  wallet(traderId: string, wallet = traderId): WalletSnapshot {
    return walletSnapshot(this.#ledger(ledgerShardOf(traderId)), wallet);
  }

  operate(marketId: string, command: MarketCommand): void {
    this.#run({ to: marketActor(marketId), command });
  }

  fund(traderId: string, currency: Currency = "CASH", wallet = traderId): void {
    this.#run({
      to: ledgerActor(ledgerShardOf(traderId)),
      command: {
        kind: "transact",
        transactionId: randomUUID(),
        transaction: "DEPOSIT",
        wallet,
        trader: traderId,
        currency,
        amount: millicents(1_000_000_000),
        ref: "test",
      } satisfies LedgerCommand,
    });
  }

  amend(caller: Caller, orderId: string, qty: number): void {
    const { wallet, traderId } = caller;
    this.#run({
      to: ledgerActor(ledgerShardOf(traderId)),
      command: { kind: "amend", wallet, orderId, qty: contracts(qty) } satisfies LedgerCommand,
    });
  }

  /** Behaves like `Exchange.ledger`: the answer is delayed, and deltas may arrive before it. */
  readonly ledger = async (shard: number, command: LedgerCommand): Promise<LedgerReply> => {
    await this.#pause();
    const reply = this.#run({ to: ledgerActor(shard), command }) as LedgerReply;
    await this.#pause();
    return reply;
  };

  readonly load: LoadMarket = async (marketId) => {
    await this.#pause();
    if (this.loadFailures > 0) {
      this.loadFailures -= 1;
      throw new Error("the state cannot be read");
    }
    const state = this.#markets.get(marketId);
    if (state === undefined) return undefined;
    const actor = marketActor(marketId);
    this.commit();
    const copy: unknown = JSON.parse(JSON.stringify(market.save(state)));
    const loaded = { seq: this.tail.last(actor), state: market.restore(actor, copy) };
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
    return this.#markets.get(marketId)?.definition;
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

  #request(order: WireOrder): OrderRequest | undefined {
    for (const [marketId, state] of this.#markets) {
      const { definition } = state;
      const outcome = definition?.outcomes.findIndex(({ outcomeId }) => outcomeId === order.outcomeId) ?? -1;
      const price = parsePrice(order.price);
      if (definition === undefined || outcome < 0 || price === undefined) continue;
      const { outcomes, voids, fee } = definition;
      return {
        orderId: randomUUID(),
        terms: { marketId, outcomes: outcomes.length, voids, fee, live: state.live },
        currency: order.currency ?? "CASH",
        outcome,
        price,
        qty: contracts(order.qty),
        tif: order.tif,
        clientId: order.clientId,
        selfTrade: "wash",
      };
    }
    return undefined;
  }

  /** Runs a command and every message that follows from it. */
  #run({ to, command }: Outgoing): unknown {
    this.nowMs += 1;
    const shard = to.startsWith("ledger:") ? Number(to.slice("ledger:".length)) : undefined;
    const { deltas, reply } =
      shard === undefined
        ? market.decide(this.state(to.slice("market:".length)), command as MarketCommand, this.nowMs)
        : ledger.decide(this.#ledger(shard), command as LedgerCommand, this.nowMs);
    if (deltas.length === 0) return reply;
    const batch = { ts: this.nowMs, deltas } as Batch<AnyDelta>;
    this.#open.set(to, [...(this.#open.get(to) ?? []), batch]);
    const outgoing =
      shard === undefined
        ? market.route(to, batch as Parameters<typeof market.route>[1])
        : ledger.route(to, batch as Parameters<typeof ledger.route>[1]);
    for (const message of outgoing) this.#run(message);
    if (this.#random(3) === 0) this.commit();
    return reply;
  }

  #ledger(shard: number): LedgerState {
    const state = this.#ledgers.get(shard) ?? ledger.create(ledgerActor(shard));
    this.#ledgers.set(shard, state);
    return state;
  }

  async #pause(): Promise<void> {
    for (let turns = this.#random(3); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
  }
}
