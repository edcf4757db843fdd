/** States of traders in words. */

import type { z } from "zod";
import type { AdminTrader } from "../../../admin/schemas/traders.js";
import { showMoment } from "../../data/time.js";

type Trader = z.infer<typeof AdminTrader>;

export function kycWord(kyc: Trader["kyc"]): string {
  switch (kyc) {
    case "NONE":
      return "not verified";
    case "PENDING":
      return "in review";
    case "VERIFIED":
      return "verified";
    case "REJECTED":
      return "rejected";
    default:
      return kyc satisfies never;
  }
}

export function stateWord({ role, state, selfExcludedUntilTs }: Trader): string {
  if (role === "operator") return state === "ACTIVE" ? "operator" : "operator, locked";
  switch (state) {
    case "ACTIVE":
      return "active";
    case "LOCKED":
      return "locked";
    case "EXCLUDED":
      return "excluded";
    case "SELF_EXCLUDED":
      return selfExcludedUntilTs === null
        ? "self-excluded"
        : `self-excluded until ${showMoment(selfExcludedUntilTs)}`;
    default:
      return state satisfies never;
  }
}
