/** Players that markets can be about (specification, Surface B resources). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { listLeagues } from "../../db/queries/catalog/classification.js";
import { addPlayer, listPlayers, upsertCompetitor } from "../../db/queries/catalog/competitors.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import { auditedAction } from "./audit.js";
import { Player, PlayerBody, PlayersQuery } from "./schemas/reference.js";

export function playerRoutes({ db }: { readonly db: Database }) {
  const create = route("POST /admin/v1/players", {
    access: operatorWith("markets"),
    status: 201,
    body: PlayerBody,
    answer: Player,
    docs: {
      summary: "Create a player",
      exampleBody: {
        name: "A. Bee",
        fullName: "Ada Bee",
        position: "QB",
        team: { league: "NFL", name: "Bees" },
      },
    },
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

  const list = route("GET /admin/v1/players", {
    access: operatorWith("read"),
    query: PlayersQuery,
    answer: pageOf(Player),
    docs: {
      summary: "List players",
    },
    run: async ({ query }) => {
      const { items, next } = await listPlayers(db, query);
      return { body: { items: [...items], next } };
    },
  });

  return [list, create];
}
