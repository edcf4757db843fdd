/** Reads the events, players and competitors that surface B shows with markets. */

import type { Queries } from "../../../db/database.js";
import { findCompetitors, findPlayers } from "../../../db/queries/catalog/competitors.js";
import { findEvents } from "../../../db/queries/catalog/events.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import type { DescribedMarket } from "../wire.js";

function distinctIds(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids.filter((id) => id !== null))];
}

/** Returns the markets with their related records, in the order of the input. A market without an event is left out. */
export async function describeMarkets(
  db: Queries,
  records: readonly MarketRecord[],
): Promise<DescribedMarket[]> {
  const events = await findEvents(db, [...new Set(records.map(({ eventId }) => eventId))]);
  const players = await findPlayers(db, distinctIds(records.map(({ playerId }) => playerId)));
  const teams = distinctIds([
    ...records.flatMap(({ outcomes }) => outcomes.map(({ competitorId }) => competitorId)),
    ...players.map(({ competitorId }) => competitorId),
  ]);
  const competitors = new Map((await findCompetitors(db, teams)).map((team) => [team.competitorId, team]));
  const eventsById = new Map(events.map((event) => [event.eventId, event]));
  const playersById = new Map(players.map((player) => [player.playerId, player]));
  return records.flatMap((record) => {
    const event = eventsById.get(record.eventId);
    if (event === undefined) return [];
    const player = record.playerId === null ? undefined : playersById.get(record.playerId);
    return [{ record, event, competitors, player }];
  });
}
