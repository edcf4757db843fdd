import { randomUUID } from "node:crypto";
import type { Database } from "../../../db/database.js";
import { createEvent } from "../../../db/queries/catalog/events.js";

/** Creates a game of two teams, and returns its event. */
export async function newEvent(
  db: Database,
  startsTs: number,
  fields: { league?: string; visible?: boolean } = {},
): Promise<string> {
  const eventId = randomUUID();
  await createEvent(db, {
    eventId,
    type: "Game",
    sport: "FOOTBALL",
    league: fields.league ?? "NFL",
    description: "A at B",
    startsTs,
    visible: fields.visible ?? true,
    game: { homeTeam: { name: "A", symbol: "AAA" }, awayTeam: { name: "B" } },
    nowTs: 1_700_000_000_000,
  });
  return eventId;
}
