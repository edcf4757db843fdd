/** The last device check-in of each trader (contract section 8.2). */

import { eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { deviceLocations } from "../../schema/accounts.js";

export type DeviceLocation = typeof deviceLocations.$inferSelect;

/** Records a check-in in place of the trader's previous one. */
export async function recordLocation(db: Queries, location: DeviceLocation): Promise<void> {
  await db
    .insert(deviceLocations)
    .values(location)
    .onConflictDoUpdate({ target: deviceLocations.traderId, set: location });
}

export async function findLocation(db: Queries, traderId: string): Promise<DeviceLocation | undefined> {
  const [row] = await db.select().from(deviceLocations).where(eq(deviceLocations.traderId, traderId));
  return row;
}
