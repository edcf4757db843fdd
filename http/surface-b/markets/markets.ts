/** Markets, events and what they are priced and named by (specification, Surface B table). */

import { marketActor } from "../../../actors/actor.js";
import type { Database } from "../../../db/database.js";
import { listLeagues } from "../../../db/queries/catalog/classification.js";
import { findEvent, listEventsByOffset, marketIdsOfEvents } from "../../../db/queries/catalog/events.js";
import { findMarket } from "../../../db/queries/catalog/markets.js";
import { EVENT_STATUSES, EVENT_TYPES } from "../../../db/schema/catalog.js";
import { Refused } from "../../request/errors.js";
import type { Freshness } from "../../trading/freshness.js";
import type { Reference } from "../../reference/reference.js";
import type { Incoming } from "../../edge/incoming.js";
import { clientEndpoint, Serialized, type Reply } from "../../request/route.js";
import { isCurrent } from "../../surface-a/catalog.js";
import { takesGzip, type Answer } from "./answer.js";
import { describeMarkets } from "./description.js";
import type { EventMarkets } from "./event-markets.js";
import type { OpenMarkets } from "./open-markets.js";
import {
  EventsQuery,
  EventWithMarkets,
  Market,
  Markets,
  MarketsByEventQuery,
  MarketsWithBooks,
  Names,
  OpenMarketsQuery,
  Ticks,
  type MarketWithBook,
} from "../schemas.js";
import { eventOnB, marketOnB, priceOnB, projected } from "../wire.js";

export interface EmmMarketParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly eventMarkets: EventMarkets;
  readonly openMarkets: OpenMarkets;
}

/** An answer in the encoding that the client takes, or that it has not changed since. */
function served<Items>(answer: Answer, incoming: Incoming): Reply<Items | undefined> {
  const headers = { ETag: answer.etag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" };
  if (isCurrent(incoming.header("if-none-match"), answer.etag))
    return { status: 304, headers, body: undefined };
  const json = (): Buffer => answer.json;
  if (!takesGzip(incoming.header("accept-encoding"))) {
    return { headers, body: new Serialized<Items>(json, answer.json) };
  }
  return {
    headers: { ...headers, "Content-Encoding": "gzip" },
    body: new Serialized<Items>(json, answer.gzip),
  };
}

export function emmMarketEndpoints(parts: EmmMarketParts) {
  const { db, reference, freshness, eventMarkets, openMarkets } = parts;

  const byEvent = clientEndpoint({
    query: MarketsByEventQuery,
    answer: MarketsWithBooks.optional(),
    run: async ({ id, query: { currency, view }, incoming }) =>
      served<MarketWithBook[]>(await eventMarkets.markets(id("eventId"), currency, view), incoming),
  });

  const open = clientEndpoint({
    query: OpenMarketsQuery,
    answer: Markets.optional(),
    run: async ({ query, incoming }) => served<Market[]>(await openMarkets.markets(query), incoming),
  });

  const one = clientEndpoint({
    answer: Market,
    run: async ({ id }) => {
      const marketId = id("marketId");
      if ((await reference.market(marketId)) === undefined) throw new Refused("MARKET_NOT_FOUND");
      await freshness.reach(marketActor(marketId));
      const record = await findMarket(db, marketId);
      const [described] = record === undefined ? [] : await describeMarkets(db, [record]);
      if (described === undefined) throw new Refused("MARKET_NOT_FOUND");
      return { body: marketOnB(described, projected(described.record, "CASH")) };
    },
  });

  const events = clientEndpoint({
    query: EventsQuery,
    answer: EventWithMarkets.array(),
    run: async ({ query: { league, type, status, ...page } }) => {
      const found = await listEventsByOffset(db, { leagues: league, types: type, statuses: status }, page);
      const marketIds = await marketIdsOfEvents(
        db,
        found.map(({ eventId }) => eventId),
      );
      const body = found.map((event) => ({
        ...eventOnB(event),
        marketIds: [...(marketIds.get(event.eventId) ?? [])],
      }));
      return { body };
    },
  });

  const event = clientEndpoint({
    answer: EventWithMarkets,
    run: async ({ id }) => {
      const eventId = id("eventId");
      const found = await findEvent(db, eventId);
      if (found === undefined) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...eventOnB(found), marketIds: [...marketIds] } };
    },
  });

  const ticks = clientEndpoint({
    answer: Ticks,
    run: async () => ({ body: (await reference.ticks()).prices.map(priceOnB) }),
  });

  const names = (read: () => Promise<string[]>) =>
    clientEndpoint({ answer: Names, run: async () => ({ body: await read() }) });

  return {
    byEvent,
    open,
    one,
    events,
    event,
    ticks,
    leagues: names(async () => (await listLeagues(db)).map(({ name }) => name)),
    types: names(() => Promise.resolve([...EVENT_TYPES])),
    statuses: names(() => Promise.resolve([...EVENT_STATUSES])),
  };
}
