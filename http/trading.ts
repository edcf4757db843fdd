/**
 * Placing and canceling, the same for REST and for the stream: gateway rules, then the wallet's ledger, whose reply is
 * the acceptance (contract section 5). Values in, values out; nothing here knows HTTP.
 */

import { randomUUID } from "node:crypto";
import { ledgerOf, ledgerShardOf } from "../actors/actor.js";
import type { LedgerCommand, LedgerReply, OrderFilter, PlaceResult } from "../actors/ledger/commands.js";
import type { OpenOrder, OrderRequest } from "../actors/ledger/types.js";
import type { Currency } from "../actors/market/types.js";
import { parsePrice } from "../actors/units.js";
import type { Database } from "../db/database.js";
import { findOrderByClientId, findOrders } from "../db/queries/orders.js";
import type { OrderStatus } from "../db/schema/wallets.js";
import { Unavailable, type Exchange } from "../stream/log/types.js";
import type { Terminal } from "../stream/ws/wallets.js";
import { meaningOf, Refused, refusedBy, type Code } from "./errors.js";
import type { Freshness } from "./freshness.js";
import { judgeOrder, type Market, type OrderRefusal } from "./placement.js";
import type { Reference } from "./reference.js";
import type { PlaceOrder } from "./schemas/orders.js";
import { idFrom } from "./signed.js";

/** Whose orders: a wallet, and the trader whose ledger shard it lives in. */
export interface Trader {
  readonly traderId: string;
  readonly wallet: string;
}

export interface Accepted {
  readonly orderId: string;
  readonly clientId?: string;
}

/** `index` is the place in the request. */
export interface Rejected {
  readonly index: number;
  readonly outcomeId: string;
  readonly reason: string;
}

/** What came of a batch. `none`: nothing was placed, and `code` is that of the first refusal. */
export type Placed =
  | { readonly kind: "all"; readonly accepted: readonly Accepted[]; readonly repeated: boolean }
  | { readonly kind: "some"; readonly accepted: readonly Accepted[]; readonly rejected: readonly Rejected[] }
  | {
      readonly kind: "none";
      readonly code: Code;
      readonly message: string;
      readonly rejected: readonly Rejected[];
    };

export interface Canceled {
  readonly canceled: readonly string[];
  readonly notCanceled: readonly {
    readonly orderId: string;
    readonly reason: "FILLED" | "CANCELED" | "NOT_FOUND";
  }[];
}

/** Which orders to cancel; absent fields do not narrow. */
export interface CancelScope {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
  readonly currency?: Currency | undefined;
}

/** Waits for the ends of orders, as their ledger tells them. */
export interface Endings {
  waitTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, Terminal>>;
}

export interface TradingParts {
  readonly reference: Reference;
  readonly exchange: Exchange;
  readonly endings: Endings;
  readonly freshness: Freshness;
  readonly db: Database;
}

export const MAX_BATCH = 256;
/** A signed request can come again while its timestamp is good: 30 s either way, and some for the answer. */
const REMEMBER_MS = 65_000;
const ENDING_TIMEOUT_MS = 2_000;
/** How long a `clientId` belongs to its order. */
const CLIENT_ID_MS = 24 * 60 * 60 * 1_000;

/** The answer to a repeat whose first request is known to have been accepted. */
interface Recalled {
  readonly recalled: Accepted;
}

type Judged = OrderRequest | OrderRefusal | Recalled;

function isRequest(one: Judged): one is OrderRequest {
  return "orderId" in one;
}

function isRefusal(one: Judged): one is OrderRefusal {
  return "code" in one;
}

export class Trading {
  constructor(private readonly parts: TradingParts) {}

  /**
   * Places orders, each judged by itself, or with `atomic` all as one. With a `commandId` a repeat gives the same
   * order ids and takes effect once. Refuses `EMPTY_BATCH` and `BATCH_TOO_LARGE`; throws `Unavailable`.
   */
  async place(
    trader: Trader,
    orders: readonly PlaceOrder[],
    atomic: boolean,
    commandId: string = randomUUID(),
  ): Promise<Placed> {
    requireBatch(orders.length);
    const judged = await this.judge(trader, orders, commandId);
    const passed = judged.filter(isRequest);
    const mayPlace = passed.length > 0 && !(atomic && judged.some(isRefusal));
    const results = mayPlace ? await this.accept(trader, passed, atomic, commandId) : [];
    return summarise(orders, merge(judged, results), atomic);
  }

