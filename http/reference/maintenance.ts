/** Check for maintenance, during which no surface places orders (contract section 8.14). */

import { Refused } from "../request/errors.js";
import type { Reference } from "./reference.js";

/** Refuses `SYSTEM_LOCKED` during maintenance, with the message of the operator if there is one. */
export async function refuseInMaintenance(reference: Pick<Reference, "maintenance">): Promise<void> {
  const current = await reference.maintenance();
  if (current === undefined) return;
  throw new Refused("SYSTEM_LOCKED", current.message ?? undefined);
}
