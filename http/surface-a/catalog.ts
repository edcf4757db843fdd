/** Events and markets, for signed requests and for the public (contract section 5.14). */

import type { z } from "zod";
import { marketActor } from "../../actors/actor.js";
import type { MarketStatus } from "../../actors/market/types.js";
import type { Database } from "../../db/database.js";
import { findEvent, listEvents, marketIdsOfEvents } from "../../db/queries/catalog/events.js";
import { findMarket, listMarkets, settledMarkets } from "../../db/queries/catalog/markets.js";
import { UNDERWAY } from "../../db/schema/catalog.js";
import type { ReadModelTime } from "../../stream/services/read-model-time.js";
import type { Replicas } from "../../stream/ws/market/replicas.js";
import { IDS } from "../docs/examples.js";
import { ANYBODY, signedOrSession, TRADING, type Access } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { datedPageOf } from "../request/fields.js";
import { free, perRows, READ, type Metering } from "../request/metering.js";
import { route, type Route } from "../request/route.js";
import type { Freshness, ReadModel } from "../trading/freshness.js";
import { marketDataRoutes, visible, type MarketDataParts } from "./market/market-data.js";
import {
  CatalogEvent,
  CatalogEventWithMarkets,
  EventsQuery,
  HistoryQuery,
  Market,
  MarketsQuery,
} from "./schemas/catalog.js";
import { pageReply } from "./wallet-lists.js";
import { eventOnWire, marketOnWire } from "./wire.js";

/** Books of the markets as the market actors last published them. */
export type Books = Pick<Replicas, "acquire" | "has" | "release" | "bookUnless">;

interface PageParts {
  readonly reads: Pick<ReadModel, "db">;
  readonly tables: Pick<ReadModelTime, "completeMs">;
}

interface CatalogParts extends PageParts, MarketDataParts {
  readonly db: Database;
  readonly reads: ReadModel;
  readonly freshness: Freshness;
}

/**
 * Reads pages of events and markets, for the routes and for the queries of the stream; `statuses` narrows a page to
 * markets of these statuses.
 */
export function catalogPages({ reads: { db }, tables }: PageParts) {
  const eventsOf = async (query: z.output<typeof EventsQuery>) => {
    const { league, status, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      statuses: status ?? UNDERWAY,
      startsAfter,
      startsBefore,
      visible: true,
    };
    // The time is read first: what the tables receive during the query may be missing in the page.
    const asOf = tables.completeMs;
    const { items, next } = await listEvents(db, filter, page);
    return { items, others: { next, asOf } };
  };

  const marketsOf = async (query: z.output<typeof MarketsQuery>, statuses?: readonly MarketStatus[]) => {
    const { league, marketType, eventStatus, event: eventId, startsAfter, startsBefore, ...page } = query;
    const filter = {
      leagues: league,
      marketTypes: marketType,
      eventStatuses: eventStatus ?? (eventId === undefined ? UNDERWAY : undefined),
      statuses,
      eventId,
      startsAfter,
      startsBefore,
      visible: true,
    };
    const asOf = tables.completeMs;
    const { items, next } = await listMarkets(db, filter, page);
    return { items, others: { next, asOf } };
  };
  return { eventsOf, marketsOf };
}

export function catalogRoutes(parts: CatalogParts): readonly Route[] {
  const { signed, open } = marketDataRoutes(parts);
  return [
    ...routesBelow("/v3", signedOrSession(TRADING), READ, parts),
    ...signed,
    ...routesBelow("/v3/public", ANYBODY, free, parts),
    ...open,
    historyRoute(parts),
  ];
}

function routesBelow(
  base: string,
  access: Access,
  metering: Metering,
  { db, reads, tables, freshness, longWork }: CatalogParts,
): readonly Route[] {
  const { eventsOf, marketsOf } = catalogPages({ reads, tables });

  const events = route(`GET ${base}/catalog/events`, {
    access,
    metering,
    query: EventsQuery,
    answer: datedPageOf(CatalogEvent),
    docs: {
      summary: "List events",
      description:
        "Returns the visible events that are not over, by their scheduled start. Name other statuses with `status`.",
      exampleQuery: { league: "NFL", status: "OPEN_PREGAME,OPEN_INGAME", limit: "100" },
    },
    run: async ({ query }) => pageReply(longWork, await eventsOf(query), eventOnWire),
  });

  const event = route(`GET ${base}/catalog/events/:eventId`, {
    access,
    metering,
    answer: CatalogEventWithMarkets,
    docs: {
      summary: "Retrieve an event",
      description: "Returns the event with the ids of its markets.",
      refuses: ["EVENT_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const eventId = id("eventId");
      const found = await findEvent(db, eventId);
      if (!found?.visible) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...eventOnWire(found), marketIds: [...marketIds] } };
    },
  });

  const markets = route(`GET ${base}/catalog/markets`, {
    access,
    metering,
    query: MarketsQuery,
    answer: datedPageOf(Market),
    docs: {
      summary: "List markets",
      description:
        "Returns the markets of visible events that are not over. Name other statuses with `eventStatus`, or one event with `event`.",
      exampleQuery: { league: "NFL", marketType: "MONEY", event: IDS.eventId, limit: "100" },
    },
    run: async ({ query }) => pageReply(longWork, await marketsOf(query), marketOnWire),
  });

  const market = route(`GET ${base}/catalog/markets/:marketId`, {
    access,
    metering,
    answer: Market,
    docs: {
      summary: "Retrieve a market",
      refuses: ["MARKET_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const marketId = id("marketId");
      await freshness.reach(marketActor(marketId));
      return { body: marketOnWire(visible(await findMarket(db, marketId))) };
    },
  });

  return [events, event, markets, market];
}

function historyRoute({ reads: { db }, tables }: CatalogParts): Route {
  return route("GET /v3/history/markets", {
    access: signedOrSession(TRADING),
    metering: perRows("history", 4, 50),
    query: HistoryQuery,
    answer: datedPageOf(Market),
    docs: {
      summary: "List settled markets",
      description: "Returns the settled markets, newest first.",
      exampleQuery: { limit: "100" },
    },
    run: async ({ query }) => {
      const asOf = tables.completeMs;
      const { items, next } = await settledMarkets(db, query);
      return { body: { items: items.map(marketOnWire), next, asOf }, rows: items.length };
    },
  });
}
