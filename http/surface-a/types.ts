/** Names that the filters of the catalog accept, for signed requests and for the public (contract section 5.14). */

import type { Database } from "../../db/database.js";
import { listLeagues, listMarketTypes, listSports } from "../../db/queries/catalog/classification.js";
import { EVENT_STATUSES } from "../../db/schema/catalog.js";
import { ANY_SCOPE, ANYBODY, signedOrSession, type Access } from "../request/access.js";
import { free, READ, type Metering } from "../request/metering.js";
import { route, type Route } from "../request/route.js";
import { Names } from "./schemas/catalog.js";

interface TypeParts {
  readonly db: Database;
  /** Lists market types flagged `qaOnly` as well. */
  readonly qa: boolean;
}

export function typeRoutes(parts: TypeParts): readonly Route[] {
  return [
    ...routesBelow("/v3", signedOrSession(ANY_SCOPE), READ, parts),
    ...routesBelow("/v3/public", ANYBODY, free, parts),
  ];
}

function routesBelow(
  base: string,
  access: Access,
  metering: Metering,
  { db, qa }: TypeParts,
): readonly Route[] {
  const names = (path: string, summary: string, read: () => Promise<string[]>): Route =>
    route(`GET ${base}/types/${path}`, {
      access,
      metering,
      answer: Names,
      docs: { summary },
      run: async () => ({ body: await read() }),
    });
  return [
    names("sports", "List sports", () => listSports(db)),
    names("leagues", "List leagues", async () => (await listLeagues(db)).map(({ name }) => name)),
    names("markets", "List market types", () => listMarketTypes(db, { qa })),
    names("event-statuses", "List event statuses", () => Promise.resolve([...EVENT_STATUSES])),
  ];
}
