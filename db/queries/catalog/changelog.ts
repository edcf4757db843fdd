/** What changes for users of the exchange, as operators announce it (contract section 8). */

import type { Queries } from "../../database.js";
import { afterCursor, keyOrder, pageOf, type Keyset, type Page, type PageRequest } from "../../page.js";
import { changelog } from "../../schema/exchange.js";

export type Change = typeof changelog.$inferSelect;

const BY_EFFECT: Keyset = { columns: [changelog.effectiveTs, changelog.changeId], direction: "falling" };

export async function announceChange(db: Queries, change: Change): Promise<void> {
  await db.insert(changelog).values(change);
}

/** The one that takes effect last comes first. Throws `InvalidCursor`. */
export async function listChanges(db: Queries, page: PageRequest): Promise<Page<Change>> {
  const rows = await db
    .select()
    .from(changelog)
    .where(afterCursor(BY_EFFECT, page))
    .orderBy(...keyOrder(BY_EFFECT))
    .limit(page.limit + 1);
  return pageOf(rows, page, (change) => [change.effectiveTs, change.changeId]);
}
