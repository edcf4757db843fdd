/**
 * Placing and canceling on surface B: other shapes than on surface A, and the same rules of trading (contract section
 * 7.9).
 */

import { randomUUID } from "node:crypto";
import { unreachable } from "../../actors/unreachable.js";
import { IDS } from "../docs/examples.js";
import { BATCH_REFUSALS } from "../docs/refusals.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import type { Placed as PlacedOrders } from "../trading/placement-answer.js";
import type { Trading } from "../trading/trading.js";
import { CANCEL, canceling, KILL_SWITCH, PLACING } from "./access.js";
import { CancelBody, Canceled, CanceledAll, KillSwitchQuery, PlaceBody, Placed } from "./schemas.js";
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

export function emmOrderRoutes(base: string, { trading }: { readonly trading: Trading }) {
  const place = route(`POST ${base}/orders/place`, {
    access: PLACING,
    status: 201,
    body: PlaceBody,
    answer: Placed,
    docs: {
      summary: `Place up to ${MAX_BATCH} orders`,
      description:
        "Judges each order by itself. When no order is accepted, the answer is the first refusal, and `rejected` lists all of them.",
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
      const orders = body.map(({ price, ...order }) => ({
        ...order,
        price: String(price),
        selfTrade: "wash" as const,
      }));
      return placedOnB(await trading.place(caller, orders, false));
    },
  });

  const cancel = route(`POST ${base}/orders/cancel`, {
    access: canceling(CANCEL),
    body: CancelBody,
    answer: Canceled,
    docs: {
      summary: `Cancel up to ${MAX_BATCH} orders`,
      refuses: ["EMPTY_BATCH", "BATCH_TOO_LARGE"],
      also: { 207: "Some orders are not canceled; `notCanceled` gives the reasons." },
      exampleBody: { orderIds: [IDS.orderId] },
    },
    run: async ({ caller, body }) => {
      const { canceled, notCanceled } = await trading.cancel(caller, body.orderIds, randomUUID());
      const status = notCanceled.length === 0 ? 200 : 207;
      return { status, body: { canceled: [...canceled], notCanceled: [...notCanceled] } };
    },
  });

  const cancelAll = route(`DELETE ${base}/orders`, {
    access: canceling(KILL_SWITCH),
    query: KillSwitchQuery,
    answer: CanceledAll,
    docs: {
      summary: "Cancel all orders",
      description:
        "Cancels every open order of the client, as a kill switch. Returns the number of cancels that were queued.",
      exampleQuery: { currency: "CASH" },
    },
    run: async ({ caller, query }) => {
      try {
        return { body: { canceled: await trading.cancelAll(caller, query, randomUUID()) } };
      } catch (error) {
        // A cancel that failed returns its token, so that it can be repeated at once.
        await caller.giveBack();
        throw error;
      }
    },
  });

  return [place, cancel, cancelAll];
}
