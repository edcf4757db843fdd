/** What changes for users of the exchange: announced by operators, read by anybody (contract section 8). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import {
  announceChange,
  listChanges,
  type Change as ChangeRecord,
} from "../../db/queries/operator/changelog.js";
import { openEndpoint, sessionEndpoint } from "../request/route.js";
import { pageOf, PageOnly } from "../request/fields.js";
import { Change, ChangeBody } from "../admin/schemas/exchange.js";
import { auditedAction } from "../admin/audit.js";

function changeOnWire({ changeId, title, body, effectiveTs, createdTs }: ChangeRecord) {
  return { changeId, title, body, effectiveTs, createdTs };
}

export function changelogEndpoints({ db }: { readonly db: Database }) {
  const list = openEndpoint({
    query: PageOnly,
    answer: pageOf(Change),
    run: async ({ query }) => {
      const { items, next } = await listChanges(db, query);
      return { body: { items: items.map(changeOnWire), next } };
    },
  });

  const announce = sessionEndpoint({
    status: 201,
    body: ChangeBody,
    answer: Change,
    run: async ({ body, ...call }) => {
      const { caller, incoming } = call;
      const change = {
        ...body,
        changeId: randomUUID(),
        createdTs: incoming.receivedMs,
        createdBy: caller.accountId,
      };
      await db.transaction(async (tx) => {
        const deed = { action: "changelog.announce", subject: change.changeId, after: body };
        await recordAudit(tx, auditedAction(call, deed));
        await announceChange(tx, change);
      });
      return { body: changeOnWire(change) };
    },
  });

  return { list, announce };
}
