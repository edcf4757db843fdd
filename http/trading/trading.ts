/**
 * Placing and canceling, the same for REST and for the stream: the rules of the gateway, then the wallet's ledger, whose
 * reply is the acceptance (contract sections 5.15 and 5.16). It takes and returns values, and knows nothing of HTTP.
 */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { CLIENT_ID_MS, MAX_BATCH } from "../../actors/limits.js";
import type { LedgerCommand, LedgerReply, OrderFilter } from "../../actors/ledger/commands.js";
import type { Limits, OpenOrder, OrderStatus } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import { parsePrice } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { findOrders, findOrdersByClientIds, findStatuses } from "../../db/queries/trading/orders.js";
import { type Answered, type GatewayExchange, Unavailable } from "../../stream/log/ports.js";
import type { TerminalOrder } from "../../stream/ws/wallet/wallets.js";
import { Refused } from "../request/errors.js";
import type { Freshness } from "./freshness.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import {
  isRefusal,
  isRequest,
  merge,
  ownAnswers,
  refuseUncertain,
  summarize,
  type CheckedOrder,
  type Placed,
  type Recalled,
} from "./placement-answer.js";
import { isSame, lookUpClientIds } from "./first-orders.js";
import { checkOrder, marketOf, refuseQty, requestOf, type Market } from "./order-rules.js";
import type { Reference } from "../reference/reference.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import { idFrom } from "../request/command-ids.js";
import type { OrderIds, PlacingRequest } from "./order-ids.js";
import { askLedger, sendToLedger, sendWithIds, type Trader } from "./ledger-client.js";
import {
  type PlacedReply,
  type Prepared,
  SignedPlacements,
  type Placement,
  type SignedRequest,
} from "./signed-placements.js";
import { SharedRuns } from "./shared-runs.js";

/** Result of canceling orders by id. */
export interface Canceled {
  readonly canceled: readonly string[];
  readonly notCanceled: readonly {
    readonly orderId: string;
    readonly reason: "FILLED" | "CANCELED" | "NOT_FOUND";
  }[];
}

/** Selection of orders to cancel; an absent field does not narrow it. */
export interface CancelScope {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
  readonly currency?: Currency | undefined;
}

/** Source of the terminal states of orders, as their ledger emits them. */
interface TerminalOrders {
  /** Follows the ledger of a trader until the returned function is called. */
  followOrders(traderId: string): Promise<() => void>;
  waitForTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>>;
}

export interface TradingParts {
  readonly reference: Reference;
  readonly exchange: GatewayExchange;
  readonly terminalOrders: TerminalOrders;
  readonly freshness: Freshness;
  readonly db: Database;
  readonly orderIds: OrderIds;
  /** Engine time, in which the ledgers date the orders. */
  readonly clock: { now(): number };
  /** Limits of every wallet. */
  readonly limits: Limits;
  /** Format that all processes read. */
  readonly formats: Formats;
}

/** Time that a cancel waits for the market to answer, in ms. */
const CANCEL_TIMEOUT_MS = 2_000;
/** Time in ms in which the deltas of an order arrive that its ledger has just ended. */
const JUST_ENDED_MS = 50;

/** Places and cancels the orders of traders. */
export class Trading {
  /** Placements by signed requests. */
  readonly signed: SignedPlacements;
  /** Cancels of everything on their way, by wallet and scope. */
  private readonly cancels = new SharedRuns<number>();

  constructor(private readonly parts: TradingParts) {
    this.signed = new SignedPlacements({
      exchange: parts.exchange,
      formats: parts.formats,
      prepare: (request) => this.prepare(request),
      send: (request, prepared, remembers) => this.accept(request, prepared, remembers),
      placedBefore: (request) => this.placedBefore(request),
    });
  }

  /**
   * Places orders, each by itself, or with `atomic` all or none. Refuses `EMPTY_BATCH`, `BATCH_TOO_LARGE` and
   * `SYSTEM_LOCKED`; throws `Unavailable`.
   */
  async place(trader: Trader, orders: readonly PlaceOrder[], atomic: boolean): Promise<Placed> {
    const commandId = randomUUID();
    const ts = this.parts.clock.now();
    const placement = { trader, orders, atomic, commandId, ts };
    const prepared = await this.prepare(placement);
    const { own, passed } = prepared;
    if (passed.length === 0) return summarize(orders, merge(orders.length, own, []), atomic);
    const { reply } = await this.accept(placement, prepared, this.signed.remembers);
    return summarize(orders, merge(orders.length, reply.own ?? own, reply.results), atomic);
  }

  /** Checks the orders of a request, and returns those for the ledger and the answers of the gateway to the others. */
  private async prepare(placement: Placement): Promise<Prepared> {
    const { orders, atomic } = placement;
    requireBatch(orders.length);
    const checked = await this.check(placement);
    await refuseInMaintenance(this.parts.reference);
    const mayPlace = !(atomic && checked.some(isRefusal));
    return { own: ownAnswers(checked), passed: mayPlace ? checked.filter(isRequest) : [] };
  }

