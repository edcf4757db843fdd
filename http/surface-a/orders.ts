/** Placing, canceling and reading orders (contract sections 5.15 to 5.17). */

import type { z } from "zod";
import { ledgerOf } from "../../actors/actor.js";
import type { Limits } from "../../actors/ledger/types.js";
import { unreachable } from "../../actors/unreachable.js";
import type { Database } from "../../db/database.js";
import { findOrder, findOrderByClientId, type OrderRecord } from "../../db/queries/trading/orders.js";
import type { GatewayExchange } from "../../stream/log/ports.js";
import type { LongWork } from "../../stream/services/long-work.js";
import { IDS } from "../docs/examples.js";
import { BATCH_REFUSALS, ORDER_REFUSALS } from "../docs/refusals.js";
import type { Reference } from "../reference/reference.js";
import { CANCELING, PLACING, signedOrSession, TRADING } from "../request/access.js";
import type { KeyCaller } from "../request/callers.js";
import { FirstRefusal, Refused } from "../request/errors.js";
import { byParameter, costs, perItem, perRows, READ } from "../request/metering.js";
import { route, type Reply } from "../request/route.js";
import { amendOrder } from "../trading/amending.js";
import type { HaltedMarkets } from "../trading/halted-markets.js";
import type { OrderIds } from "../trading/order-ids.js";
import type { Freshness, ReadModel } from "../trading/freshness.js";
import { previewOrder } from "../trading/previewing.js";
import type { PlacedOnce, SignedRequest } from "../trading/signed-placements.js";
import type { Trading } from "../trading/trading.js";
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
  Nothing,
  Order,
  OrderAccepted,
  OrderOrPage,
  OrderPreview,
  OrdersQuery,
  PlaceOrder,
  WalletQuery,
} from "./schemas/orders.js";
import { previewInTurn } from "./in-turn.js";
import { SUBACCOUNT_REFUSALS, walletOf, walletToRead } from "./subaccounts.js";
import { ordersPage } from "./wallet-lists.js";
import { orderOnWire, previewOnWire } from "./wire.js";
import { CLIENT_ID_MS, MAX_BATCH } from "../../actors/limits.js";

interface OrderParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly exchange: GatewayExchange;
  readonly freshness: Freshness;
  readonly reads: ReadModel;
  readonly trading: Trading;
  readonly orderIds: OrderIds;
  readonly haltedMarkets: HaltedMarkets;
  readonly limits: Limits;
  readonly longWork: LongWork;
}

function requestOf(
  caller: KeyCaller,
  orders: readonly z.output<typeof PlaceOrder>[],
  atomic: boolean,
): SignedRequest {
  const { commandId, signedTs: ts, resumed } = caller;
  return { trader: walletOf(caller), orders, atomic, commandId, ts, resumed };
}

/** Returns the answer to a batch: 201 when all orders are accepted, 207 when some are, else the first refusal. */
function batchReply({ placed, repeated }: PlacedOnce): Reply<z.output<typeof BatchPlaced>> {
  switch (placed.kind) {
    case "all":
      return { status: placed.repeated ? 200 : 201, body: { accepted: [...placed.accepted] }, repeated };
    case "some": {
      const { accepted, rejected } = placed;
      const message = `${rejected.length} of ${rejected.length + accepted.length} orders were refused; the field rejected lists them`;
      return {
        status: 207,
        body: { code: "BATCH_PARTIALLY_REJECTED", message, accepted: [...accepted], rejected: [...rejected] },
        repeated,
      };
    }
    case "none": {
      const { code, message, rejected } = placed;
      throw new FirstRefusal(repeated, code, message, { rejected });
    }
    default:
      return unreachable(placed);
  }
}

/** Returns the answer to a request that places one order. */
function orderReply({ placed, repeated }: PlacedOnce): Reply<z.output<typeof OrderAccepted>> {
  if (placed.kind === "none") throw new FirstRefusal(repeated, placed.code, placed.message);
  const [accepted] = placed.accepted;
  if (accepted === undefined) throw new Error("an order was neither accepted nor refused");
  return { status: placed.kind === "all" && placed.repeated ? 200 : 201, body: accepted, repeated };
}

