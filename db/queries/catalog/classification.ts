/** Sports, leagues and market types, which are data (contract sections 5, 7 and 8). */

import { asc, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { leagues, marketTypes, sports } from "../../schema/catalog.js";

export type League = typeof leagues.$inferSelect;

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
