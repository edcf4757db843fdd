/** Who changed what: every write of an operator (contract section 8). */

import { and, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { afterCursor, keyOrder, pageOf, type Keyset, type Page, type PageRequest } from "../../page.js";
import { auditLog } from "../../schema/accounts.js";

export type AuditRecord = typeof auditLog.$inferSelect;
export type NewAuditRecord = Omit<typeof auditLog.$inferInsert, "auditId">;

const BY_ID: Keyset = { columns: [auditLog.auditId], direction: "falling" };

/** Writes one record. Give it the transaction that makes the change, where there is one. */
export async function recordAudit(db: Queries, record: NewAuditRecord): Promise<void> {
  await db.insert(auditLog).values(record);
}

/** Newest first. Throws `InvalidCursor`. */
export async function listAudit(
  db: Queries,
  filter: { subject?: string | undefined },
  page: PageRequest,
): Promise<Page<AuditRecord>> {
  const rows = await db
    .select()
    .from(auditLog)
    .where(
      and(
        filter.subject === undefined ? undefined : eq(auditLog.subject, filter.subject),
        afterCursor(BY_ID, page),
      ),
    )
    .orderBy(...keyOrder(BY_ID))
    .limit(page.limit + 1);
  return pageOf(rows, page, (record) => [record.auditId]);
}
