/** The audit log: every write of an operator (contract section 8.16). */

import { and, eq, sql } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, within, type Keyset, type Page, type PageRequest, type TimeBounds } from "../../page.js";
import { auditLog } from "../../schema/accounts.js";

/** Author of records of which no operator is the author: what the owner of the machine does, and what the demo gives. */
export const MACHINE = "00000000-0000-0000-0000-000000000000";

export type AuditRecord = typeof auditLog.$inferSelect;
export type NewAuditRecord = Omit<typeof auditLog.$inferInsert, "auditId">;

/** Conditions on audit records; an absent field is no condition. */
export interface AuditFilter extends TimeBounds {
  readonly subject?: string | undefined;
  readonly operatorId?: string | undefined;
  readonly action?: string | undefined;
}

const BY_TIME: Keyset<AuditRecord> = {
  columns: [auditLog.ts, auditLog.auditId],
  direction: "descending",
  keyOf: (record) => [record.ts, record.auditId],
};

/** Adds one record. Pass the transaction of the recorded change, if there is one. */
export async function recordAudit(db: Queries, record: NewAuditRecord): Promise<void> {
  await db.insert(auditLog).values(record);
}

/** Lists records, newest first. Throws `InvalidCursor`. */
export async function listAudit(
  db: Queries,
  filter: AuditFilter,
  request: PageRequest,
): Promise<Page<AuditRecord>> {
  const { subject, operatorId, action } = filter;
  const wanted = and(
    subject === undefined ? undefined : eq(auditLog.subject, subject),
    operatorId === undefined ? undefined : eq(auditLog.operatorId, operatorId),
    action === undefined ? undefined : eq(auditLog.action, action),
    within(auditLog.ts, filter),
  );
  return page(db.select().from(auditLog).$dynamic(), BY_TIME, request, wanted);
}

/** Returns whether the login of this connection may change or remove records; a trigger still refuses it. */
export async function mayChangeAudit(db: Queries): Promise<boolean> {
  const { rows } = await db.execute<{ may: boolean }>(
    sql`select has_table_privilege('audit_log', 'UPDATE, DELETE, TRUNCATE') as may`,
  );
  return rows[0]?.may === true;
}
