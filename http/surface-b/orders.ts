/**
 * Placing and canceling on surface B: other shapes than on surface A, and the same rules of trading (contract section
 * 7.9).
 */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../actors/actor.js";
import { unreachable } from "../../actors/unreachable.js";
import { findOrder } from "../../db/queries/trading/orders.js";
import { IDS } from "../docs/examples.js";
import { BATCH_REFUSALS } from "../docs/refusals.js";
import type { Reference } from "../reference/reference.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { Nothing } from "../surface-a/schemas/orders.js";
import type { Placed as PlacedOrders } from "../trading/placement-answer.js";
import type { Trading } from "../trading/trading.js";
import type { ReadModel } from "../trading/freshness.js";
import { CANCEL, canceling, KILL_SWITCH, ordinary, PLACING, reading } from "./access.js";
import {
  CancelBody,
  Canceled,
  CanceledAll,
  CanceledOne,
  KillSwitchQuery,
  Order,
  PlaceBody,
  Placed,
} from "./schemas.js";
import { orderOnB } from "./wire.js";
import { MAX_BATCH } from "../../actors/limits.js";

/** Returns the answer to a batch: 201 when all orders are accepted, 207 when some are, else the first refusal. */
function placedOnB(placed: PlacedOrders) {
  switch (placed.kind) {
    case "all":
      return { status: placed.repeated ? 200 : 201, body: { accepted: [...placed.accepted], rejected: [] } };
    case "some":
      return { status: 207, body: { accepted: [...placed.accepted], rejected: [...placed.rejected] } };
    case "none":
      throw new Refused(placed.code, placed.message, { rejected: placed.rejected });
    default:
      return unreachable(placed);
  }
}

interface EmmOrderParts {
  readonly trading: Trading;
  readonly reference: Reference;
  readonly reads: ReadModel;
}