  /** Cancels orders by id and says what became of each. Throws `Unavailable` when that cannot be told in time. */
  async cancel(
    trader: Trader,
    orderIds: readonly string[],
    commandId: string = randomUUID(),
  ): Promise<Canceled> {
    requireBatch(orderIds.length);
    const ends = await this.cancelEach(trader, [...new Set(orderIds)], commandId);
    const canceled: string[] = [];
    const notCanceled: { orderId: string; reason: "FILLED" | "CANCELED" | "NOT_FOUND" }[] = [];
    for (const [orderId, end] of ends) {
      if (end.byThis) canceled.push(orderId);
      else if (end.status === undefined) notCanceled.push({ orderId, reason: "NOT_FOUND" });
      else notCanceled.push({ orderId, reason: end.status === "FILLED" ? "FILLED" : "CANCELED" });
    }
    return { canceled, notCanceled };
  }

  /** Cancels one order; its status after that, or `undefined` when the wallet has no such order. */
  async cancelOne(trader: Trader, orderId: string, commandId: string): Promise<OrderStatus | undefined> {
    return (await this.cancelEach(trader, [orderId], commandId)).get(orderId)?.status;
  }

  /**
   * Cancels all of the wallet's orders in a scope; how many cancels were queued. Refuses `INVALID_QUERY` for a scope
   * that names nothing, or things that do not belong together.
   */
  async cancelAll(
    trader: Trader,
    scope: CancelScope,
    commandId: string = randomUUID(),
    reason?: "DISCONNECTED",
  ): Promise<number> {
    const filter = await this.filterOf(scope);
    const command: LedgerCommand = { kind: "cancelAll", wallet: trader.wallet, filter, reason };
    const reply = await this.ask(trader, command, commandId);
    if (reply.kind !== "cancels") throw new Error(`the ledger answered cancelAll with ${reply.kind}`);
    return reply.queued.length;
  }

  private async judge(trader: Trader, orders: readonly PlaceOrder[], commandId: string): Promise<Judged[]> {
    const grid = await this.parts.reference.ticks();
    const markets = new Map<string, Promise<Market | undefined>>();
    const judged = orders.map(async (order, index): Promise<Judged> => {
      const found = markets.get(order.outcomeId) ?? this.marketOf(order.outcomeId);
      markets.set(order.outcomeId, found);
      const market = await found;
      const one = judgeOrder(order, idFrom(commandId, `order ${index}`), market, grid);
      if (!isRefusal(one) || market === undefined) return one;
      return (await this.recall(trader, order, market)) ?? one;
    });
    return Promise.all(judged);
  }

  /** An order that could not be placed any more may be the repeat of one that was: its answer is then the first one. */
  private async recall(
    { traderId, wallet }: Trader,
    order: PlaceOrder,
    { place }: Market,
  ): Promise<Recalled | undefined> {
    if (order.clientId === undefined) return undefined;
    await this.parts.freshness.reach(ledgerOf(traderId));
    const first = await findOrderByClientId(this.parts.db, wallet, order.clientId);
    const same =
      first?.marketId === place.marketId &&
      first.outcome === place.outcome &&
      first.currency === order.currency &&
      first.price === parsePrice(order.price) &&
      first.qty === order.qty &&
      first.tif === order.tif &&
      Date.now() - first.ts < CLIENT_ID_MS;
    return same ? { recalled: { orderId: first.orderId, clientId: order.clientId } } : undefined;
  }

  private async marketOf(outcomeId: string): Promise<Market | undefined> {
    const place = await this.parts.reference.outcome(outcomeId);
    const record = place === undefined ? undefined : await this.parts.reference.market(place.marketId);
    return place === undefined || record === undefined ? undefined : { place, record };
  }

  private async accept(
    { traderId, wallet }: Trader,
    orders: readonly OrderRequest[],
    atomic: boolean,
    commandId: string,
  ): Promise<readonly PlaceResult[]> {
    const command: LedgerCommand = { kind: "place", wallet, trader: traderId, orders, atomic };
    const reply = await this.ask({ traderId, wallet }, command, commandId);
    if (reply.kind !== "placed") throw new Error(`the ledger answered place with ${reply.kind}`);
    return reply.results;
  }

  private async ask(
    { traderId }: Trader,
    command: LedgerCommand,
    commandId: string,
  ): Promise<Extract<LedgerReply, { ok: true }>> {
    const options = { id: commandId, rememberMs: REMEMBER_MS };
    const reply = await this.parts.exchange.ledger(ledgerShardOf(traderId), command, options);
    if (!reply.ok) throw refusedBy(reply.refusal);
    return reply;
  }

