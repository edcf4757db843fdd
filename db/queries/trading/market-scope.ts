/** The filters by event, market and outcome, which lists of orders, fills and positions share. */

import { and, eq, inArray, type SQL } from "drizzle-orm";
import { QueryBuilder, type PgColumn } from "drizzle-orm/pg-core";
import { CASING } from "../../database.js";
import { markets } from "../../schema/markets.js";

/** Conditions on the market; an absent field is no condition. */
export interface MarketScope {
  readonly eventId?: string | undefined;
  readonly marketId?: string | undefined;
  /** An outcome by its index in its market. */
  readonly outcome?: { readonly marketId: string; readonly outcome: number } | undefined;
}

const queries = new QueryBuilder({ casing: CASING });

/** Returns the condition that a row is of the given markets and outcome. */
export function inMarkets(
  table: { marketId: PgColumn; outcome: PgColumn },
  scope: MarketScope,
): SQL | undefined {
  return and(
    scope.eventId === undefined
      ? undefined
      : inArray(
          table.marketId,
          queries
            .select({ marketId: markets.marketId })
            .from(markets)
            .where(eq(markets.eventId, scope.eventId)),
        ),
    scope.marketId === undefined ? undefined : eq(table.marketId, scope.marketId),
    scope.outcome &&
      and(eq(table.marketId, scope.outcome.marketId), eq(table.outcome, scope.outcome.outcome)),
  );
}
