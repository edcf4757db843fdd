/**
 * Audit log: every write of an operator is recorded with its author, time, subject, and the state before and after
 * (contract section 8.16).
 */

import type { Database } from "../../db/database.js";
import { listAudit, recordAudit, type NewAuditRecord } from "../../db/queries/operator/audit.js";
import { IDS } from "../docs/examples.js";
import { operatorWith } from "../request/access.js";
import type { SessionCaller } from "../request/callers.js";
import { pageOf } from "../request/fields.js";
import type { Call } from "../request/route.js";
import { route } from "../request/route.js";
import { AuditQuery, AuditRecord } from "./schemas/operator.js";

/** Write of an operator. `before` and `after` hold the values that show the change. */
interface AuditedAction {
  readonly action: string;
  readonly subject: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Request by which an operator makes a write. */
export type ActionRequest = Pick<Call<SessionCaller, unknown, unknown>, "caller" | "incoming">;

/** Returns the audit record of a write by the caller of the request. */
export function auditedAction(call: ActionRequest, record: AuditedAction): NewAuditRecord {
  return {
    ts: call.incoming.receivedMs,
    operatorId: call.caller.accountId,
    requestId: call.incoming.requestId,
    action: record.action,
    subject: record.subject,
    before: record.before ?? null,
    after: record.after ?? null,
  };
}

/**
 * Records a write before its actor is asked for it, so that no change is without a record. A refusal by the actor gets a
 * second record.
 */
export async function recordIntent<Result extends { readonly ok: boolean }>(
  db: Database,
  call: ActionRequest,
  record: AuditedAction,
  act: () => Promise<Result>,
): Promise<Result> {
  await recordAudit(db, auditedAction(call, record));
  const result = await act();
  if (!result.ok)
    await recordAudit(
      db,
      auditedAction(call, { ...record, action: `${record.action} refused`, after: result }),
    );
  return result;
}

export function auditRoutes({ db }: { db: Database }) {
  const list = route("GET /admin/v1/audit-log", {
    access: operatorWith("read"),
    query: AuditQuery,
    answer: pageOf(AuditRecord),
    docs: {
      summary: "List audit records",
      description:
        "Returns every write of an operator, newest first: all of them, or those about one `subject`, by one `operator`, of one `action`, or between two times.",
      exampleQuery: { subject: IDS.marketId, action: "market.create" },
    },
    run: async ({ query }) => {
      const { subject, operator: operatorId, action, startsAfter, startsBefore, ...page } = query;
      const filter = { subject, operatorId, action, startsAfter, startsBefore };
      const { items, next } = await listAudit(db, filter, page);
      return { body: { items: [...items], next } };
    },
  });
  return [list];
}
