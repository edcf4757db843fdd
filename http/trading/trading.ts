/**
 * Placing, the same for REST and for the stream: the rules of the gateway, then the wallet's ledger, whose reply is the
 * acceptance (contract sections 5.15 and 5.16). It takes and returns values, and knows nothing of HTTP.
 */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { CLIENT_ID_MS } from "../../actors/limits.js";
import type { LedgerCommand } from "../../actors/ledger/commands.js";
import type { Limits } from "../../actors/ledger/types.js";
import { parsePrice } from "../../actors/units.js";
import { findOrders, findOrdersByClientIds } from "../../db/queries/trading/orders.js";
import type { Answered } from "../../stream/log/ports.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import {
  isRefusal,
  isRequest,
  merge,
  ownAnswers,
  placedInTables,
  refuseUncertain,
  summarize,
  type CheckedOrder,
  type Placed,
  type Recalled,
} from "./placement-answer.js";
import { isSame, lookUpClientIds } from "./first-orders.js";
import { checkOrder, marketOf, refuseQty, requestOf, requireBatch, type Market } from "./order-rules.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import { idFrom } from "../request/command-ids.js";
import type { OrderIds, PlacingRequest } from "./order-ids.js";
import { Canceling, type CancelingParts } from "./canceling.js";
import { askLedger, sendWithIds, type Trader } from "./ledger-client.js";
import {
  type PlacedReply,
  type Prepared,
  SignedPlacements,
  type Placement,
  type SignedRequest,
} from "./signed-placements.js";

export interface TradingParts extends CancelingParts {
  readonly orderIds: OrderIds;
  /** Engine time, in which the ledgers date the orders. */
  readonly clock: { now(): number };
  /** Limits of every wallet. */
  readonly limits: Limits;
  /** Format that all processes read. */
  readonly formats: Formats;
}

/** Places the orders of traders, and cancels them. */
export class Trading {
  /** Placements by signed requests. */
  readonly signed: SignedPlacements;
  readonly canceling: Canceling;

  constructor(private readonly parts: TradingParts) {
    this.canceling = new Canceling(parts);
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
    return placedInTables(orders, (index) => idsOf(index).find((id) => accepted.has(id)));
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
      return certain.passed.length === 0
        ? undefined
        : { ...command, own: certain.own, orders: certain.passed };
    };
    return sendWithIds(this.parts, traderId, { command, lookedUp, without }, "placed", commandId);
  }
}