  /** Queues cancels and learns how each order ended. `byThis`: it was open, and is now canceled. */
  private async cancelEach(
    trader: Trader,
    orderIds: readonly string[],
    commandId: string,
  ): Promise<Map<string, { readonly status: OrderStatus | undefined; readonly byThis: boolean }>> {
    const command: LedgerCommand = { kind: "cancel", wallet: trader.wallet, orderIds };
    const reply = await this.ask(trader, command, commandId);
    if (reply.kind !== "cancels") throw new Error(`the ledger answered cancel with ${reply.kind}`);
    const queued = await this.endsOf(trader, reply.queued);
    const known = await this.statusesOf(trader, reply.unknown);
    return new Map(
      orderIds.map((orderId) => {
        const status = queued.get(orderId) ?? known.get(orderId);
        return [orderId, { status, byThis: queued.get(orderId) === "CANCELED" }];
      }),
    );
  }

  private async endsOf(
    trader: Trader,
    queued: readonly OpenOrder[],
  ): Promise<ReadonlyMap<string, OrderStatus>> {
    if (queued.length === 0) return new Map();
    const orderIds = queued.map(({ orderId }) => orderId);
    const ends = await this.parts.endings.waitTerminal(trader.wallet, orderIds, ENDING_TIMEOUT_MS);
    if (ends.size < orderIds.length) {
      throw new Unavailable("the cancel is queued, but its market has not answered in time");
    }
    return new Map([...ends].map(([orderId, { status }]) => [orderId, status]));
  }

  private async statusesOf(
    trader: Trader,
    orderIds: readonly string[],
  ): Promise<ReadonlyMap<string, OrderStatus>> {
    if (orderIds.length === 0) return new Map();
    await this.parts.freshness.reach(ledgerOf(trader.traderId));
    const orders = await findOrders(this.parts.db, trader.wallet, orderIds);
    return new Map(orders.map(({ orderId, status }) => [orderId, status]));
  }

  private async filterOf(scope: CancelScope): Promise<OrderFilter> {
    const { reference } = this.parts;
    const refuse = (message: string): never => {
      throw new Refused("INVALID_QUERY", message);
    };
    const place = scope.outcome === undefined ? undefined : await reference.outcome(scope.outcome);
    if (scope.outcome !== undefined && place === undefined) refuse("outcome: there is no such outcome");
    if (place !== undefined && scope.market !== undefined && place.marketId !== scope.market) {
      refuse("outcome does not belong to market");
    }
    const marketId = scope.market ?? place?.marketId;
    const market = marketId === undefined ? undefined : await reference.market(marketId);
    if (marketId !== undefined && market === undefined) refuse("market: there is no such market");
    if (scope.event !== undefined && market !== undefined && market.event.eventId !== scope.event) {
      refuse("market does not belong to event");
    }
    const ofEvent = scope.event === undefined ? undefined : await reference.marketIdsOf(scope.event);
    if (scope.event !== undefined && ofEvent === undefined) refuse("event: there is no such event");
    return {
      marketIds: marketId === undefined ? ofEvent : [marketId],
      outcome: place,
      currency: scope.currency,
    };
  }
}

function requireBatch(size: number): void {
  if (size === 0) throw new Refused("EMPTY_BATCH");
  if (size > MAX_BATCH) throw new Refused("BATCH_TOO_LARGE");
}

type Outcome = { readonly accepted: Accepted; readonly repeated: boolean } | OrderRefusal | undefined;

/** The answers in the order of the request; `undefined` was not asked for, because of another. */
function merge(judged: readonly Judged[], results: readonly PlaceResult[]): Outcome[] {
  const answers = results[Symbol.iterator]();
  return judged.map((one) => {
    if (isRefusal(one)) return one;
    if (!isRequest(one)) return { accepted: one.recalled, repeated: true };
    const next = answers.next();
    if (next.done === true) return undefined;
    const result = next.value;
    if (!result.ok) return { code: result.refusal, reason: meaningOf(result.refusal) };
    const { orderId, clientId, repeated } = result;
    return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated };
  });
}

function summarise(orders: readonly PlaceOrder[], outcomes: readonly Outcome[], atomic: boolean): Placed {
  const accepted: Accepted[] = [];
  const rejected: Rejected[] = [];
  let first: OrderRefusal | undefined;
  let repeated = true;
  outcomes.forEach((outcome, index) => {
    if (outcome === undefined) return;
    if ("accepted" in outcome) {
      accepted.push(outcome.accepted);
      repeated &&= outcome.repeated;
      return;
    }
    first ??= outcome;
    rejected.push({ index, outcomeId: orders[index]?.outcomeId ?? "", reason: outcome.reason });
  });
  if (first === undefined) return { kind: "all", accepted, repeated };
  if (accepted.length > 0 && !atomic) return { kind: "some", accepted, rejected };
  return { kind: "none", code: first.code, message: first.reason, rejected };
}