  /**
   * Returns the answer of the run that was cut off, if that run placed any order. Accepted orders stay accepted, even when
   * their markets have changed since. The query to the ledger comes first: its answer shows that the ledger has applied
   * every command that the earlier run sent.
   */
  private async placedBefore({
    trader: { traderId, wallet },
    orders,
    ...placement
  }: SignedRequest): Promise<Placed | undefined> {
    await askLedger(this.parts.exchange, traderId, { kind: "groups", wallet }, "groups");
    await this.parts.freshness.reach(ledgerOf(traderId));
    // The earlier run may have been one of a build whose ids have no time.
    const idsOf = (index: number): readonly string[] => [
      this.orderIdOf(placement, index),
      idFrom(placement.commandId, `order ${index}`),
    ];
    const ids = orders.flatMap((_, index) => idsOf(index));
    const found = await findOrders(this.parts.db, wallet, ids);
    if (found.length === 0) return undefined;
    const accepted = new Set(found.map(({ orderId }) => orderId));
    const outcomes = orders.map(({ clientId }, index) => {
      const orderId = idsOf(index).find((id) => accepted.has(id));
      if (orderId === undefined) {
        return {
          code: "INVALID_REQUEST",
          reason: "the order was refused when it was first sent; sign a new request to place it again",
        } as const;
      }
      return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated: false };
    });
    return summarize(orders, outcomes, false);
  }

  /** Cancels orders by id and returns the result of each. Throws `Unavailable` when the markets do not answer in time. */
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

  /** Cancels an order and returns its status after that, or `undefined` when the wallet has no such order. */
  async cancelOne(trader: Trader, orderId: string, commandId: string): Promise<OrderStatus | undefined> {
    return (await this.cancelEach(trader, [orderId], commandId)).get(orderId)?.status;
  }

  /**
   * Cancels all of the wallet's orders in a scope, and returns the number of cancels that are queued. Requests for the same
   * scope that come while one is on its way share the next one, because each of them would queue all cancels again.
   * Refuses `INVALID_QUERY` for a scope that names unknown things, or things that do not belong together.
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
    return this.cancels.run(JSON.stringify(command), async () => {
      const reply = await sendToLedger(exchange, trader.traderId, command, "cancels", commandId);
      // A ledger of an earlier build lists all orders and counts none.
      return reply.count ?? reply.queued.length;
    });
  }

  private async check({ trader, orders, ...placement }: Placement): Promise<CheckedOrder[]> {
    const grid = await this.parts.reference.ticks();
    const markets = new Map<string, Promise<Market | undefined>>();
    const checked = orders.map(async (order, index): Promise<CheckedOrder> => {
      const found = markets.get(order.outcomeId) ?? marketOf(this.parts.reference, order.outcomeId);
      markets.set(order.outcomeId, found);
      const market = await found;
      const result = checkOrder(order, this.orderIdOf(placement, index), market, grid);
      if (!isRefusal(result) || market === undefined) return result;
      return (await this.recall(trader, order, market)) ?? result;
    });
    return Promise.all(checked);
  }

  /** Returns the first answer when a refused order repeats an accepted one by its `clientId`. */
  private async recall(
    { traderId, wallet }: Trader,
    order: PlaceOrder,
    market: Market,
  ): Promise<Recalled | undefined> {
    const { clientId } = order;
    const price = parsePrice(order.price);
    if (clientId === undefined || price === undefined || refuseQty(order.qty) !== undefined) return undefined;
    const { db, freshness, clock } = this.parts;
    await freshness.reach(ledgerOf(traderId));
    const found = await findOrdersByClientIds(db, wallet, [clientId], clock.now() - CLIENT_ID_MS);
    const first = found.get(clientId);
    if (first === undefined || !isSame(first, requestOf(order, first.orderId, market, price)))
      return undefined;
    return { recalled: { orderId: first.orderId, clientId } };
  }

  private orderIdOf(request: PlacingRequest, index: number): string {
    return this.parts.orderIds.of(request, `order ${index}`);
  }

  /**
   * Sends the orders that have passed to the ledger. Orders whose client ids cannot be looked up are refused by themselves,
   * unless the placement is atomic, no order is left, or the ledger does not remember the answers of gateways.
   */
  private accept(
    { trader: { traderId, wallet }, atomic, commandId }: Placement,
    { own, passed: orders }: Prepared,
    remembers: boolean,
  ): Promise<Answered<PlacedReply>> {
    const { db, clock, limits } = this.parts;
    const command = {
      kind: "place",
      wallet,
      trader: traderId,
      orders,
      atomic,
      own: remembers && own.length > 0 ? own : undefined,
      limits,
    } as const;
    const lookedUp = async (): Promise<LedgerCommand> => ({
      ...command,
      lookedUp: await lookUpClientIds(db, wallet, orders, clock.now()),
    });
    const without = (ids: readonly string[]): LedgerCommand | undefined => {
      if (atomic || !remembers) return undefined;
      const certain = refuseUncertain(own, orders, ids);
      return certain.passed.length === 0 ? undefined : { ...command, ...certain, orders: certain.passed };
    };
    return sendWithIds(this.parts, traderId, { command, lookedUp, without }, "placed", commandId);
  }

  /** Queues cancels and returns the status of each order. `byThis`: the order was open, and this cancel ended it. */
  private async cancelEach(
    trader: Trader,
    orderIds: readonly string[],
    commandId: string,
  ): Promise<Map<string, { readonly status: OrderStatus | undefined; readonly byThis: boolean }>> {
    const command: LedgerCommand = { kind: "cancel", wallet: trader.wallet, orderIds };
    const { exchange, terminalOrders } = this.parts;
    // An order can end before the answer is here.
    const unfollow = await terminalOrders.followOrders(trader.traderId);
    try {
      const reply = await sendToLedger(exchange, trader.traderId, command, "cancels", commandId);
      return await this.statusesAfter(trader, orderIds, reply);
    } finally {
      unfollow();
    }
  }

  private async statusesAfter(
    trader: Trader,
    orderIds: readonly string[],
    reply: Extract<LedgerReply, { readonly kind: "cancels" }>,
  ): Promise<Map<string, { readonly status: OrderStatus | undefined; readonly byThis: boolean }>> {
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
    const ends = await this.parts.terminalOrders.waitForTerminal(trader.wallet, orderIds, CANCEL_TIMEOUT_MS);
    if (ends.size < orderIds.length) {
      throw new Unavailable(
        "the cancel is queued, but its market has not answered in time; read the order later",
      );
    }
    return new Map([...ends].map(([orderId, { status }]) => [orderId, status]));
  }

  /**
   * Returns the statuses of orders that their ledger does not have open. An order that has ended keeps its status, so the
   * tables need not be up to date with those that they show as ended; the deltas of the ledger tell of those that have just
   * ended. Only for the others, such as orders that never were, does the read wait for the tables. Throws `Unavailable`.
   */
  private async statusesOf(
    { traderId, wallet }: Trader,
    orderIds: readonly string[],
  ): Promise<ReadonlyMap<string, OrderStatus>> {
    const { db, terminalOrders, freshness } = this.parts;
    const ended = new Map<string, OrderStatus>();
    const addEnded = (statuses: Iterable<readonly [string, OrderStatus]>): void => {
      for (const [orderId, status] of statuses)
        if (status !== "PENDING" && status !== "OPEN") ended.set(orderId, status);
    };
    const others = (): string[] => orderIds.filter((orderId) => !ended.has(orderId));
    const addJustEnded = async (waitMs: number): Promise<void> => {
      const found = await terminalOrders.waitForTerminal(wallet, others(), waitMs);
      addEnded([...found].map(([orderId, { status }]) => [orderId, status]));
    };
    await addJustEnded(0);
    if (others().length > 0) addEnded(await findStatuses(db, wallet, others()));
    if (others().length > 0) await addJustEnded(JUST_ENDED_MS);
    if (others().length === 0) return ended;
    await freshness.reach(ledgerOf(traderId));
    return new Map([...ended, ...(await findStatuses(db, wallet, others()))]);
  }

  private async filterOf(scope: CancelScope): Promise<OrderFilter> {
    const { reference } = this.parts;
    const refuse = (message: string): never => {
      throw new Refused("INVALID_QUERY", message);
    };
    const outcomeRef = scope.outcome === undefined ? undefined : await reference.outcome(scope.outcome);
    if (scope.outcome !== undefined && outcomeRef === undefined)
      refuse("outcome is not the outcomeId of any outcome; send one of the market's outcomes");
    if (outcomeRef !== undefined && scope.market !== undefined && outcomeRef.marketId !== scope.market) {
      refuse("outcome does not belong to market; leave one of the two out");
    }
    const marketId = scope.market ?? outcomeRef?.marketId;
    const market = marketId === undefined ? undefined : await reference.market(marketId);
    if (marketId !== undefined && market === undefined)
      refuse("market is not the marketId of any market; send one from the catalog");
    if (scope.event !== undefined && market !== undefined && market.event.eventId !== scope.event) {
      refuse("market does not belong to event; leave one of the two out");
    }
    const ofEvent = scope.event === undefined ? undefined : await reference.marketIdsOf(scope.event);
    if (scope.event !== undefined && ofEvent === undefined)
      refuse("event is not the eventId of any event; send one from the catalog");
    return {
      marketIds: marketId === undefined ? ofEvent : [marketId],
      outcome: outcomeRef,
      currency: scope.currency,
    };
  }
}

function requireBatch(size: number): void {
  if (size === 0) throw new Refused("EMPTY_BATCH");
  if (size > MAX_BATCH) throw new Refused("BATCH_TOO_LARGE");
}
