/** Settlement of a market, as several of the operators' pages read it. */

import { call } from "../data/api.js";
import { Refusal } from "../data/refusal.js";
import type { SettlementAnswer } from "./answers.js";

/** Reads the settlement of a market; `undefined` while the market has no grade. */
export async function settlementOf(
  marketId: string,
  signal: AbortSignal,
): Promise<SettlementAnswer | undefined> {
  try {
    return await call<SettlementAnswer>("GET", `/admin/v1/markets/${marketId}/settlement`, { signal });
  } catch (error) {
    if (error instanceof Refusal && error.code === "NOT_GRADED") return undefined;
    throw error;
  }
}
