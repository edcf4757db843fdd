/** The filters `event`, `market` and `outcome` of lists (contract section 5). */

import type { MarketScope } from "../../db/queries/trading/market-scope.js";
import { Refused } from "../request/errors.js";
import type { Reference } from "../reference/reference.js";

interface Named {
  readonly event?: string | undefined;
  readonly market?: string | undefined;
  readonly outcome?: string | undefined;
}

/** What the parameters of a list mean. An outcome that does not exist is refused 400. */
export async function scopeOf(reference: Reference, { event, market, outcome }: Named): Promise<MarketScope> {
  const place = outcome === undefined ? undefined : await reference.outcome(outcome);
  if (outcome !== undefined && place === undefined) {
    throw new Refused("INVALID_QUERY", "outcome: there is no such outcome; take one of the market's");
  }
  return { eventId: event, marketId: market, outcome: place };
}
