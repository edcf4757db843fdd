/** Teams and players (contract sections 7.5, 8.7 and 8.12). */

import { randomUUID } from "node:crypto";
import { inArray } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { competitors, players } from "../../schema/catalog.js";

export type Competitor = typeof competitors.$inferSelect;
export type Player = typeof players.$inferSelect;

export interface Team {
  readonly name: string;
  readonly shortName?: string | undefined;
  readonly symbol?: string | undefined;
  readonly mascot?: string | undefined;
}

/** Creates or updates the team of that name in the league. */
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
  direction: "ascending",
  keyOf: (player) => [player.playerId],
};

/** Lists players in the order of their ids. Throws `InvalidCursor`. */
export async function listPlayers(db: Queries, request: PageRequest): Promise<Page<Player>> {
  return page(db.select().from(players).$dynamic(), BY_ID, request);
}

export async function addPlayer(db: Queries, player: Player): Promise<void> {
  await db.insert(players).values(player);
}
