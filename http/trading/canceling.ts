/**
 * Canceling, the same for REST and for the stream: by id, where the answer waits for the market of each order, and in a
 * scope, where it counts the cancels that are queued (contract section 5.16).
 */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply, OrderFilter } from "../../actors/ledger/commands.js";
import type { OpenOrder, OrderStatus } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import type { Database } from "../../db/database.js";
import { findStatuses } from "../../db/queries/trading/orders.js";
import { type GatewayExchange, Unavailable } from "../../stream/log/ports.js";
import type { TerminalOrder } from "../../stream/ws/wallet/terminal-orders.js";
import type { Reference } from "../reference/reference.js";
import { Refused } from "../request/errors.js";
import { idFrom } from "../request/command-ids.js";
import type { Freshness } from "./freshness.js";
import { type HaltedMarkets, haltedRefusal } from "./halted-markets.js";
import { sendToLedger, type Trader } from "./ledger-client.js";
import { requireBatch } from "./order-rules.js";
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
interface OrderEnds {
  /** Follows the ledger of a trader for a while, and does not wait for it. */
  warm(traderId: string): void;
  /** Follows the ledger of a trader until the returned function is called. */
  followOrders(traderId: string): Promise<() => void>;
  waitForTerminal(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>>;
  /** True when an order was filled in the last five minutes, and the gateway has followed its ledger since. */
  wasFilled(traderId: string, wallet: string, orderId: string): boolean;
}

export interface CancelingParts {
  readonly reference: Reference;
  readonly exchange: GatewayExchange;
  readonly orderEnds: OrderEnds;
  readonly freshness: Freshness;
  readonly db: Database;
  readonly haltedMarkets: Pick<HaltedMarkets, "closed" | "passed">;
}

/** Answer of a ledger to a cancel. */
type Cancels = Extract<LedgerReply, { readonly kind: "cancels" }>;

/**
 * Returns the markets that a command leaves out, and its id: one of its own when there are any, so that the same request can
 * be sent again when they are repaired.
 */
function without(
  closed: readonly string[],
  commandId: string,
): { readonly exceptMarkets: readonly string[] | undefined; readonly id: string } {
  if (closed.length === 0) return { exceptMarkets: undefined, id: commandId };
  return { exceptMarkets: closed, id: idFrom(commandId, `except ${closed.join(" ")}`) };
}

function marketsOf({ queued }: Cancels): readonly string[] {
  return queued.map(({ marketId }) => marketId);
}

/** Throws `Unavailable` when the ledger has left orders of halted markets as they are. */
function requireNoneLeft({ left = 0 }: Cancels): void {
  if (left > 0) throw haltedRefusal();
}

/** Time that a cancel waits for the market to answer, in ms. */
const CANCEL_TIMEOUT_MS = 2_000;
/** Time in ms in which the deltas of an order arrive that its ledger has just ended. */
const JUST_ENDED_MS = 50;

/** Cancels the orders of traders. */
export class Canceling {
  /** Cancels of everything on their way, by wallet and scope. */
  private readonly cancels = new SharedRuns<number>();

  constructor(private readonly parts: CancelingParts) {}

  /**
   * Prepares for cancels of the orders that a trader is about to place: for the next minute the gateway reads from the ledger
   * how they end, and most cancels need no tables for that. Does not wait.
   */
  warm({ traderId }: Trader): void {
    this.parts.orderEnds.warm(traderId);
  }

  /**
   * Cancels orders by id and returns the result of each. Throws `Unavailable` when the markets do not answer in time, and
   * when orders are in a halted market; all others are canceled then.
   */
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
   * Refuses `INVALID_QUERY` for a scope that names unknown things, or things that do not belong together. Throws `Unavailable`
   * when orders are in a halted market; all others are canceled then.
   */
  async cancelAll(
    trader: Trader,
    scope: CancelScope,
    commandId: string = randomUUID(),
    reason?: "DISCONNECTED",
  ): Promise<number> {
    const { exchange, haltedMarkets } = this.parts;
    const filter = await this.filterOf(scope);
    // A client who has disconnected may send no further cancel, and its orders end when their market is repaired.
    const { exceptMarkets, id } = without(
      reason === undefined ? haltedMarkets.closed(filter.marketIds) : [],
      commandId,
    );
    const command: LedgerCommand = {
      kind: "cancelAll",
      wallet: trader.wallet,
      filter: { ...filter, exceptMarkets },
      reason,
    };
    return this.cancels.run(JSON.stringify(command), async () => {
      const reply = await sendToLedger(exchange, trader.traderId, command, "cancels", id);
      haltedMarkets.passed(marketsOf(reply));
      requireNoneLeft(reply);
      // A ledger of an earlier build lists all orders and counts none.
      return reply.count ?? reply.queued.length;
    });
  }

  /** Queues cancels and returns the status of each order. `byThis`: the order was open, and this cancel ended it. */
  private async cancelEach(
    trader: Trader,
    orderIds: readonly string[],
    commandId: string,
  ): Promise<Map<string, { readonly status: OrderStatus | undefined; readonly byThis: boolean }>> {
    const { exchange, orderEnds, haltedMarkets } = this.parts;
    const { exceptMarkets, id } = without(haltedMarkets.closed(), commandId);
    const command: LedgerCommand = { kind: "cancel", wallet: trader.wallet, orderIds, exceptMarkets };
    // An order can end before the answer is here.
    const unfollow = await orderEnds.followOrders(trader.traderId);
    try {
      const reply = await sendToLedger(exchange, trader.traderId, command, "cancels", id);
      haltedMarkets.passed(marketsOf(reply));
      const statuses = await this.statusesAfter(trader, orderIds, reply);
      requireNoneLeft(reply);
      return statuses;
    } finally {
      unfollow();
    }
  }

  private async statusesAfter(
    trader: Trader,
    orderIds: readonly string[],
    reply: Cancels,
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
    const ends = await this.parts.orderEnds.waitForTerminal(trader.wallet, orderIds, CANCEL_TIMEOUT_MS);
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
   * ended or were filled in the last five minutes. Only for the others, such as orders that never were, does the read wait for
   * the tables. Throws `Unavailable`.
   */
  private async statusesOf(
    { traderId, wallet }: Trader,
    orderIds: readonly string[],
  ): Promise<ReadonlyMap<string, OrderStatus>> {
    const { db, orderEnds, freshness } = this.parts;
    const ended = new Map<string, OrderStatus>();
    const addEnded = (statuses: Iterable<readonly [string, OrderStatus]>): void => {
      for (const [orderId, status] of statuses)
        if (status !== "PENDING" && status !== "OPEN") ended.set(orderId, status);
    };
    const others = (): string[] => orderIds.filter((orderId) => !ended.has(orderId));
    const addJustEnded = async (waitMs: number): Promise<void> => {
      const found = await orderEnds.waitForTerminal(wallet, others(), waitMs);
      addEnded([...found].map(([orderId, { status }]) => [orderId, status]));
    };
    await addJustEnded(0);
    for (const orderId of others())
      if (orderEnds.wasFilled(traderId, wallet, orderId)) ended.set(orderId, "FILLED");
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
