/** Maintenance of the exchange (contract section 8.14). */

import { isNull } from "drizzle-orm";
import { violatedConstraint, type Queries } from "../../database.js";
import { maintenanceWindows } from "../../schema/exchange.js";

export type MaintenanceWindow = typeof maintenanceWindows.$inferSelect;

/** Returns the current window, if there is one. */
export async function currentMaintenance(db: Queries): Promise<MaintenanceWindow | undefined> {
  const [row] = await db.select().from(maintenanceWindows).where(isNull(maintenanceWindows.endedTs));
  return row;
}

/** Begins a window. Returns `undefined` if there is a current one. */
export async function beginMaintenance(
  db: Queries,
  window: { windowId: string; message: string | null; begunBy: string; begunTs: number },
): Promise<MaintenanceWindow | undefined> {
  try {
    const [row] = await db.insert(maintenanceWindows).values(window).returning();
    return row;
  } catch (error) {
    if (violatedConstraint(error) === "maintenance_windows_current") return undefined;
    throw error;
  }
}

/** Ends the current window. Returns `undefined` if there is none. */
export async function endMaintenance(
  db: Queries,
  end: { endedBy: string; endedTs: number },
): Promise<MaintenanceWindow | undefined> {
  const [row] = await db
    .update(maintenanceWindows)
    .set(end)
    .where(isNull(maintenanceWindows.endedTs))
    .returning();
  return row;
}
