/** Facts about accounts that several of their pages need. */

import type { z } from "zod";
import type { SessionAnswer } from "../../surface-a/schemas/account.js";

/** Account as the service shows it. */
export type AccountAnswer = z.infer<typeof SessionAnswer>;

/** Fewest characters of a password (contract section 8.1). */
export const MIN_PASSWORD = 8;

/** Time in ms for which orders rely on a check-in: 3 days (contract section 5.9). */
const CHECK_IN_MS = 3 * 86_400_000;

/** Returns the end of a check-in in Unix ms, or `undefined` when it no longer holds or there is none. */
export function checkInEnd(location: AccountAnswer["location"]): number | undefined {
  if (location === null || location.failed || location.region === null) return undefined;
  const endMs = location.ts + CHECK_IN_MS;
  return endMs > Date.now() ? endMs : undefined;
}
