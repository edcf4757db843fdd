/** The public prints of a market, and their candles (contract section 5.14). */

import { and, eq, or, sql } from "drizzle-orm";
import type { Currency } from "../../../actors/market/types.js";
import { ticks, type Ticks } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import {
  page,
  pageByMonth,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type TimeBounds,
} from "../../page.js";
import { trades } from "../../schema/markets.js";

export type TradeRecord = typeof trades.$inferSelect;

export interface Candle {
  /** Start of the interval, Unix ms. */
  readonly ts: number;
  readonly open: Ticks;
  readonly high: Ticks;
  readonly low: Ticks;
  readonly close: Ticks;
  /** Executed contracts of the outcome. */
  readonly volume: number;
}

const BY_TIME: Keyset<TradeRecord> = {
  columns: [trades.ts, trades.place],
  direction: "descending",
  keyOf: (trade) => [trade.ts, trade.place],
};

/** Lists prints, newest first. Throws `InvalidCursor`. */
export async function listTrades(
  db: Queries,
  filter: { marketId: string; currency: Currency } & TimeBounds,
  request: PageRequest,
): Promise<Page<TradeRecord>> {
  const wanted = (bounds: TimeBounds) =>
    and(
      eq(trades.marketId, filter.marketId),
      eq(trades.currency, filter.currency),
      within(trades.ts, bounds),
    );
  return pageByMonth(BY_TIME, request, filter, (bounds) =>
    page(db.select().from(trades).$dynamic(), BY_TIME, request, wanted(bounds)),
  );
}

/**
 * Lists candles of the executions of an outcome, as maker and as taker, from `fromTs` (inclusive) to `toTs` (exclusive),
 * oldest first, without empty intervals.
 */
export async function listCandles(
  db: Queries,
  of: {
    marketId: string;
    currency: Currency;
    outcome: number;
    intervalMs: number;
    fromTs: number;
    toTs: number;
  },
): Promise<Candle[]> {
  const start = sql<string>`${trades.ts} - ${trades.ts} % ${sql.raw(String(of.intervalMs))}`;
  // An outcome is either printed or the taker's in a match, never both.
  const price = sql`case when ${trades.outcome} = ${of.outcome} then ${trades.price} else ${trades.takerPrice} end`;
  const rows = await db
    .select({
      ts: start,
      open: sql<number>`(array_agg(${price} order by ${trades.ts}, ${trades.place}))[1]`,
      high: sql<number>`max(${price})`,
      low: sql<number>`min(${price})`,
      close: sql<number>`(array_agg(${price} order by ${trades.ts} desc, ${trades.place} desc))[1]`,
      volume: sql<string>`sum(${trades.qty})`,
    })
    .from(trades)
    .where(
      and(
        eq(trades.marketId, of.marketId),
        eq(trades.currency, of.currency),
        or(eq(trades.outcome, of.outcome), eq(trades.takerOutcome, of.outcome)),
        sql`${trades.ts} >= ${of.fromTs} and ${trades.ts} < ${of.toTs}`,
      ),
    )
    .groupBy(start)
    .orderBy(start);
  return rows.map((row) => ({
    ts: Number(row.ts),
    open: ticks(row.open),
    high: ticks(row.high),
    low: ticks(row.low),
    close: ticks(row.close),
    volume: Number(row.volume),
  }));
}
