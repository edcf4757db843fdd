/** Device check-ins of traders: the last one of each trader, and those of the last 90 days (contract section 8.2). */

import { and, eq, lt } from "drizzle-orm";
import type { Database, Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { checkIns, deviceLocations } from "../../schema/accounts.js";

export type DeviceLocation = typeof deviceLocations.$inferSelect;
export type CheckIn = typeof checkIns.$inferSelect;

const MINUTE_MS = 60_000;
/** Time in ms for which check-ins are listed: 90 days. */
const KEPT_MS = 90 * 86_400_000;

const BY_TIME: Keyset<CheckIn> = {
  columns: [checkIns.minute],
  direction: "descending",
  keyOf: (checkIn) => [checkIn.minute],
};

/** Records a check-in in place of the trader's previous one, and in the list of the trader's check-ins. */
export async function recordLocation(db: Database, location: DeviceLocation): Promise<void> {
  const { traderId, ts } = location;
  const checkIn = { ...location, minute: Math.floor(ts / MINUTE_MS) };
  await db.transaction(async (tx) => {
    await tx
      .insert(deviceLocations)
      .values(location)
      .onConflictDoUpdate({ target: deviceLocations.traderId, set: location });
    await tx
      .insert(checkIns)
      .values(checkIn)
      .onConflictDoUpdate({ target: [checkIns.traderId, checkIns.minute], set: checkIn });
    const first = Math.floor((ts - KEPT_MS) / MINUTE_MS);
    await tx.delete(checkIns).where(and(eq(checkIns.traderId, traderId), lt(checkIns.minute, first)));
  });
}

export async function findLocation(db: Queries, traderId: string): Promise<DeviceLocation | undefined> {
  const [row] = await db.select().from(deviceLocations).where(eq(deviceLocations.traderId, traderId));
  return row;
}

/** Lists the check-ins of a trader, newest first. Throws `InvalidCursor`. */
export async function listCheckIns(
  db: Queries,
  traderId: string,
  request: PageRequest,
): Promise<Page<CheckIn>> {
  return page(db.select().from(checkIns).$dynamic(), BY_TIME, request, eq(checkIns.traderId, traderId));
}
