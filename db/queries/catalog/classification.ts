/** Sports, leagues and market types, to which operators add (contract sections 5.14, 7.11 and 8.12). */

import { asc, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { leagues, marketTypes, sports } from "../../schema/catalog.js";

export type League = typeof leagues.$inferSelect;
type MarketType = typeof marketTypes.$inferSelect;

export async function listSports(db: Queries): Promise<string[]> {
  const rows = await db.select().from(sports).orderBy(asc(sports.name));
  return rows.map((row) => row.name);
}

export async function listLeagues(db: Queries): Promise<League[]> {
  return db.select().from(leagues).orderBy(asc(leagues.name));
}

/** Lists the market types; those flagged `qaOnly` only with `qa`. */
export async function listMarketTypes(db: Queries, options: { qa: boolean }): Promise<string[]> {
  const rows = await db
    .select()
    .from(marketTypes)
    .where(options.qa ? undefined : eq(marketTypes.qaOnly, false))
    .orderBy(asc(marketTypes.name));
  return rows.map((row) => row.name);
}

/** Returns every market type by name. */
export async function allMarketTypes(db: Queries): Promise<MarketType[]> {
  return db.select().from(marketTypes).orderBy(asc(marketTypes.name));
}

export async function findLeague(db: Queries, name: string): Promise<League | undefined> {
  const [row] = await db.select().from(leagues).where(eq(leagues.name, name));
  return row;
}

/** Adds a league, and its sport if that is new. Returns false if the league exists. */
export async function addLeague(db: Queries, league: { name: string; sport: string }): Promise<boolean> {
  await db.insert(sports).values({ name: league.sport }).onConflictDoNothing();
  const added = await db.insert(leagues).values(league).onConflictDoNothing().returning();
  return added.length > 0;
}

/** Lets a market type exist in every environment. Returns the type as it was; `undefined` if there is none. */
export async function promoteMarketType(db: Queries, name: string): Promise<MarketType | undefined> {
  const [before] = await db.select().from(marketTypes).where(eq(marketTypes.name, name)).for("update");
  if (before?.qaOnly === true)
    await db.update(marketTypes).set({ qaOnly: false }).where(eq(marketTypes.name, name));
  return before;
}

/** Adds a market type. Returns false if it exists. */
export async function addMarketType(db: Queries, type: MarketType): Promise<boolean> {
  const added = await db.insert(marketTypes).values(type).onConflictDoNothing().returning();
  return added.length > 0;
}
