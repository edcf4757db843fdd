/**
 * Audit log: every write of an operator is recorded with its author, time, subject, and the state before and after
 * (contract section 8.16).
 */

import { isDeepStrictEqual } from "node:util";
import type { Database } from "../../db/database.js";
import { listAudit, recordAudit, type NewAuditRecord } from "../../db/queries/operator/audit.js";
import { IDS } from "../docs/examples.js";
import { operatorWith } from "../request/access.js";
import type { SessionCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import type { Call } from "../request/route.js";
import { route } from "../request/route.js";
import { AuditQuery, AuditRecord } from "./schemas/audit.js";

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

/** Refuses a write with which every field that it names keeps its value, so that nobody takes it for a change. */
export function requireChange(before: object, wanted: object): void {
  const held = new Map<string, unknown>(Object.entries(before));
  const named = Object.entries(wanted).filter(([, value]) => value !== undefined);
  if (named.some(([name, value]) => !isDeepStrictEqual(held.get(name), value))) return;
  const names = named.map(([name]) => name).join(" and ");
  throw new Refused("NO_CHANGE", `${names}: the value sent is the present one; send another one`);
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