export function emmOrderRoutes(base: string, { trading, reference, reads }: EmmOrderParts) {
  const placing = (path: string) =>
    route(`POST ${base}${path}`, {
      access: PLACING,
      status: 201,
      body: PlaceBody,
      answer: Placed,
      docs: {
        summary: `Place up to ${MAX_BATCH} orders`,
        description:
          "Takes a list of orders, or one order. Judges each order by itself. When no order is accepted, the answer is the first refusal, and `rejected` lists all of them.",
        refuses: [...BATCH_REFUSALS, "SYSTEM_LOCKED"],
        also: {
          200: "Every `clientId` was accepted before with the same order. The answer is the first acceptance, and no order is placed.",
          207: "Some orders are accepted; `rejected` lists the others.",
        },
        rejected: true,
        exampleBody: [{ outcomeId: IDS.outcomeId, price: 0.665, qty: 100, currency: "CASH" }],
      },
      run: async ({ caller, body }) => {
        // The shortest text of a number is the text of the client, so a price off the grid is not rounded onto it.
        const orders = [body].flat().map(({ price, ...order }) => ({
          ...order,
          price: String(price),
          selfTrade: "wash" as const,
        }));
        return placedOnB(await trading.place(caller, orders, false));
      },
    });

  const canceled = (line: string) =>
    route(line, {
      access: canceling(CANCEL),
      body: CancelBody,
      answer: Canceled,
      docs: {
        summary: `Cancel up to ${MAX_BATCH} orders`,
        description: "Takes `orderIds`, or the list itself.",
        refuses: ["EMPTY_BATCH", "BATCH_TOO_LARGE"],
        also: { 207: "Some orders are not canceled; `notCanceled` gives the reasons." },
        exampleBody: { orderIds: [IDS.orderId] },
      },
      run: async ({ caller, body }) => {
        const orderIds = Array.isArray(body) ? body : body.orderIds;
        const { canceled, notCanceled } = await trading.canceling.cancel(caller, orderIds, randomUUID());
        const status = notCanceled.length === 0 ? 200 : 207;
        return { status, body: { canceled: [...canceled], notCanceled: [...notCanceled] } };
      },
    });

  const killSwitch = (path: string) =>
    route(`DELETE ${base}${path}`, {
      access: canceling(KILL_SWITCH),
      query: KillSwitchQuery,
      body: Nothing,
      optionalBody: true,
      answer: CanceledAll,
      docs: {
        summary: "Cancel all orders",
        description:
          "Cancels every open order of the client, as a kill switch. Returns the number of cancels that were queued.",
        exampleQuery: { currency: "CASH" },
        exampleBody: {},
      },
      run: async ({ caller, query }) => {
        try {
          return { body: { canceled: await trading.canceling.cancelAll(caller, query, randomUUID()) } };
        } catch (error) {
          // A cancel that failed returns its token, so that it can be repeated at once.
          await caller.giveBack();
          throw error;
        }
      },
    });

  const one = route(`GET ${base}/orders/:orderId`, {
    access: reading(ordinary("order")),
    answer: Order,
    docs: {
      summary: "Retrieve an order",
      description: "Returns an order of the client, also long after it has ended.",
      refuses: ["ORDER_NOT_FOUND"],
    },
    run: async ({ caller: { traderId, wallet }, id }) => {
      await reads.freshness.reach(ledgerOf(traderId));
      const order = await findOrder(reads.db, wallet, id("orderId"));
      if (order === undefined) throw new Refused("ORDER_NOT_FOUND");
      return { body: orderOnB(await reference.market(order.marketId), order) };
    },
  });

  const cancelOne = route(`DELETE ${base}/orders/:orderId`, {
    access: canceling(CANCEL),
    answer: CanceledOne,
    docs: {
      summary: "Cancel an order",
      description: "Returns the status of the order at that moment.",
      refuses: ["ORDER_NOT_FOUND"],
    },
    run: async ({ caller, id }) => {
      const orderId = id("orderId");
      const status = await trading.canceling.cancelOne(caller, orderId, randomUUID());
      if (status === undefined) throw new Refused("ORDER_NOT_FOUND");
      return { body: { orderId, status } };
    },
  });

  const cancelOfEvent = route(`DELETE ${base}/orders/event/:eventId`, {
    access: canceling(CANCEL),
    query: KillSwitchQuery,
    body: Nothing,
    optionalBody: true,
    answer: CanceledAll,
    docs: {
      summary: "Cancel all orders of an event",
      description: "Returns the number of cancels that were queued.",
      refuses: ["EVENT_NOT_FOUND"],
      exampleQuery: { currency: "CASH" },
      exampleBody: {},
    },
    run: async ({ caller, query, id }) => {
      const event = id("eventId");
      if ((await reference.event(event)) === undefined) throw new Refused("EVENT_NOT_FOUND");
      return {
        body: { canceled: await trading.canceling.cancelAll(caller, { ...query, event }, randomUUID()) },
      };
    },
  });

  const cancelOfMarket = route(`DELETE ${base}/orders/market/:marketId`, {
    access: canceling(CANCEL),
    query: KillSwitchQuery,
    body: Nothing,
    optionalBody: true,
    answer: CanceledAll,
    docs: {
      summary: "Cancel all orders of a market",
      description: "Returns the number of cancels that were queued.",
      refuses: ["MARKET_NOT_FOUND"],
      exampleQuery: { currency: "CASH" },
      exampleBody: {},
    },
    run: async ({ caller, query, id }) => {
      const market = id("marketId");
      if ((await reference.market(market)) === undefined) throw new Refused("MARKET_NOT_FOUND");
      return {
        body: { canceled: await trading.canceling.cancelAll(caller, { ...query, market }, randomUUID()) },
      };
    },
  });

  return [
    placing("/orders/place"),
    placing("/orders/batch"),
    canceled(`POST ${base}/orders/cancel`),
    canceled(`DELETE ${base}/orders/batch`),
    killSwitch("/orders"),
    killSwitch("/kill"),
    one,
    cancelOne,
    cancelOfEvent,
    cancelOfMarket,
  ];
}
