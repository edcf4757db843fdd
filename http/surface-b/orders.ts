/** Placing and canceling on surface B: its own shapes, and the very same trading as on surface A (contract section 7). */

import { randomUUID } from "node:crypto";
import { Refused } from "../request/errors.js";
import type { Placed as PlacedOrders } from "../trading/placement-answer.js";
import { clientEndpoint } from "../request/route.js";
import type { Trading } from "../trading/trading.js";
import { Canceled, CanceledAll, CancelBody, KillSwitchQuery, PlaceBody, Placed } from "./schemas.js";

/** 201 when all were accepted, 207 when some; with none accepted the first refusal is the answer. */
function placedOnB(placed: PlacedOrders) {
  switch (placed.kind) {
    case "all":
      return { status: placed.repeated ? 200 : 201, body: { accepted: [...placed.accepted], rejected: [] } };
    case "some":
      return { status: 207, body: { accepted: [...placed.accepted], rejected: [...placed.rejected] } };
    case "none":
      throw new Refused(placed.code, placed.message, { rejected: placed.rejected });
    default:
      return placed satisfies never;
  }
}

export function emmOrderEndpoints({ trading }: { readonly trading: Trading }) {
  const place = clientEndpoint({
    status: 201,
    body: PlaceBody,
    answer: Placed,
    run: async ({ caller, body }) => {
      // The shortest text of a number is what the client wrote, so a price off the grid is not rounded onto it.
      const orders = body.map(({ price, ...order }) => ({
        ...order,
        price: String(price),
        selfTrade: "wash" as const,
      }));
      return placedOnB(await trading.place(caller, orders, false, randomUUID()));
    },
  });

  const cancel = clientEndpoint({
    body: CancelBody,
    answer: Canceled,
    run: async ({ caller, body }) => {
      const { canceled, notCanceled } = await trading.cancel(caller, body.orderIds, randomUUID());
      const status = notCanceled.length === 0 ? 200 : 207;
      return { status, body: { canceled: [...canceled], notCanceled: [...notCanceled] } };
    },
  });

  const cancelAll = clientEndpoint({
    query: KillSwitchQuery,
    answer: CanceledAll,
    run: async ({ caller, query }) => {
      try {
        return { body: { canceled: await trading.cancelAll(caller, query, randomUUID()) } };
      } catch (error) {
        // Nobody shall wait half a minute to try again what did not work.
        await caller.giveBack();
        throw error;
      }
    },
  });

  return { place, cancel, cancelAll };
}
