/** Changelog of the exchange: operators announce changes, and everybody may read them (contract section 8.15). */

import type { Database } from "../../db/database.js";
import { listChanges, type Change as ChangeRecord } from "../../db/queries/operator/changelog.js";
import { Change } from "../admin/schemas/exchange.js";
import { ANYBODY } from "../request/access.js";
import { pageOf, PageOnly } from "../request/fields.js";
import { route } from "../request/route.js";

/** Returns an announcement as both routes answer it. */
export function changeOnWire({ changeId, title, body, effectiveTs, createdTs }: ChangeRecord) {
  return { changeId, title, body, effectiveTs, createdTs };
}

export function changelogRoutes({ db }: { readonly db: Database }) {
  const list = route("GET /v3/public/changelog", {
    access: ANYBODY,
    query: PageOnly,
    answer: pageOf(Change),
    docs: {
      summary: "List announcements",
      description: "Returns the announced changes of the exchange, newest first.",
      exampleQuery: { limit: "20" },
    },
    run: async ({ query }) => {
      const { items, next } = await listChanges(db, query);
      return { body: { items: items.map(changeOnWire), next } };
    },
  });

  return [list];
}
