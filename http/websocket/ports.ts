/** What the websocket bridge asks of the gateway: trading with the REST checks, the catalog, its pages. */

import { Unavailable } from "../../stream/log/ports.js";
import type {
  Caller,
  Catalog,
  PlaceAnswer,
  Queries,
  QueryAnswer,
  Refused as StreamRefused,
  Trading as StreamTrading,
} from "../../stream/ws/ports.js";
import { refuseLocation, type Locations } from "../geo/locations.js";
import type { Reference } from "../reference/reference.js";
import { refuseInactive, refuseUnverified } from "../request/account-state.js";
import { Refused, wireCode } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import { readAs } from "../request/validation.js";
import type { catalogPages } from "../surface-a/catalog.js";
import { EventsQuery, MarketsQuery } from "../surface-a/schemas/catalog.js";
import { BatchCancel, BatchPlace } from "../surface-a/schemas/orders.js";
import type { Trading } from "../trading/trading.js";

export interface StreamPortParts {
  readonly reference: Reference;
  readonly trading: Trading;
  readonly locations: Locations;
}

/** Turns refusals into values; what cannot be reached stays an exception, which the bridge answers by itself. */
async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer | StreamRefused> {
  try {
    return await work();
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === undefined) throw error;
    if (refused.code === "UNAVAILABLE") throw new Unavailable(refused.message);
    return { ok: false, code: wireCode(refused.code), message: refused.message };
  }
}

/** Placing and canceling for a socket, with the checks of the REST routes but for the throttle. */
export function streamTrading({ reference, trading, locations }: StreamPortParts): StreamTrading {
  const standing = async (caller: Caller, purpose: "placing" | "canceling"): Promise<void> => {
    const key = await reference.find(caller.keyId);
    if (key === undefined) throw new Refused("SIGNATURE_REJECTED", "the key is not live any more");
    if (key.scope !== "trading") throw new Refused("SCOPE_REJECTED");
    refuseInactive(key.state, purpose === "canceling");
    if (purpose === "canceling") return;
    const { traderId, address } = caller;
    await refuseLocation(locations, { traderId, ip: address, purpose, nowMs: Date.now() });
    refuseUnverified(key.kyc);
  };
  return {
    place: (caller, orders, atomic) =>
      answered(async (): Promise<PlaceAnswer> => {
        await standing(caller, "placing");
        const body = readAs(BatchPlace, { orders, atomic }, "field", "INVALID_BODY");
        const placed = await trading.place(caller, body.orders, atomic);
        switch (placed.kind) {
          case "all":
            return { ok: true, accepted: placed.accepted };
          case "some": {
            const { accepted, rejected } = placed;
            const message = `${rejected.length} of ${rejected.length + accepted.length} orders were refused`;
            return { ok: false, code: "BATCH_PARTIALLY_REJECTED", message, accepted, rejected };
          }
          case "none":
            return {
              ok: false,
              code: wireCode(placed.code),
              message: placed.message,
              rejected: placed.rejected,
            };
          default:
            return placed satisfies never;
        }
      }),
    cancel: (caller, orderIds) =>
      answered(async () => {
        await standing(caller, "canceling");
        const body = readAs(BatchCancel, { orderIds }, "field", "INVALID_BODY");
        return { ok: true as const, ...(await trading.cancel(caller, body.orderIds)) };
      }),
    cancelAll: (caller, filter, reason) =>
      answered(async () => {
        // A socket that is gone takes its orders with it, whatever has become of its key.
        if (reason === undefined) await standing(caller, "canceling");
        return { ok: true as const, canceled: await trading.cancelAll(caller, filter, undefined, reason) };
      }),
  };
}

/** Markets by their identity, from the gateway's cache. */
export function streamCatalog(reference: Reference): Catalog {
  return {
    market: async (marketId) => {
      const market = await reference.market(marketId);
      if (market === undefined) return undefined;
      const outcomes = market.outcomes.map(({ outcomeId, name }) => ({ outcomeId, name }));
      return { marketId, eventId: market.event.eventId, outcomes };
    },
    marketsOf: (eventId) => reference.marketIdsOf(eventId),
    onMarket: (listener) => reference.onMarket(listener),
  };
}

/** Filters of a JSON request as the query of the REST lists: numbers as digits, lists with commas. */
function asQuery(filters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => {
      if (typeof value === "number") return [name, String(value)];
      return [name, Array.isArray(value) ? value.join(",") : value];
    }),
  );
}

/** Pages of the catalog for sockets. */
export function streamQueries(catalog: ReturnType<typeof catalogPages>): Queries {
  const page = (
    work: () => Promise<{ items: readonly unknown[]; next?: string | undefined }>,
  ): Promise<QueryAnswer> => answered(async () => ({ ok: true as const, page: await work() }));
  return {
    markets: (_caller, filters) =>
      page(() => catalog.marketsPage(readAs(MarketsQuery, asQuery(filters), "filter", "INVALID_QUERY"))),
    events: (_caller, filters) =>
      page(() => catalog.eventsPage(readAs(EventsQuery, asQuery(filters), "filter", "INVALID_QUERY"))),
  };
}
