/** Lifecycle transitions of a market, as projected from its deltas (contract section 5.14). */

import { desc, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { marketTransitions } from "../../schema/markets.js";

export type TransitionRecord = typeof marketTransitions.$inferSelect;

/** Returns the last transitions of a market, at most `limit`, newest first. */
export async function lastTransitions(
  db: Queries,
  marketId: string,
  limit: number,
): Promise<TransitionRecord[]> {
  const { ts, place } = marketTransitions;
  return db
    .select()
    .from(marketTransitions)
    .where(eq(marketTransitions.marketId, marketId))
    .orderBy(desc(ts), desc(place))
    .limit(limit);
}
