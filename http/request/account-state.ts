/**
 * Checks of the account that a caller acts for, the same on both surfaces and the stream (contract sections 5.9 and
 * 7.3).
 */

import type { KycStatus, TraderState } from "../../db/schema/accounts.js";
import { Refused } from "./errors.js";

/** Refuses an account state that keeps its holder from trading; a self-excluded account may still cancel. */
export function refuseInactive(state: TraderState, canceling: boolean): void {
  if (state === "SELF_EXCLUDED" && !canceling) throw new Refused("SELF_EXCLUDED");
  if (state === "LOCKED" || state === "EXCLUDED") throw new Refused("ACCOUNT_LOCKED");
}

/** Refuses `KYC_REQUIRED` unless the identity of the account's holder is verified. */
export function refuseUnverified(kyc: KycStatus | undefined): void {
  if (kyc !== "VERIFIED") throw new Refused("KYC_REQUIRED");
}
