/** Names that are data: sports, leagues, market types, teams, players (contract sections 5, 7 and 8). */

import { randomUUID } from "node:crypto";
import { asc, eq, inArray } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { competitors, leagues, marketTypes, players, sports } from "../../schema/catalog.js";

export type Competitor = typeof competitors.$inferSelect;
export type Player = typeof players.$inferSelect;
export type League = typeof leagues.$inferSelect;

export interface Team {
  readonly name: string;
  readonly shortName?: string | undefined;
  readonly symbol?: string | undefined;
  readonly mascot?: string | undefined;
}

export async function listSports(db: Queries): Promise<string[]> {
  const rows = await db.select().from(sports).orderBy(asc(sports.name));
  return rows.map((row) => row.name);
}

export async function listLeagues(db: Queries): Promise<League[]> {
  return db.select().from(leagues).orderBy(asc(leagues.name));
}

/** The market types there are; those flagged `qaOnly` only with `qa`. */
export async function listMarketTypes(db: Queries, options: { qa: boolean }): Promise<string[]> {
  const rows = await db
    .select()
    .from(marketTypes)
    .where(options.qa ? undefined : eq(marketTypes.qaOnly, false))
    .orderBy(asc(marketTypes.name));
  return rows.map((row) => row.name);
}

/** Adds a league, and its sport where that is new. False when the league was there already. */
export async function addLeague(db: Queries, league: { name: string; sport: string }): Promise<boolean> {
  await db.insert(sports).values({ name: league.sport }).onConflictDoNothing();
  const added = await db.insert(leagues).values(league).onConflictDoNothing().returning();
  return added.length > 0;
}

/** Adds a market type. False when it was there already. */
export async function addMarketType(db: Queries, type: { name: string; qaOnly: boolean }): Promise<boolean> {
  const added = await db.insert(marketTypes).values(type).onConflictDoNothing().returning();
  return added.length > 0;
}

/** The team of that name in the league, made or brought up to date. */
export async function upsertCompetitor(db: Queries, league: string, team: Team): Promise<Competitor> {
  const details = { shortName: team.shortName, symbol: team.symbol, mascot: team.mascot };
  const [row] = await db
    .insert(competitors)
    .values({ competitorId: randomUUID(), league, name: team.name, ...details })
    .onConflictDoUpdate({
      target: [competitors.league, competitors.name],
      set: { name: team.name, ...details },
    })
    .returning();
  if (row === undefined) throw new Error(`the competitor ${team.name} was not written`);
  return row;
}

export async function findCompetitors(db: Queries, ids: readonly string[]): Promise<Competitor[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(competitors)
    .where(inArray(competitors.competitorId, [...ids]));
}

export async function findPlayers(db: Queries, ids: readonly string[]): Promise<Player[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(players)
    .where(inArray(players.playerId, [...ids]));
}

const BY_ID: Keyset<Player> = {
  columns: [players.playerId],
  direction: "rising",
  keyOf: (player) => [player.playerId],
};

/** Players, in the order of their ids. Throws `InvalidCursor`. */
export async function listPlayers(db: Queries, request: PageRequest): Promise<Page<Player>> {
  return page(db.select().from(players).$dynamic(), BY_ID, request);
}

export async function addPlayer(db: Queries, player: Player): Promise<void> {
  await db.insert(players).values(player);
}
