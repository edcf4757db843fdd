/** Filters `event`, `market` and `outcome` of lists (contract sections 5.16 and 5.17). */

import type { MarketScope } from "../../db/queries/trading/market-scope.js";
import { Refused } from "../request/errors.js";
import type { Reference } from "../reference/reference.js";

interface Filters {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
}

/** Reads the filters of a list. Refuses `INVALID_QUERY` for an outcome that does not exist. */
export async function scopeOf(
  reference: Reference,
  { event, market, outcome }: Filters,
): Promise<MarketScope> {
  const outcomeRef = outcome === undefined ? undefined : await reference.outcome(outcome);
  if (outcome !== undefined && outcomeRef === undefined) {
    throw new Refused(
      "INVALID_QUERY",
      "outcome is not the outcomeId of any outcome; send one of the market's outcomes",
    );
  }
  return { eventId: event, marketId: market, outcome: outcomeRef };
}