const HOUR_MS = 60 * 60 * 1_000;
/** Cost of orders that have ended, which take a search of the history. */
const ENDED = perRows("history", 4, 100);
const ORDER = { outcomeId: IDS.outcomeId, price: "0.665", qty: 100, tif: "GTC" };
const REPEATED =
  "The `clientId` was accepted before with the same body. The answer is the first acceptance, and no second order is placed.";

export function orderRoutes(parts: OrderParts) {
  const { reference, reads, trading } = parts;

  const place = route("POST /v3/orders", {
    access: PLACING,
    metering: costs("place", 1),
    status: 201,
    body: PlaceOrder,
    answer: OrderAccepted,
    docs: {
      summary: "Place an order",
      description: `Queues an order for its market: the money is reserved and the order is on its way to the book. Read the result from the stream or retrieve the order. A \`clientId\` is unique in the wallet for ${CLIENT_ID_MS / HOUR_MS} hours.`,
      refuses: ORDER_REFUSALS,
      also: { 200: REPEATED },
      exampleBody: ORDER,
    },
    recall: async ({ caller, body }) => {
      const recalled = await trading.signed.recall(requestOf(caller, [body], true));
      return recalled && orderReply(recalled);
    },
    run: async ({ caller, body }) => orderReply(await trading.signed.place(requestOf(caller, [body], true))),
  });

  const placeBatch = route("POST /v3/orders/batch", {
    access: PLACING,
    metering: perItem("place", "orders"),
    status: 201,
    body: BatchPlace,
    answer: BatchPlaced,
    docs: {
      summary: `Place up to ${MAX_BATCH} orders`,
      description:
        "Judges each order by itself; with `atomic: true`, either all orders are accepted or none. When no order is accepted, the answer is the first refusal, and `rejected` lists all of them.",
      refuses: BATCH_REFUSALS,
      also: { 200: REPEATED, 207: "Some orders are accepted; `rejected` lists the others." },
      rejected: true,
      exampleBody: { orders: [ORDER, { ...ORDER, price: "0.660", tif: "PO" }], atomic: false },
    },
    recall: async ({ caller, body: { orders, atomic } }) => {
      const recalled = await trading.signed.recall(requestOf(caller, orders, atomic));
      return recalled && batchReply(recalled);
    },
    run: async ({ caller, body: { orders, atomic } }) =>
      batchReply(await trading.signed.place(requestOf(caller, orders, atomic))),
  });

  const preview = route("POST /v3/orders/preview", {
    access: signedOrSession(TRADING),
    metering: READ,
    query: WalletQuery,
    body: PlaceOrder,
    answer: OrderPreview,
    docs: {
      summary: "Preview an order",
      description:
        "Returns what the order would do now: the money that it would reserve, its fee, its fills and its place in the queue. A preview changes nothing.",
      refuses: [...ORDER_REFUSALS, ...SUBACCOUNT_REFUSALS],
      exampleQuery: { subaccount: IDS.keyId },
      exampleBody: ORDER,
    },
    run: async ({ caller, query, body, incoming }) => {
      const trader = await walletToRead(parts.db, caller, query);
      const previewed = await previewInTurn(parts.longWork, trader.traderId, () =>
        previewOrder(parts, trader, body, incoming.receivedMs),
      );
      return { body: previewOnWire(previewed) };
    },
  });

  const amend = route("PATCH /v3/orders/:orderId", {
    access: PLACING,
    metering: costs("place", 1),
    body: AmendBody,
    answer: Amended,
    docs: {
      summary: "Change an order",
      description:
        "A smaller quantity at the same price keeps the id and the place in the queue. Any other change is one atomic cancel-and-replace, and the answer has the new id.",
      refuses: [...ORDER_REFUSALS, "ORDER_NOT_FOUND"],
      exampleBody: { qty: 50 },
    },
    run: async ({ caller, body, id }) => {
      const orderId = await amendOrder(parts, walletOf(caller), id("orderId"), body, caller);
      return { body: { orderId } };
    },
  });

  const cancelBatch = route("DELETE /v3/orders/batch", {
    access: CANCELING,
    metering: perItem("cancel", "orderIds"),
    body: BatchCancel,
    answer: BatchCancelResult,
    docs: {
      summary: `Cancel up to ${MAX_BATCH} orders`,
      description:
        "Cancels the orders by id. An id that cannot be canceled does not stop the others; `notCanceled` gives its reason.",
      refuses: ["EMPTY_BATCH", "BATCH_TOO_LARGE"],
      also: { 207: "Some orders are canceled.", 404: "No order is canceled." },
      exampleBody: { orderIds: [IDS.orderId] },
    },
    run: async ({ caller, body }) => {
      const { canceled, notCanceled } = await trading.canceling.cancel(
        walletOf(caller),
        body.orderIds,
        caller.commandId,
      );
      const status = notCanceled.length === 0 ? 200 : canceled.length === 0 ? 404 : 207;
      return { status, body: { canceled: [...canceled], notCanceled: [...notCanceled] } };
    },
  });

  const cancelAll = route("DELETE /v3/orders", {
    access: CANCELING,
    metering: costs("cancel", 1),
    query: CancelAllQuery,
    body: Nothing,
    optionalBody: true,
    answer: CancelAllResult,
    docs: {
      summary: "Cancel all orders",
      description:
        "Cancels every open order of the wallet, or only the orders of one event, market or outcome. Returns the number of cancels that were queued.",
      exampleQuery: { market: IDS.marketId },
      exampleBody: {},
    },
    run: async ({ caller, query }) => ({
      body: { canceled: await trading.canceling.cancelAll(walletOf(caller), query, caller.commandId) },
    }),
  });

  const cancel = route("DELETE /v3/orders/:orderId", {
    access: CANCELING,
    metering: costs("cancel", 1),
    answer: CancelResult,
    docs: {
      summary: "Cancel an order",
      description: "Returns the status of the order at that moment. A cancel skips the location checks.",
      refuses: ["ORDER_NOT_FOUND"],
    },
    run: async ({ caller, id }) => {
      const orderId = id("orderId");
      const status = await trading.canceling.cancelOne(walletOf(caller), orderId, caller.commandId);
      if (status === undefined) throw new Refused("ORDER_NOT_FOUND");
      return { body: { orderId, status } };
    },
  });

  const shown = async (order: OrderRecord | undefined) => {
    if (order === undefined) throw new Refused("ORDER_NOT_FOUND");
    return orderOnWire(await reference.market(order.marketId), order);
  };

  const one = route("GET /v3/orders/:orderId", {
    access: signedOrSession(TRADING),
    metering: READ,
    query: WalletQuery,
    answer: Order,
    docs: {
      summary: "Retrieve an order",
      description: "Returns an order of the wallet, also long after it has ended.",
      refuses: ["ORDER_NOT_FOUND", ...SUBACCOUNT_REFUSALS],
      exampleQuery: { subaccount: IDS.keyId },
    },
    run: async ({ caller, query, id }) => {
      const { traderId, wallet } = await walletToRead(parts.db, caller, query);
      await reads.freshness.reach(ledgerOf(traderId));
      return { body: await shown(await findOrder(reads.db, wallet, id("orderId"))) };
    },
  });

  const list = route("GET /v3/orders", {
    access: signedOrSession(TRADING),
    metering: byParameter("status", "OPEN", READ, ENDED),
    query: OrdersQuery,
    answer: OrderOrPage,
    docs: {
      summary: "List orders",
      description:
        "Returns the open orders of the wallet, newest first. Name other statuses with `status`. With `clientId`, the answer is that one order instead of a page.",
      refuses: ["ORDER_NOT_FOUND", ...SUBACCOUNT_REFUSALS],
      exampleQuery: { subaccount: IDS.keyId, market: IDS.marketId, status: "OPEN" },
    },
    run: async ({ caller, query }) => {
      const { traderId, wallet } = await walletToRead(parts.db, caller, query);
      const { clientId, status = ["OPEN"] } = query;
      await reads.freshness.reach(ledgerOf(traderId));
      if (clientId !== undefined)
        return { body: await shown(await findOrderByClientId(reads.db, wallet, clientId)) };
      return ordersPage(parts, { wallet, reader: traderId }, { ...query, status });
    },
  });

  return [place, placeBatch, preview, amend, cancelBatch, cancelAll, cancel, one, list];
}
