/** Players, whom markets can be about (specification, Surface B resources). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { listLeagues } from "../../db/queries/catalog/classification.js";
import { addPlayer, listPlayers, upsertCompetitor } from "../../db/queries/catalog/competitors.js";
import { Refused } from "../request/errors.js";
import { sessionEndpoint } from "../request/route.js";
import { pageOf } from "../request/fields.js";
import { Player, PlayerBody, PlayersQuery } from "./schemas/operator.js";
import { auditedAction } from "./audit.js";

export function playerEndpoints({ db }: { readonly db: Database }) {
  const create = sessionEndpoint({
    status: 201,
    body: PlayerBody,
    answer: Player,
    run: async ({ body, ...call }) => {
      const { name, fullName = name, position = null, team } = body;
      const known = await listLeagues(db);
      if (team !== undefined && !known.some((league) => league.name === team.league))
        throw new Refused(
          "INVALID_BODY",
          "team.league: there is no such league; add it with POST /admin/v1/leagues",
        );
      const player = await db.transaction(async (tx) => {
        const competitor =
          team === undefined ? undefined : await upsertCompetitor(tx, team.league, { name: team.name });
        const added = {
          playerId: randomUUID(),
          name,
          fullName,
          position,
          competitorId: competitor?.competitorId ?? null,
        };
        await addPlayer(tx, added);
        await recordAudit(
          tx,
          auditedAction(call, { action: "player.create", subject: added.playerId, after: added }),
        );
        return added;
      });
      return { body: player };
    },
  });

  const list = sessionEndpoint({
    query: PlayersQuery,
    answer: pageOf(Player),
    run: async ({ query }) => {
      const { items, next } = await listPlayers(db, query);
      return { body: { items: [...items], next } };
    },
  });

  return { create, list };
}
