/** Every write of an operator leaves a record: who, when, what, before, after (contract section 8). */

import type { Database } from "../../db/database.js";
import { listAudit, recordAudit, type NewAuditRecord } from "../../db/queries/operator/audit.js";
import { IDS } from "../docs/examples.js";
import { OPERATOR } from "../request/access.js";
import type { SessionCaller } from "../request/callers.js";
import { pageOf } from "../request/fields.js";
import type { Call } from "../request/route.js";
import { route } from "../request/route.js";
import { AuditQuery, AuditRecord } from "./schemas/operator.js";

/** What an operator does to what. `before` and `after` are whatever shows the change. */
export interface AuditedAction {
  readonly action: string;
  readonly subject: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** The request that a deed is asked for with. */
export type ActionRequest = Pick<Call<SessionCaller, unknown, unknown>, "caller" | "incoming">;

/** The record of a deed of the caller of this request. */
export function auditedAction(call: ActionRequest, deed: AuditedAction): NewAuditRecord {
  return {
    ts: call.incoming.receivedMs,
    operatorId: call.caller.accountId,
    requestId: call.incoming.requestId,
    action: deed.action,
    subject: deed.subject,
    before: deed.before ?? null,
    after: deed.after ?? null,
  };
}

/**
 * Writes the record of a deed that an actor will do, before it is asked: nothing happens unrecorded, and a refusal is
 * told by a second record.
 */
export async function recordIntent<Result extends { readonly ok: boolean }>(
  db: Database,
  call: ActionRequest,
  deed: AuditedAction,
  act: () => Promise<Result>,
): Promise<Result> {
  await recordAudit(db, auditedAction(call, deed));
  const result = await act();
  if (!result.ok)
    await recordAudit(db, auditedAction(call, { ...deed, action: `${deed.action} refused`, after: result }));
  return result;
}

export function auditRoutes({ db }: { db: Database }) {
  const list = route("GET /admin/v1/audit-log", {
    access: OPERATOR,
    query: AuditQuery,
    answer: pageOf(AuditRecord),
    docs: {
      summary: "Every write of an operator, newest first",
      exampleQuery: { subject: IDS.marketId },
    },
    run: async ({ query }) => {
      const { subject, ...page } = query;
      const { items, next } = await listAudit(db, { subject }, page);
      return { body: { items: [...items], next } };
    },
  });
  return [list];
}
