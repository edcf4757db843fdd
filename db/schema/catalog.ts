/** Reference data that operators maintain: leagues, teams, events, ticks (contract sections 4, 7 and 8). */

import { sql } from "drizzle-orm";
import {
  bigserial,
  boolean,
  index,
  pgTable,
  serial,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { EVENT_ACTIONS } from "../../stream/jobs/event-actions.js";
import { moment } from "./columns.js";

export const EVENT_STATUSES = [
  "OPEN_PREGAME",
  "CLOSED_PREGAME",
  "OPEN_INGAME",
  "DELAYED",
  "SETTLED",
  "FINAL",
  "CANCELED",
] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/** Statuses of events that are not over. Lists of events and markets show these by default. */
export const UNDERWAY: readonly EventStatus[] = ["OPEN_PREGAME", "CLOSED_PREGAME", "OPEN_INGAME", "DELAYED"];

export const EVENT_TYPES = ["REGULAR_SEASON", "Game", "Future"] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const sports = pgTable("sports", { name: text().primaryKey() });

export const leagues = pgTable("leagues", {
  name: text().primaryKey(),
  sport: text()
    .notNull()
    .references(() => sports.name),
});

export const marketTypes = pgTable("market_types", {
  name: text().primaryKey(),
  /** True for a type that exists only in the environment `qa`. */
  qaOnly: boolean().notNull().default(false),
});

export const competitors = pgTable(
  "competitors",
  {
    competitorId: uuid().primaryKey(),
    league: text()
      .notNull()
      .references(() => leagues.name),
    name: text().notNull(),
    shortName: text(),
    symbol: text(),
    mascot: text(),
  },
  (table) => [uniqueIndex("competitors_league_name").on(table.league, table.name)],
);

export const players = pgTable("players", {
  playerId: uuid().primaryKey(),
  name: text().notNull(),
  fullName: text().notNull(),
  position: text(),
  competitorId: uuid().references(() => competitors.competitorId),
});

export const events = pgTable(
  "events",
  {
    eventId: uuid().primaryKey(),
    type: text({ enum: EVENT_TYPES }).notNull(),
    sport: text()
      .notNull()
      .references(() => sports.name),
    league: text()
      .notNull()
      .references(() => leagues.name),
    description: text().notNull(),
    startsTs: moment().notNull(),
    visible: boolean().notNull().default(true),
    status: text({ enum: EVENT_STATUSES }).notNull(),
    createdTs: moment().notNull(),
    updatedTs: moment().notNull(),
  },
  (table) => [
    index("events_starts").on(table.startsTs, table.eventId),
    index("events_status_starts").on(table.status, table.startsTs, table.eventId),
    // The default lists of events read this index, so that the events of past years cost them nothing.
    index("events_underway")
      .on(table.startsTs, table.eventId)
      .where(sql.raw(`status in (${UNDERWAY.map((status) => `'${status}'`).join(", ")})`)),
  ],
);

export const games = pgTable("games", {
  gameId: uuid().primaryKey(),
  eventId: uuid()
    .notNull()
    .unique()
    .references(() => events.eventId),
  homeTeamId: uuid()
    .notNull()
    .references(() => competitors.competitorId),
  awayTeamId: uuid()
    .notNull()
    .references(() => competitors.competitorId),
});

/**
 * Actions that the markets of an event must take because its status changed, written in the transaction of that change.
 * An event has at most one unfinished action, so actions cannot overtake each other.
 */
export const eventActions = pgTable(
  "event_actions",
  {
    actionId: bigserial({ mode: "number" }).primaryKey(),
    eventId: uuid()
      .notNull()
      .references(() => events.eventId),
    action: text({ enum: EVENT_ACTIONS }).notNull(),
    createdTs: moment().notNull(),
    doneTs: moment(),
    /** Markets that have taken the action while others of the event have not. */
    followed: uuid()
      .array()
      .notNull()
      .default(sql`'{}'::uuid[]`),
  },
  (table) => [
    uniqueIndex("event_actions_unfinished")
      .on(table.eventId)
      .where(sql`done_ts is null`),
  ],
);

/** The published tick tables. The table in force has the highest version. */
export const tickTables = pgTable("tick_tables", {
  version: serial().primaryKey(),
  prices: smallint().array().notNull(),
  publishedTs: moment().notNull(),
  publishedBy: uuid(),
});
