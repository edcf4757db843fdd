/** While the exchange is in maintenance nothing is placed, on any surface (contract section 8). */

import { Refused } from "../request/errors.js";
import type { Reference } from "./reference.js";

/** Refuses `SYSTEM_LOCKED` during maintenance. */
export async function refuseInMaintenance(reference: Pick<Reference, "maintenance">): Promise<void> {
  const current = await reference.maintenance();
  if (current === undefined) return;
  throw new Refused("SYSTEM_LOCKED", current.message ?? undefined);
}
