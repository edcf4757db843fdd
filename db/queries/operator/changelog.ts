/** Changes of the service, which operators announce (contract section 8.15). */

import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { changelog } from "../../schema/exchange.js";

export type Change = typeof changelog.$inferSelect;

const BY_EFFECT: Keyset<Change> = {
  columns: [changelog.effectiveTs, changelog.changeId],
  direction: "descending",
  keyOf: (change) => [change.effectiveTs, change.changeId],
};

export async function announceChange(db: Queries, change: Change): Promise<void> {
  await db.insert(changelog).values(change);
}

/** Lists changes, the last to take effect first. Throws `InvalidCursor`. */
export async function listChanges(db: Queries, request: PageRequest): Promise<Page<Change>> {
  return page(db.select().from(changelog).$dynamic(), BY_EFFECT, request);
}
