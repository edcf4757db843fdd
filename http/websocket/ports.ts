/** Ports of the websocket bridge, implemented by the gateway: trading with the REST checks, the catalog, its pages. */

import { unreachable } from "../../actors/unreachable.js";
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
import type { EngineTime } from "../edge/incoming.js";
import { refuseLocation, type Locations } from "../geo/locations.js";
import type { Reference } from "../reference/reference.js";
import { refuseInactive, refuseUnverified } from "../request/account-state.js";
import { Refused, wireCode } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import { inTime } from "../request/in-time.js";
import { readAs, readFields } from "../request/validation.js";
import type { catalogPages } from "../surface-a/catalog.js";
import { EventsQuery, MarketsQuery } from "../surface-a/schemas/catalog.js";
import { BatchCancel, BatchPlace } from "../surface-a/schemas/orders.js";
import { eventOnWire, marketOnWire } from "../surface-a/wire.js";
import type { Trading } from "../trading/trading.js";

/** Everything the ports depend on. */
export interface StreamPortParts {
  readonly reference: Reference;
  readonly trading: Trading;
  readonly locations: Locations;
  readonly time: Pick<EngineTime, "now">;
}

/** Returns refusals as values. Throws `Unavailable` when a part of the exchange cannot be reached. */
async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer | StreamRefused> {
  try {
    return await inTime(work());
  } catch (error) {
    const refused = refusalOf(error);
    if (refused === undefined) throw error;
    if (refused.code === "UNAVAILABLE") throw new Unavailable(refused.message);
    return { ok: false, code: wireCode(refused.code), message: refused.message };
  }
}

/** Throws `Unavailable` with the message of REST when the database cannot be reached. */
async function reached<Read>(read: Promise<Read>): Promise<Read> {
  try {
    return await read;
  } catch (error) {
    const refused = refusalOf(error);
    throw refused?.code === "UNAVAILABLE" ? new Unavailable(refused.message, { cause: error }) : error;
  }
}

/** Places and cancels for a socket, with the checks of the REST routes except throttling. */
export function streamTrading({ reference, trading, locations, time }: StreamPortParts): StreamTrading {
  const checkCaller = async (caller: Caller, purpose: "placing" | "canceling"): Promise<void> => {
    const key = await reference.find(caller.keyId);
    if (key === undefined)
      throw new Refused("SIGNATURE_REJECTED", "the key has been revoked or has expired; use a live key");
    if (key.scope !== "trading") {
      throw new Refused(
        "SCOPE_REJECTED",
        `the scope ${key.scope} does not allow trading; use a key with the scope trading`,
      );
    }
    refuseInactive(key.state, purpose === "canceling");
    if (purpose === "canceling") return;
    const { traderId, address } = caller;
    await refuseLocation(locations, { traderId, ip: address, purpose, nowMs: time.now() });
    refuseUnverified(key.kyc);
  };
  return {
    place: (caller, orders, atomic) =>
      answered(async (): Promise<PlaceAnswer> => {
        await checkCaller(caller, "placing");
        const body = readFields(BatchPlace, { orders, atomic });
        // Orders placed on a socket are soon canceled on it.
        trading.canceling.warm(caller);
        const placed = await trading.place(caller, body.orders, atomic);
        switch (placed.kind) {
          case "all":
            return { ok: true, accepted: placed.accepted };
          case "some": {
            const { accepted, rejected } = placed;
            const message = `${rejected.length} of ${rejected.length + accepted.length} orders were refused; the field rejected lists them`;
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
            return unreachable(placed);
        }
      }),
    cancel: (caller, orderIds) =>
      answered(async () => {
        await checkCaller(caller, "canceling");
        const body = readFields(BatchCancel, { orderIds });
        return { ok: true as const, ...(await trading.canceling.cancel(caller, body.orderIds)) };
      }),
    cancelAll: (caller, filter, reason) =>
      answered(async () => {
        // Cancel on disconnect must work even when the key of the closed socket has ended.
        if (reason === undefined) await checkCaller(caller, "canceling");
        return {
          ok: true as const,
          canceled: await trading.canceling.cancelAll(caller, filter, undefined, reason),
        };
      }),
  };
}

/** Serves the identity of markets from the cache of the gateway. */
export function streamCatalog(reference: Reference): Catalog {
  return {
    market: async (marketId) => {
      const market = await reached(reference.market(marketId));
      if (market === undefined) return undefined;
      const outcomes = market.outcomes.map(({ outcomeId, name }) => ({ outcomeId, name }));
      return { marketId, eventId: market.event.eventId, outcomes };
    },
    // A hidden event and its markets answer as missing ones.
    listed: async (marketIds) => {
      const visible = await reference.visibility(marketIds);
      // The stream needs no Postgres: without it a market counts as listed, and one that does not exist has no state.
      return new Set(marketIds.filter((marketId) => visible.get(marketId) !== false));
    },
    marketsOf: async (eventId) =>
      (await reached(reference.event(eventId)))?.visible === true
        ? reached(reference.marketIdsOf(eventId))
        : undefined,
    onMarket: (listener) => reference.onMarket(listener),
  };
}

/** Converts filters of a JSON request to a query of the REST lists: numbers to digits, arrays to comma-separated lists. */
function asQuery(filters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => {
      if (typeof value === "number") return [name, String(value)];
      return [name, Array.isArray(value) ? value.join(",") : value];
    }),
  );
}

/** Returns a page with its rows as they are sent. */
async function shown<Row, Others>(
  read: Promise<{ readonly items: readonly Row[]; readonly others: Others }>,
  onWire: (row: Row) => object,
) {
  const { items, others } = await read;
  return { items: items.map(onWire), ...others };
}

/** Serves pages of the catalog to sockets. */
export function streamQueries(catalog: ReturnType<typeof catalogPages>): Queries {
  const page = (
    work: () => Promise<{ items: readonly unknown[]; next?: string | undefined; asOf: number | null }>,
  ): Promise<QueryAnswer> => answered(async () => ({ ok: true as const, page: await work() }));
  return {
    markets: (_caller, filters) =>
      page(() => {
        const query = readAs(MarketsQuery, asQuery(filters), "filter", "INVALID_QUERY");
        const statuses = query.eventStatus === undefined ? (["OPEN"] as const) : undefined;
        return shown(catalog.marketsOf(query, statuses), marketOnWire);
      }),
    events: (_caller, filters) =>
      page(() => {
        const query = readAs(EventsQuery, asQuery(filters), "filter", "INVALID_QUERY");
        return shown(catalog.eventsOf(query), eventOnWire);
      }),
  };
}
