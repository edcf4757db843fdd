/**
 * Placing and canceling, the same for REST and for the stream: gateway rules, then the wallet's ledger, whose reply is
 * the acceptance (contract section 5). Values in, values out; nothing here knows HTTP.
 */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../actors/actor.js";
import type { LedgerCommand, OrderFilter, PlaceResult } from "../../actors/ledger/commands.js";
import type { Limits, OpenOrder, OrderRequest, OrderStatus } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import { parsePrice } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { findOrderByClientId, findOrders } from "../../db/queries/trading/orders.js";
import { Unavailable, type Exchange } from "../../stream/log/ports.js";
import type { TerminalOrder } from "../../stream/ws/wallet/wallets.js";
import { Refused } from "../request/errors.js";
import type { Freshness } from "./freshness.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import {
  isRefusal,
  isRequest,
  merge,
  summarize,
  type CheckedOrder,
  type Placed,
  type Recalled,
} from "./placement-answer.js";
import { checkOrder, marketOf, type Market } from "./order-rules.js";
import type { Reference } from "../reference/reference.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import { idFrom } from "../auth/signatures.js";
import { askLedger, sendToLedger } from "./ledger-client.js";
import { MAX_BATCH, CLIENT_ID_MS } from "../../actors/limits.js";

/** Whose orders: a wallet, and the trader whose ledger shard it lives in. */
export interface Trader {
  readonly traderId: string;
  readonly wallet: string;
}

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
export interface TerminalOrders {
  waitForTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>>;
}

export interface TradingParts {
  readonly reference: Reference;
  readonly exchange: Exchange;
  readonly terminalOrders: TerminalOrders;
  readonly freshness: Freshness;
  readonly db: Database;
  /** What every wallet may have at once. */
  readonly limits: Limits;
}

const ENDING_TIMEOUT_MS = 2_000;

export class Trading {
  constructor(private readonly parts: TradingParts) {}

  /**
   * Places orders, each judged by itself, or with `atomic` all as one. With a `commandId` a repeat gives the same
   * order ids and takes effect once; `resumed` says that an earlier run of it may have been cut off. Refuses
   * `EMPTY_BATCH`, `BATCH_TOO_LARGE` and `SYSTEM_LOCKED`; throws `Unavailable`.
   */
  async place(
    trader: Trader,
    orders: readonly PlaceOrder[],
    atomic: boolean,
    commandId: string = randomUUID(),
    resumed = false,
  ): Promise<Placed> {
    requireBatch(orders.length);
    if (resumed) {
      const placed = await this.placedBefore(trader, orders, commandId);
      if (placed !== undefined) return placed;
    }
    const judged = await this.judge(trader, orders, commandId);
    const passed = judged.filter(isRequest);
    const mayPlace = passed.length > 0 && !(atomic && judged.some(isRefusal));
    await refuseInMaintenance(this.parts.reference);
    const results = mayPlace ? await this.accept(trader, passed, atomic, commandId) : [];
    return summarize(orders, merge(judged, results), atomic);
  }

  /**
   * What the run that was cut off had placed, if anything: the state of a market may have changed since, but not what
   * was accepted. Whatever of the earlier run still waits in the ledger's mailbox is ahead of the question.
   */
  private async placedBefore(
    { traderId, wallet }: Trader,
    orders: readonly PlaceOrder[],
    commandId: string,
  ): Promise<Placed | undefined> {
    await askLedger(this.parts.exchange, traderId, { kind: "groups", wallet }, "groups");
    await this.parts.freshness.reach(ledgerOf(traderId));
    const ids = orders.map((_, index) => orderIdOf(commandId, index));
    const found = await findOrders(this.parts.db, wallet, ids);
    if (found.length === 0) return undefined;
    const accepted = new Set(found.map(({ orderId }) => orderId));
    const outcomes = orders.map(({ clientId }, index) => {
      const orderId = orderIdOf(commandId, index);
      if (!accepted.has(orderId)) {
        return {
          code: "INVALID_REQUEST",
          reason: "the order was refused when it was first sent; sign a new request to try again",
        } as const;
      }
      return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated: false };
    });
    return summarize(orders, outcomes, false);
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
    const { exchange } = this.parts;
    return (await sendToLedger(exchange, trader.traderId, command, "cancels", commandId)).queued.length;
  }

  private async judge(
    trader: Trader,
    orders: readonly PlaceOrder[],
    commandId: string,
  ): Promise<CheckedOrder[]> {
    const grid = await this.parts.reference.ticks();
    const markets = new Map<string, Promise<Market | undefined>>();
    const judged = orders.map(async (order, index): Promise<CheckedOrder> => {
      const found = markets.get(order.outcomeId) ?? marketOf(this.parts.reference, order.outcomeId);
      markets.set(order.outcomeId, found);
      const market = await found;
      const one = checkOrder(order, orderIdOf(commandId, index), market, grid);
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

  private async accept(
    { traderId, wallet }: Trader,
    orders: readonly OrderRequest[],
    atomic: boolean,
    commandId: string,
  ): Promise<readonly PlaceResult[]> {
    const { exchange, limits } = this.parts;
    const command: LedgerCommand = { kind: "place", wallet, trader: traderId, orders, atomic, limits };
    return (await sendToLedger(exchange, traderId, command, "placed", commandId)).results;
  }

  /** Queues cancels and learns how each order ended. `byThis`: it was open, and is now canceled. */
  private async cancelEach(
    trader: Trader,
    orderIds: readonly string[],
    commandId: string,
  ): Promise<Map<string, { readonly status: OrderStatus | undefined; readonly byThis: boolean }>> {
    const command: LedgerCommand = { kind: "cancel", wallet: trader.wallet, orderIds };
    const reply = await sendToLedger(this.parts.exchange, trader.traderId, command, "cancels", commandId);
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
    const ends = await this.parts.terminalOrders.waitForTerminal(trader.wallet, orderIds, ENDING_TIMEOUT_MS);
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
      refuse("outcome does not belong to market; leave one of them out");
    }
    const marketId = scope.market ?? place?.marketId;
    const market = marketId === undefined ? undefined : await reference.market(marketId);
    if (marketId !== undefined && market === undefined) refuse("market: there is no such market");
    if (scope.event !== undefined && market !== undefined && market.event.eventId !== scope.event) {
      refuse("market does not belong to event; leave one of them out");
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

/** The ids of a request's orders follow from its identity, so a repeat makes the same ones. */
function orderIdOf(commandId: string, index: number): string {
  return idFrom(commandId, `order ${index}`);
}

function requireBatch(size: number): void {
  if (size === 0) throw new Refused("EMPTY_BATCH");
  if (size > MAX_BATCH) throw new Refused("BATCH_TOO_LARGE");
}
