/** Announcements of changes, which `GET /v3/public/changelog` shows (contract section 8.15). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { announceChange } from "../../db/queries/operator/changelog.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { operatorWith } from "../request/access.js";
import { route } from "../request/route.js";
import { changeOnWire } from "../surface-a/changelog.js";
import { auditedAction } from "./audit.js";
import { Change, ChangeBody } from "./schemas/exchange.js";

export function announcementRoutes({ db }: { readonly db: Database }) {
  const announce = route("POST /admin/v1/changelog", {
    access: operatorWith("service"),
    status: 201,
    body: ChangeBody,
    answer: Change,
    docs: {
      summary: "Announce a change",
      description: "Publishes a change of the exchange in the changelog, which everybody may read.",
      exampleBody: {
        title: "New leagues",
        body: "NCAABSB and WBC are listed.",
        effectiveTs: 1_900_000_000_000,
      },
    },
    run: async ({ body, ...call }) => {
      const { caller, incoming } = call;
      const change = {
        ...body,
        changeId: randomUUID(),
        createdTs: incoming.receivedMs,
        createdBy: caller.accountId,
      };
      await db.transaction(async (tx) => {
        const record = { action: "changelog.announce", subject: change.changeId, after: body };
        await recordAudit(tx, auditedAction(call, record));
        await announceChange(tx, change);
      });
      return { body: changeOnWire(change) };
    },
  });

  return [announce];
}
