/**
 * Checks of the account that a caller acts for, the same on both surfaces and the stream (contract sections 5.9 and
 * 7.3).
 */

import { restrictionOf } from "../../db/queries/accounts/restrictions.js";
import type { KycStatus, TraderState } from "../../db/schema/accounts.js";
import { Refused } from "./errors.js";

/**
 * Refuses what the state of an account does not allow (contract section 8.3). The holder of an excluded account may read
 * and cancel, and nothing else; `whileExcluded` is true for these.
 */
export function refuseInactive(state: TraderState, whileExcluded: boolean): void {
  if (state === "LOCKED") throw new Refused("ACCOUNT_LOCKED");
  const restriction = restrictionOf(state);
  if (restriction !== undefined && !whileExcluded) throw new Refused(restriction);
}

/** Refuses `KYC_REQUIRED` unless the identity of the account's holder is verified. */
export function refuseUnverified(kyc: KycStatus | undefined): void {
  if (kyc !== "VERIFIED") throw new Refused("KYC_REQUIRED");
}
