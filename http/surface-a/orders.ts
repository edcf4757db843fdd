/** Placing, canceling and reading orders (contract section 5). */

import type { z } from "zod";
import { ledgerOf } from "../../actors/actor.js";
import type { Limits } from "../../actors/ledger/types.js";
import type { Database } from "../../db/database.js";
import {
  findOrder,
  findOrderByClientId,
  listOrders,
  type OrderRecord,
} from "../../db/queries/trading/orders.js";
import type { Exchange } from "../../stream/log/ports.js";
import { amendOrder } from "../trading/amending.js";
import type { KeyCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import type { Freshness } from "../trading/freshness.js";
import type { Reference } from "../reference/reference.js";
import { keyEndpoint, type Reply } from "../request/route.js";
import {
  AmendBody,
  Amended,
  BatchCancel,
  BatchCancelResult,
  BatchPlace,
  BatchPlaced,
  CancelAllQuery,
  CancelAllResult,
  CancelResult,
  Order,
  OrderAccepted,
  OrderOrPage,
  OrderPreview,
  OrdersQuery,
  PlaceOrder,
} from "./schemas/orders.js";
import { scopeOf } from "../trading/scope.js";
import type { Placed } from "../trading/placement-answer.js";
import { previewOrder } from "../trading/previewing.js";
import type { Trader, Trading } from "../trading/trading.js";
import { orderOnWire, previewOnWire } from "./wire.js";

export interface OrderParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly exchange: Exchange;
  readonly freshness: Freshness;
  readonly trading: Trading;
  readonly limits: Limits;
}

/** The wallet that a trading key speaks for. */
export function walletOf({ key }: KeyCaller): Trader {
  if (key.subaccountId === undefined) throw new Error(`the ${key.scope} key has no wallet`);
  return { traderId: key.traderId, wallet: key.subaccountId };
}

/** A batch's answer: 201 for all, 207 for some, else the status of the first refusal. */
function batchReply(placed: Placed): Reply<z.output<typeof BatchPlaced>> {
  switch (placed.kind) {
    case "all":
      return { status: placed.repeated ? 200 : 201, body: { accepted: [...placed.accepted] } };
    case "some": {
      const { accepted, rejected } = placed;
      const message = `${rejected.length} of ${rejected.length + accepted.length} orders were refused`;
      return {
        status: 207,
        body: { code: "BATCH_PARTIALLY_REJECTED", message, accepted: [...accepted], rejected: [...rejected] },
      };
    }
    case "none": {
      const { code, message, rejected } = placed;
      throw new Refused(code, message, { rejected });
    }
    default:
      return placed satisfies never;
  }
}

export function orderEndpoints(parts: OrderParts) {
  const { db, reference, freshness, trading } = parts;

  const place = keyEndpoint({
    status: 201,
    body: PlaceOrder,
    answer: OrderAccepted,
    run: async ({ caller, body }) => {
      const { commandId, resumed } = caller;
      const placed = await trading.place(walletOf(caller), [body], true, commandId, resumed);
      if (placed.kind === "none") throw new Refused(placed.code, placed.message);
      const [accepted] = placed.accepted;
      if (accepted === undefined) throw new Error("an order was neither accepted nor refused");
      return { status: placed.kind === "all" && placed.repeated ? 200 : 201, body: accepted };
    },
  });

  const placeBatch = keyEndpoint({
    status: 201,
    body: BatchPlace,
    answer: BatchPlaced,
    run: async ({ caller, body }) => {
      const { commandId, resumed } = caller;
      return batchReply(await trading.place(walletOf(caller), body.orders, body.atomic, commandId, resumed));
    },
  });

  const preview = keyEndpoint({
    body: PlaceOrder,
    answer: OrderPreview,
    run: async ({ caller, body, incoming }) => ({
      body: previewOnWire(await previewOrder(parts, walletOf(caller), body, incoming.receivedMs)),
    }),
  });

  const amend = keyEndpoint({
    body: AmendBody,
    answer: Amended,
    run: async ({ caller, body, id }) => {
      const orderId = await amendOrder(parts, walletOf(caller), id("orderId"), body, caller.commandId);
      return { body: { orderId } };
    },
  });

  const cancelBatch = keyEndpoint({
    body: BatchCancel,
    answer: BatchCancelResult,
    run: async ({ caller, body }) => {
      const { canceled, notCanceled } = await trading.cancel(
        walletOf(caller),
        body.orderIds,
        caller.commandId,
      );
      const status = notCanceled.length === 0 ? 200 : canceled.length === 0 ? 404 : 207;
      return { status, body: { canceled: [...canceled], notCanceled: [...notCanceled] } };
    },
  });

  const cancelAll = keyEndpoint({
    query: CancelAllQuery,
    answer: CancelAllResult,
    run: async ({ caller, query }) => ({
      body: { canceled: await trading.cancelAll(walletOf(caller), query, caller.commandId) },
    }),
  });

  const cancel = keyEndpoint({
    answer: CancelResult,
    run: async ({ caller, id }) => {
      const orderId = id("orderId");
      const status = await trading.cancelOne(walletOf(caller), orderId, caller.commandId);
      if (status === undefined) throw new Refused("ORDER_NOT_FOUND");
      return { body: { orderId, status } };
    },
  });

  const shown = async (order: OrderRecord | undefined) => {
    if (order === undefined) throw new Refused("ORDER_NOT_FOUND");
    return orderOnWire(await reference.market(order.marketId), order);
  };

  const one = keyEndpoint({
    answer: Order,
    run: async ({ caller, id }) => {
      const { traderId, wallet } = walletOf(caller);
      await freshness.reach(ledgerOf(traderId));
      return { body: await shown(await findOrder(db, wallet, id("orderId"))) };
    },
  });

  const list = keyEndpoint({
    query: OrdersQuery,
    answer: OrderOrPage,
    run: async ({ caller, query }) => {
      const { traderId, wallet } = walletOf(caller);
      const { clientId, event, market, outcome, status, currency, startsAfter, startsBefore, ...page } =
        query;
      await freshness.reach(ledgerOf(traderId));
      if (clientId !== undefined)
        return { body: await shown(await findOrderByClientId(db, wallet, clientId)) };
      const scope = await scopeOf(reference, { event, market, outcome });
      const filter = {
        wallet,
        ...scope,
        currency,
        statuses: status ?? (["OPEN"] as const),
        startsAfter,
        startsBefore,
      };
      const { items, next } = await listOrders(db, filter, page);
      const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
      const orders = items.map((order) => orderOnWire(markets.get(order.marketId), order));
      return { body: { items: orders, next }, rows: items.length };
    },
  });

  return { place, placeBatch, preview, amend, cancelBatch, cancelAll, cancel, one, list };
}
