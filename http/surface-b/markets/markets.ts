/** Markets, events, ticks and the names of leagues, types and statuses (specification, Surface B table). */

import { marketActor } from "../../../actors/actor.js";
import type { Database } from "../../../db/database.js";
import { listLeagues } from "../../../db/queries/catalog/classification.js";
import { findEvent, listEventsByOffset, marketIdsOfEvents } from "../../../db/queries/catalog/events.js";
import { findMarket } from "../../../db/queries/catalog/markets.js";
import { EVENT_STATUSES, EVENT_TYPES } from "../../../db/schema/catalog.js";
import { IDS, UNCHANGED } from "../../docs/examples.js";
import { takesGzip } from "../../edge/compression.js";
import { matchesEtag } from "../../edge/etag.js";
import type { Incoming } from "../../edge/incoming.js";
import type { Reference } from "../../reference/reference.js";
import { Refused } from "../../request/errors.js";
import { route, Serialized, type Reply, type Route } from "../../request/route.js";
import type { Freshness } from "../../trading/freshness.js";
import { BOOK, MARKETS_BY_EVENT, OPEN_MARKETS, ordinary, reading, readingEach } from "../access.js";
import {
  Book,
  EventsQuery,
  EventWithMarkets,
  Market,
  Markets,
  MarketsByEventQuery,
  MarketsByEventsBody,
  MarketsWithBooks,
  MAX_EVENTS,
  Names,
  OpenMarketsQuery,
  Ticks,
  type MarketWithBook,
} from "../schemas.js";
import { eventOnB, marketOnB, priceOnB, projected } from "../wire.js";
import type { Answer } from "./answer.js";
import { describeMarkets } from "./description.js";
import type { EventMarkets } from "./event-markets.js";
import type { OpenMarkets } from "./open-markets.js";

export interface EmmMarketParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly freshness: Freshness;
  readonly eventMarkets: EventMarkets;
  readonly openMarkets: OpenMarkets;
}

/** Returns an answer in an encoding that the client accepts. */
function encoded<Shown>(answer: Answer, incoming: Incoming): Reply<Shown> {
  const headers = { Vary: "Accept-Encoding" };
  const json = (): Buffer => answer.json;
  if (!takesGzip(incoming.header("accept-encoding"))) {
    return { headers, body: new Serialized<Shown>(json, answer.json) };
  }
  return {
    headers: { ...headers, "Content-Encoding": "gzip" },
    body: new Serialized<Shown>(json, answer.gzip),
  };
}

