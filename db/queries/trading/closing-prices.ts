/** Closing prices of the first outcome of many markets over the last hour (contract section 5.14). */

import { sql } from "drizzle-orm";
import { ticks, type Ticks } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { trades } from "../../schema/markets.js";

const INTERVAL_MS = 5 * 60_000;
/** Number of intervals in the hour. */
const HOUR_POINTS = 12;

/**
 * Returns the last price of the first outcome in CASH in each of the last twelve intervals of five minutes, oldest first,
 * and null for an interval without a trade. A market without a trade in that hour is absent. Each interval takes one look
 * into the primary key, however many trades there were: every match has an execution of the first outcome, so a match has
 * it among the newest rows of the interval.
 */
export async function closingPrices(
  db: Queries,
  marketIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly (Ticks | null)[]>> {
  const firstMs = nowMs - HOUR_POINTS * INTERVAL_MS;
  const wanted = sql`array[${sql.join(
    marketIds.map((marketId) => sql`${marketId}::uuid`),
    sql`, `,
  )}]`;
  // The bounds of the whole hour let Postgres leave out the partitions of other months when it plans.
  const { rows } = await db.execute<{ market_id: string; point: number; price: number }>(sql`
    select wanted.market_id, point, closing.price
    from unnest(${wanted}) as wanted (market_id)
    cross join generate_series(0, ${HOUR_POINTS - 1}::int) as point
    cross join lateral (
      select case when ${trades.outcome} = 0 then ${trades.price} else ${trades.takerPrice} end as price
      from ${trades}
      where ${trades.marketId} = wanted.market_id
        and ${trades.currency} = 'CASH'
        and (${trades.outcome} = 0 or ${trades.takerOutcome} = 0)
        and ${trades.ts} >= ${firstMs} and ${trades.ts} < ${nowMs}
        and ${trades.ts} >= ${firstMs} + point * ${INTERVAL_MS}::bigint
        and ${trades.ts} < ${firstMs} + (point + 1) * ${INTERVAL_MS}::bigint
      order by ${trades.ts} desc, ${trades.place} desc
      limit 1
    ) as closing`);
  const found = new Map<string, (Ticks | null)[]>();
  for (const { market_id: marketId, point, price } of rows) {
    const points = found.get(marketId) ?? Array.from({ length: HOUR_POINTS }, () => null);
    points[point] = ticks(price);
    found.set(marketId, points);
  }
  return found;
}
