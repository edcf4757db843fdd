/** The companion check: where the trader's device last said it was (specification, Location checks; contract section 5). */

import type { Locations } from "./admission.js";
import type { Reference } from "./reference.js";

/** A placement needs a check-in no older than this. */
const PLACING_MAX_AGE_MS = 3 * 24 * 60 * 60 * 1_000;

/**
 * Judges by the last device check-in. A trader who never checked in passes, and so does every
 * address and region: there are no rules about them to go by yet.
 */
export function deviceLocations(reference: Pick<Reference, "location">): Locations {
  return {
    async check({ traderId, purpose, nowMs }) {
      const location = await reference.location(traderId);
      if (location === undefined) return undefined;
      if (location.failed) return "GEOLOCATION_FAILED";
      if (location.region === null) return "INVALID_GEOLOCATION_REGION";
      const expired = purpose === "placing" && nowMs - location.ts > PLACING_MAX_AGE_MS;
      return expired ? "GEOLOCATION_EXPIRED" : undefined;
    },
  };
}