/** Returns an answer in an encoding that the client accepts, or 304 when the client has its current version. */
function served<Shown>(answer: Answer, incoming: Incoming): Reply<Shown | undefined> {
  const headers = { ETag: answer.etag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" };
  if (matchesEtag(incoming.header("if-none-match"), answer.etag))
    return { status: 304, headers, body: undefined };
  const reply = encoded<Shown>(answer, incoming);
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

export function emmMarketRoutes(base: string, parts: EmmMarketParts) {
  const { db, reference, freshness, eventMarkets, openMarkets } = parts;

  const byEvent = route(`GET ${base}/events/getMarketsByEvent/:eventId`, {
    access: reading(MARKETS_BY_EVENT),
    query: MarketsByEventQuery,
    answer: MarketsWithBooks.optional(),
    docs: {
      summary: "List the markets of an event with their books",
      description:
        "Returns the markets of the event, oldest first. `view=ladder` shows every resting order; `view=simple` shows price levels, with the asks that the ladders of the other outcomes imply. The answer is compressed for clients that accept gzip.",
      refuses: ["EVENT_NOT_FOUND"],
      also: UNCHANGED,
      exampleQuery: { currency: "CASH", view: "ladder" },
    },
    run: async ({ id, query: { currency, view }, incoming }) =>
      served<MarketWithBook[]>(await eventMarkets.markets(id("eventId"), currency, view), incoming),
  });

  const byEvents = route(`POST ${base}/events/getMarketsByEvents`, {
    access: readingEach(MARKETS_BY_EVENT, "eventIds"),
    body: MarketsByEventsBody,
    answer: MarketsWithBooks,
    docs: {
      summary: "List the markets of several events with their books",
      description: `Returns the markets of up to ${MAX_EVENTS} events, event by event and oldest first.`,
      refuses: ["EVENT_NOT_FOUND"],
      exampleBody: { eventIds: [IDS.eventId], currency: "CASH" },
    },
    run: async ({ body: { eventIds, currency, view }, incoming }) => {
      const answer = await eventMarkets.marketsOfEach([...new Set(eventIds)], currency, view);
      return encoded<MarketWithBook[]>(answer, incoming);
    },
  });

  const book = route(`GET ${base}/book/:marketId`, {
    access: reading(BOOK),
    query: MarketsByEventQuery,
    answer: Book.optional(),
    docs: {
      summary: "Retrieve the book of a market",
      description:
        "Returns the book as in the markets of an event: every resting order with `view=ladder`, price levels with `view=simple`.",
      refuses: ["MARKET_NOT_FOUND"],
      also: UNCHANGED,
      exampleQuery: { currency: "CASH", view: "ladder" },
    },
    run: async ({ id, query: { currency, view }, incoming }) =>
      served<Book>(await eventMarkets.book(id("marketId"), currency, view), incoming),
  });

  const open = route(`GET ${base}/markets/open`, {
    access: reading(OPEN_MARKETS),
    query: OpenMarketsQuery,
    answer: Markets.optional(),
    docs: {
      summary: "List open markets",
      description: "Returns the open markets of visible events, at most 1 s old.",
      also: UNCHANGED,
      exampleQuery: { leagues: "NFL,NBA", marketTypes: "MONEY,SPREAD" },
    },
    run: async ({ query: { league, marketType, leagues = league, marketTypes = marketType }, incoming }) =>
      served<Market[]>(await openMarkets.markets({ leagues, marketTypes }), incoming),
  });

  const one = route(`GET ${base}/markets/:marketId`, {
    access: reading(ordinary("market")),
    answer: Market,
    docs: {
      summary: "Retrieve a market",
      description: "Returns a market. A settled one has `settledAt`, and its outcomes are `WIN` or `LOSS`.",
      refuses: ["MARKET_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const marketId = id("marketId");
      await freshness.reach(marketActor(marketId));
      const record = await findMarket(db, marketId);
      const [described] = record === undefined ? [] : await describeMarkets(db, [record]);
      if (described === undefined) throw new Refused("MARKET_NOT_FOUND");
      return { body: marketOnB(described, projected(described.record, "CASH")) };
    },
  });

  const events = route(`GET ${base}/events`, {
    access: reading(ordinary("events")),
    query: EventsQuery,
    answer: EventWithMarkets.array(),
    docs: {
      summary: "List events",
      description: "Returns visible and hidden events with the ids of their markets.",
      exampleQuery: { league: "NFL", type: "Game", status: "OPEN_PREGAME", limit: "100", offset: "0" },
    },
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

  const event = route(`GET ${base}/events/:eventId`, {
    access: reading(ordinary("event")),
    answer: EventWithMarkets,
    docs: {
      summary: "Retrieve an event",
      description: "Returns the event with the ids of its markets.",
      refuses: ["EVENT_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const eventId = id("eventId");
      const found = await findEvent(db, eventId);
      if (found === undefined) throw new Refused("EVENT_NOT_FOUND");
      const marketIds = (await marketIdsOfEvents(db, [eventId])).get(eventId) ?? [];
      return { body: { ...eventOnB(found), marketIds: [...marketIds] } };
    },
  });

  const ticks = route(`GET ${base}/ticks`, {
    access: reading(ordinary("ticks")),
    answer: Ticks,
    docs: {
      summary: "List ticks",
      description: "Returns every valid price. The table may change; fetch it regularly.",
    },
    run: async () => ({ body: (await reference.ticks()).prices.map(priceOnB) }),
  });

  const names = (path: string, summary: string, read: () => Promise<string[]>): Route =>
    route(`GET ${base}/event-metadata/${path}`, {
      access: reading(ordinary(path === "leagues" ? path : `event-${path}`)),
      answer: Names,
      docs: { summary },
      run: async () => ({ body: await read() }),
    });

  return [
    byEvent,
    byEvents,
    book,
    open,
    one,
    ticks,
    events,
    event,
    names("leagues", "List leagues", async () => (await listLeagues(db)).map(({ name }) => name)),
    names("types", "List event types", () => Promise.resolve([...EVENT_TYPES])),
    names("statuses", "List event statuses", () => Promise.resolve([...EVENT_STATUSES])),
  ];
}
