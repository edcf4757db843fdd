/** Events and their life cycle (contract sections 4.2, 5.14, 7.5 and 8.7). */

import { randomUUID } from "node:crypto";
import { and, asc, eq, getTableColumns, inArray, isNull, lt, ne, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { Database, Queries } from "../../database.js";
import {
  keyOrder,
  page,
  pageInSlices,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type TimeBounds,
} from "../../page.js";
import {
  competitors,
  eventActions,
  events,
  games,
  type EventStatus,
  type EventType,
} from "../../schema/catalog.js";
import { markets } from "../../schema/markets.js";
import { upsertCompetitor, type Competitor, type Team } from "./competitors.js";
import type { EventAction } from "../../../stream/jobs/event-actions.js";

interface Game {
  readonly gameId: string;
  readonly homeTeam: Competitor;
  readonly awayTeam: Competitor;
}

export type EventRecord = typeof events.$inferSelect & { readonly game: Game | null };
/** Time that a finished action stays in its table, in ms: only people who look for an error read it. */
const KEEP_ACTIONS_MS = 30 * 86_400_000;

export type PendingEventAction = typeof eventActions.$inferSelect;

export interface NewEvent {
  readonly eventId: string;
  readonly type: EventType;
  readonly sport: string;
  readonly league: string;
  readonly description: string;
  readonly startsTs: number;
  readonly visible: boolean;
  readonly game?: { readonly homeTeam: Team; readonly awayTeam: Team } | undefined;
  readonly nowTs: number;
}

/** Conditions on events; an absent field is no condition. */
export interface EventFilter extends TimeBounds {
  readonly leagues?: readonly string[] | undefined;
  readonly types?: readonly EventType[] | undefined;
  readonly statuses?: readonly EventStatus[] | undefined;
  readonly visible?: boolean | undefined;
}

/** A step of an event from one of the statuses `from` to the status `to`, and the action that its markets must take. */
export interface EventStep {
  readonly eventId: string;
  readonly action: EventAction;
  readonly from: readonly EventStatus[];
  readonly to: EventStatus;
  readonly nowTs: number;
}

/** The result of a step. `ACTION_PENDING`: the markets have not finished `pending`, the action of an earlier step. */
export type EventStepOutcome =
  | { readonly ok: true; readonly event: EventRecord; readonly pending: PendingEventAction }
  | { readonly ok: false; readonly refusal: "EVENT_NOT_FOUND" | "INVALID_TRANSITION" }
  | { readonly ok: false; readonly refusal: "ACTION_PENDING"; readonly pending: PendingEventAction };

const home = alias(competitors, "home");
const away = alias(competitors, "away");

function selectEvents(db: Queries) {
  return db
    .select({
      event: getTableColumns(events),
      gameId: games.gameId,
      home: getTableColumns(home),
      away: getTableColumns(away),
    })
    .from(events)
    .leftJoin(games, eq(games.eventId, events.eventId))
    .leftJoin(home, eq(home.competitorId, games.homeTeamId))
    .leftJoin(away, eq(away.competitorId, games.awayTeamId));
}

type EventRow = Awaited<ReturnType<typeof selectEvents>>[number];

const BY_START: Keyset<EventRow> = {
  columns: [events.startsTs, events.eventId],
  direction: "ascending",
  keyOf: ({ event }) => [event.startsTs, event.eventId],
};

function toRecord(row: EventRow): EventRecord {
  const { event, gameId, home: homeTeam, away: awayTeam } = row;
  if (gameId === null || homeTeam === null || awayTeam === null) return { ...event, game: null };
  return { ...event, game: { gameId, homeTeam, awayTeam } };
}

function matching(filter: EventFilter) {
  return and(
    filter.leagues && inArray(events.league, [...filter.leagues]),
    filter.types && inArray(events.type, [...filter.types]),
    filter.statuses && inArray(events.status, [...filter.statuses]),
    filter.visible === undefined ? undefined : eq(events.visible, filter.visible),
    within(events.startsTs, filter),
  );
}

/** Creates an event in `OPEN_PREGAME`, with its game and teams. Run it in a transaction. */
export async function createEvent(db: Queries, event: NewEvent): Promise<EventRecord> {
  const { game, nowTs, ...fields } = event;
  await db.insert(events).values({ ...fields, status: "OPEN_PREGAME", createdTs: nowTs, updatedTs: nowTs });
  if (game !== undefined) {
    const homeTeam = await upsertCompetitor(db, event.league, game.homeTeam);
    const awayTeam = await upsertCompetitor(db, event.league, game.awayTeam);
    await db.insert(games).values({
      gameId: randomUUID(),
      eventId: event.eventId,
      homeTeamId: homeTeam.competitorId,
      awayTeamId: awayTeam.competitorId,
    });
  }
  const created = await findEvent(db, event.eventId);
  if (created === undefined) throw new Error(`the event ${event.eventId} was not written`);
  return created;
}

/** Fields of an event that may be corrected; an absent field keeps its value. */
export interface EventChange {
  readonly visible?: boolean | undefined;
  readonly startsTs?: number | undefined;
  readonly description?: string | undefined;
}

/** Changes fields of an event. Returns it before and after; `undefined` if it does not exist. Run it in a transaction. */
export async function changeEvent(
  db: Queries,
  eventId: string,
  change: EventChange,
  nowTs: number,
): Promise<{ readonly before: EventChange; readonly after: EventRecord } | undefined> {
  const [before] = await db.select().from(events).where(eq(events.eventId, eventId)).for("update");
  if (before === undefined) return undefined;
  await db
    .update(events)
    .set({ ...change, updatedTs: nowTs })
    .where(eq(events.eventId, eventId));
  const after = await findEvent(db, eventId);
  if (after === undefined) throw new Error(`the change of ${eventId} was not written`);
  return { before, after };
}

export async function findEvent(db: Queries, eventId: string): Promise<EventRecord | undefined> {
  const [row] = await selectEvents(db).where(eq(events.eventId, eventId));
  return row && toRecord(row);
}

/** Returns those of the events that exist, in no order. */
export async function findEvents(db: Queries, eventIds: readonly string[]): Promise<EventRecord[]> {
  if (eventIds.length === 0) return [];
  return (await selectEvents(db).where(inArray(events.eventId, [...eventIds]))).map(toRecord);
}

/** Lists events by scheduled start, the earliest first. Throws `InvalidCursor`. */
export function listEvents(
  db: Database,
  filter: EventFilter,
  request: PageRequest,
): Promise<Page<EventRecord>> {
  return pageInSlices(db, request, async (queries, slice) => {
    const { items, next } = await page(selectEvents(queries).$dynamic(), BY_START, slice, matching(filter));
    return { items: items.map(toRecord), next };
  });
}

/** Lists events by scheduled start, the earliest first, with an offset instead of a cursor, for surface B. */
export async function listEventsByOffset(
  db: Queries,
  filter: EventFilter,
  page: { limit: number; offset: number },
): Promise<EventRecord[]> {
  const rows = await selectEvents(db)
    .where(matching(filter))
    .orderBy(...keyOrder(BY_START))
    .limit(page.limit)
    .offset(page.offset);
  return rows.map(toRecord);
}

/** Returns the markets of each event, oldest first. Every given event has an entry. */
export async function marketIdsOfEvents(
  db: Queries,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>(eventIds.map((eventId) => [eventId, []]));
  if (eventIds.length === 0) return found;
  const rows = await db
    .select({ eventId: markets.eventId, marketId: markets.marketId })
    .from(markets)
    .where(inArray(markets.eventId, [...eventIds]))
    .orderBy(asc(markets.createdTs), asc(markets.marketId));
  for (const row of rows) found.get(row.eventId)?.push(row.marketId);
  return found;
}

/**
 * Takes one step of the event's life cycle, and records the action that its markets must take. Run it in a transaction,
 * and call `finishEventAction` when the markets have taken the action.
 */
export async function stepEvent(db: Queries, step: EventStep): Promise<EventStepOutcome> {
  const [row] = await db.select().from(events).where(eq(events.eventId, step.eventId)).for("update");
  if (row === undefined) return { ok: false, refusal: "EVENT_NOT_FOUND" };
  const [unfinished] = await db
    .select()
    .from(eventActions)
    .where(and(eq(eventActions.eventId, step.eventId), isNull(eventActions.doneTs)));
  if (unfinished !== undefined) return { ok: false, refusal: "ACTION_PENDING", pending: unfinished };
  if (!step.from.includes(row.status)) return { ok: false, refusal: "INVALID_TRANSITION" };
  await db
    .update(events)
    .set({ status: step.to, updatedTs: step.nowTs })
    .where(eq(events.eventId, step.eventId));
  const [pending] = await db
    .insert(eventActions)
    .values({ eventId: step.eventId, action: step.action, createdTs: step.nowTs })
    .returning();
  const event = await findEvent(db, step.eventId);
  if (pending === undefined || event === undefined)
    throw new Error(`the step of ${step.eventId} was not written`);
  return { ok: true, event, pending };
}

/** Records that these markets have taken an action that others of the event have not. */
export async function recordFollowed(
  db: Queries,
  { actionId }: Pick<PendingEventAction, "actionId">,
  marketIds: readonly string[],
): Promise<void> {
  const { followed } = eventActions;
  await db
    .update(eventActions)
    .set({ followed: sql`${followed} || ${sql.param(marketIds, followed)}` })
    .where(eq(eventActions.actionId, actionId));
}

/** Records that the markets have taken the action, and deletes actions that were finished long ago. */
export async function finishEventAction(db: Queries, actionId: number, nowTs: number): Promise<void> {
  await db.delete(eventActions).where(lt(eventActions.doneTs, nowTs - KEEP_ACTIONS_MS));
  await db.update(eventActions).set({ doneTs: nowTs }).where(eq(eventActions.actionId, actionId));
}

/** Lists the unfinished actions recorded before `beforeTs`, oldest first. */
export async function unfinishedEventActions(db: Queries, beforeTs: number): Promise<PendingEventAction[]> {
  return db
    .select()
    .from(eventActions)
    .where(and(isNull(eventActions.doneTs), lt(eventActions.createdTs, beforeTs)))
    .orderBy(asc(eventActions.actionId));
}

/**
 * Changes FINAL events to SETTLED, all of them or only `eventId`, if their markets are all settled and have finished
 * every action. Returns the changed events.
 */
export async function settleFinalEvents(
  db: Queries,
  options: { eventId?: string | undefined; nowTs: number },
): Promise<string[]> {
  const unsettled = db
    .select({ one: sql`1` })
    .from(markets)
    .where(and(eq(markets.eventId, events.eventId), ne(markets.status, "SETTLED")));
  const unfinished = db
    .select({ one: sql`1` })
    .from(eventActions)
    .where(and(eq(eventActions.eventId, events.eventId), isNull(eventActions.doneTs)));
  const rows = await db
    .update(events)
    .set({ status: "SETTLED", updatedTs: options.nowTs })
    .where(
      and(
        eq(events.status, "FINAL"),
        options.eventId === undefined ? undefined : eq(events.eventId, options.eventId),
        notExists(unsettled),
        notExists(unfinished),
      ),
    )
    .returning({ eventId: events.eventId });
  return rows.map((row) => row.eventId);
}
