/** The filters `event`, `market` and `outcome` that lists of orders, fills and positions share. */

import { and, eq, inArray, type SQL } from "drizzle-orm";
import { QueryBuilder, type PgColumn } from "drizzle-orm/pg-core";
import { CASING } from "../../database.js";
import { markets } from "../../schema/markets.js";

/** Absent fields do not narrow. */
export interface MarketScope {
  readonly eventId?: string | undefined;
  readonly marketId?: string | undefined;
  /** An outcome of a market, by its place. */
  readonly outcome?: { readonly marketId: string; readonly outcome: number } | undefined;
}

const queries = new QueryBuilder({ casing: CASING });

/** The rows of a table that are of the markets asked for. */
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
