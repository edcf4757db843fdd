/** The audit log: every write of an operator (contract section 8.16). */

import { eq, sql } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { auditLog } from "../../schema/accounts.js";

export type AuditRecord = typeof auditLog.$inferSelect;
export type NewAuditRecord = Omit<typeof auditLog.$inferInsert, "auditId">;

const BY_ID: Keyset<AuditRecord> = {
  columns: [auditLog.auditId],
  direction: "descending",
  keyOf: (record) => [record.auditId],
};

/** Adds one record. Pass the transaction of the recorded change, if there is one. */
export async function recordAudit(db: Queries, record: NewAuditRecord): Promise<void> {
  await db.insert(auditLog).values(record);
}

/** Lists records, newest first. Throws `InvalidCursor`. */
export async function listAudit(
  db: Queries,
  filter: { subject?: string | undefined },
  request: PageRequest,
): Promise<Page<AuditRecord>> {
  const wanted = filter.subject === undefined ? undefined : eq(auditLog.subject, filter.subject);
  return page(db.select().from(auditLog).$dynamic(), BY_ID, request, wanted);
}

/** Returns whether the login of this connection may change or remove records; a trigger still refuses it. */
export async function mayChangeAudit(db: Queries): Promise<boolean> {
  const { rows } = await db.execute<{ may: boolean }>(
    sql`select has_table_privilege('audit_log', 'UPDATE, DELETE, TRUNCATE') as may`,
  );
  return rows[0]?.may === true;
}
