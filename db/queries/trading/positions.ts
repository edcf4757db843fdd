/** Positions of wallets (contract sections 5.17 and 7.8). */

import { and, asc, eq, gt, inArray } from "drizzle-orm";
import type { Currency } from "../../../actors/market/types.js";
import { NONE } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { markets, outcomes } from "../../schema/markets.js";
import { positions } from "../../schema/wallets.js";
import { inMarkets, type MarketScope } from "./market-scope.js";

export type PositionRecord = typeof positions.$inferSelect & { readonly outcomeId: string };

/** Conditions on positions; an absent field is no condition. */
export interface PositionFilter extends MarketScope {
  readonly wallet: string;
  readonly currency?: Currency | undefined;
  readonly outcomeIds?: readonly string[] | undefined;
  /** True for positions in OPEN markets only. */
  readonly openMarkets?: boolean | undefined;
}

/** Lists the open positions of a wallet, by market, currency and outcome. */
export async function listPositions(
  db: Queries,
  filter: PositionFilter,
  page: { limit: number; offset: number },
): Promise<PositionRecord[]> {
  const rows = await db
    .select({ position: positions, outcomeId: outcomes.outcomeId })
    .from(positions)
    .innerJoin(
      outcomes,
      and(eq(outcomes.marketId, positions.marketId), eq(outcomes.outcome, positions.outcome)),
    )
    .innerJoin(markets, eq(markets.marketId, positions.marketId))
    .where(
      and(
        eq(positions.wallet, filter.wallet),
        gt(positions.qty, NONE),
        filter.currency === undefined ? undefined : eq(positions.currency, filter.currency),
        filter.outcomeIds && inArray(outcomes.outcomeId, [...filter.outcomeIds]),
        filter.openMarkets === true ? eq(markets.status, "OPEN") : undefined,
        inMarkets(positions, filter),
      ),
    )
    .orderBy(asc(positions.marketId), asc(positions.currency), asc(positions.outcome))
    .limit(page.limit)
    .offset(page.offset);
  return rows.map(({ position, outcomeId }) => ({ ...position, outcomeId }));
}
