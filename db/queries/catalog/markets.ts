/** Markets, as projected from their deltas (contract sections 4.1, 5.14, 7.5 and 8.8). */

import { and, count, desc, eq, getTableColumns, inArray, isNotNull, ne, or, type SQL } from "drizzle-orm";
import {
  CURRENCIES,
  type Currency,
  type FeeSchedule,
  type Grade,
  type Voids,
  type MarketStatus,
} from "../../../actors/market/types.js";
import { millicents, type Millicents, type Ticks } from "../../../actors/units.js";
import type { Database, Queries } from "../../database.js";
import {
  keyOrder,
  page,
  pageInSlices,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type TimeBounds,
} from "../../page.js";
import { events, type EventStatus } from "../../schema/catalog.js";
import { lastPrices, marketTotals, markets, outcomes } from "../../schema/markets.js";

type EventRow = typeof events.$inferSelect;
type MarketRow = Omit<typeof markets.$inferSelect, "ticks">;

/** Columns of a market but its price grid, which nobody reads here: decoding 500 grids takes 15 ms. */
const COLUMNS = {
  marketId: markets.marketId,
  eventId: markets.eventId,
  marketType: markets.marketType,
  description: markets.description,
  strike: markets.strike,
  playerId: markets.playerId,
  voids: markets.voids,
  feeCoefficientPpm: markets.feeCoefficientPpm,
  feeMakerCreditPpm: markets.feeMakerCreditPpm,
  feeCharged: markets.feeCharged,
  liveDelayMs: markets.liveDelayMs,
  status: markets.status,
  live: markets.live,
  paused: markets.paused,
  grade: markets.grade,
  settlementId: markets.settlementId,
  remediating: markets.remediating,
  settledTs: markets.settledTs,
  createdTs: markets.createdTs,
  updatedTs: markets.updatedTs,
};

export interface OutcomeRecord {
  readonly outcomeId: string;
  /** Index in the market. */
  readonly outcome: number;
  readonly name: string;
  readonly competitorId: string | null;
  /** `TBD`, `WIN`, `LOSS`, `PUSH` or a price. */
  readonly status: string;
  /** Price of the last execution in each currency. */
  readonly last: Readonly<Record<Currency, Ticks | null>>;
}

export interface MarketRecord {
  readonly marketId: string;
  readonly eventId: string;
  readonly event: EventRow;
  readonly marketType: string;
  readonly description: string;
  readonly strike: string | null;
  readonly playerId: string | null;
  readonly voids: Voids;
  readonly fee: FeeSchedule;
  readonly liveDelayMs: number;
  readonly status: MarketStatus;
  readonly live: boolean;
  readonly paused: boolean;
  readonly grade: Grade | null;
  readonly settlementId: string | null;
  readonly remediating: boolean;
  readonly settledTs: number | null;
  readonly createdTs: number;
  readonly updatedTs: number;
  /** In the order of their indexes. */
  readonly outcomes: readonly OutcomeRecord[];
  /** Contracts minted times 1 cent, in each currency. */
  readonly volume: Readonly<Record<Currency, Millicents>>;
}

/** Conditions on markets; an absent field is no condition. The bounds apply to the event's scheduled start. */
export interface MarketFilter extends TimeBounds {
  readonly leagues?: readonly string[] | undefined;
  readonly marketTypes?: readonly string[] | undefined;
  readonly eventStatuses?: readonly EventStatus[] | undefined;
  readonly statuses?: readonly MarketRow["status"][] | undefined;
  readonly eventId?: string | undefined;
  /** Visibility of the event. */
  readonly visible?: boolean | undefined;
}

interface JoinedRow {
  readonly market: MarketRow;
  readonly event: EventRow;
}

const BY_START: Keyset<JoinedRow> = {
  columns: [events.startsTs, markets.marketId],
  direction: "ascending",
  keyOf: ({ market, event }) => [event.startsTs, market.marketId],
};
const BY_SETTLEMENT: Keyset<JoinedRow> = {
  columns: [markets.settledTs, markets.marketId],
  direction: "descending",
  keyOf: ({ market }) => [market.settledTs ?? 0, market.marketId],
};
/** One contract counts as one cent of volume. */
const MILLICENTS_PER_CONTRACT = 1_000;

function matching(filter: MarketFilter): SQL | undefined {
  return and(
    filter.leagues && inArray(events.league, [...filter.leagues]),
    filter.marketTypes && inArray(markets.marketType, [...filter.marketTypes]),
    filter.eventStatuses && inArray(events.status, [...filter.eventStatuses]),
    filter.statuses && inArray(markets.status, [...filter.statuses]),
    filter.eventId === undefined ? undefined : eq(markets.eventId, filter.eventId),
    filter.visible === undefined ? undefined : eq(events.visible, filter.visible),
    within(events.startsTs, filter),
  );
}

function selectMarkets(db: Queries) {
  return db
    .select({ market: COLUMNS, event: getTableColumns(events) })
    .from(markets)
    .innerJoin(events, eq(events.eventId, markets.eventId));
}

async function withDetails(db: Queries, rows: readonly JoinedRow[]): Promise<MarketRecord[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.market.marketId);
  const outcomeRows = await db
    .select()
    .from(outcomes)
    .where(inArray(outcomes.marketId, ids))
    .orderBy(outcomes.marketId, outcomes.outcome);
  const totals = await db.select().from(marketTotals).where(inArray(marketTotals.marketId, ids));
  const lasts = await db.select().from(lastPrices).where(inArray(lastPrices.marketId, ids));
  const lastOf = new Map(
    lasts.map((last) => [`${last.marketId} ${last.currency} ${last.outcome}`, last.price]),
  );
  const mintedOf = new Map(
    totals.map((total) => [`${total.marketId} ${total.currency}`, total.mintedContracts]),
  );
  const outcomesOf = new Map<string, OutcomeRecord[]>(ids.map((id) => [id, []]));
  for (const { marketId, ...outcome } of outcomeRows) {
    const last = byCurrency((currency) => lastOf.get(`${marketId} ${currency} ${outcome.outcome}`) ?? null);
    outcomesOf.get(marketId)?.push({ ...outcome, last });
  }
  return rows.map(({ market, event }) => {
    const { feeCoefficientPpm, feeMakerCreditPpm, feeCharged, ...fields } = market;
    return {
      ...fields,
      event,
      fee: { coefficientPpm: feeCoefficientPpm, makerCreditPpm: feeMakerCreditPpm, charged: feeCharged },
      outcomes: outcomesOf.get(market.marketId) ?? [],
      volume: byCurrency((currency) =>
        millicents((mintedOf.get(`${market.marketId} ${currency}`) ?? 0) * MILLICENTS_PER_CONTRACT),
      ),
    };
  });
}

function byCurrency<Value>(valueOf: (currency: Currency) => Value): Record<Currency, Value> {
  const [cash, coin] = CURRENCIES.map(valueOf);
  if (cash === undefined || coin === undefined) throw new Error("a currency without a value");
  return { CASH: cash, COIN: coin };
}

export async function findMarket(db: Queries, marketId: string): Promise<MarketRecord | undefined> {
  const rows = await selectMarkets(db).where(eq(markets.marketId, marketId));
  return (await withDetails(db, rows))[0];
}

/** Returns those of the markets that exist, in no order. */
export async function findMarkets(db: Queries, marketIds: readonly string[]): Promise<MarketRecord[]> {
  if (marketIds.length === 0) return [];
  return withDetails(db, await selectMarkets(db).where(inArray(markets.marketId, [...marketIds])));
}

/** Returns the market of an outcome, and the index of the outcome in it. */
export async function findOutcome(
  db: Queries,
  outcomeId: string,
): Promise<{ marketId: string; outcome: number } | undefined> {
  const [row] = await db
    .select({ marketId: outcomes.marketId, outcome: outcomes.outcome })
    .from(outcomes)
    .where(eq(outcomes.outcomeId, outcomeId));
  return row;
}

/** Lists markets by their event's scheduled start, the earliest first. Throws `InvalidCursor`. */
export function listMarkets(
  db: Database,
  filter: MarketFilter,
  request: PageRequest,
): Promise<Page<MarketRecord>> {
  return pageInSlices(db, request, async (queries, slice) => {
    const { items, next } = await page(selectMarkets(queries).$dynamic(), BY_START, slice, matching(filter));
    return { items: await withDetails(queries, items), next };
  });
}

/** Returns all matching markets without pages, such as the open markets of surface B or the markets of an event. */
export async function allMarkets(db: Queries, filter: MarketFilter): Promise<MarketRecord[]> {
  const rows = await selectMarkets(db)
    .where(matching(filter))
    .orderBy(...keyOrder(BY_START));
  return withDetails(db, rows);
}

/** Returns the market with the most outcomes of those that are not settled. */
export async function largestMarket(
  db: Queries,
): Promise<{ readonly marketId: string; readonly outcomes: number } | undefined> {
  const size = count(outcomes.outcomeId);
  const [largest] = await db
    .select({ marketId: markets.marketId, outcomes: size })
    .from(markets)
    .innerJoin(outcomes, eq(outcomes.marketId, markets.marketId))
    .where(ne(markets.status, "SETTLED"))
    .groupBy(markets.marketId)
    .orderBy(desc(size))
    .limit(1);
  return largest;
}

/** Lists the settled markets of visible events, the last settled first. Throws `InvalidCursor`. */
export async function settledMarkets(db: Queries, request: PageRequest): Promise<Page<MarketRecord>> {
  const settled = and(isNotNull(markets.settledTs), eq(events.visible, true));
  const { items, next } = await page(selectMarkets(db).$dynamic(), BY_SETTLEMENT, request, settled);
  return { items: await withDetails(db, items), next };
}

export interface UnsettledMarket {
  readonly marketId: string;
  readonly eventId: string;
  readonly settlementId: string;
  /** True if payouts are taken back, false if they are made. */
  readonly remediating: boolean;
}

/** Returns the markets whose payouts or remediation are unfinished. */
export async function unsettledMarkets(db: Queries): Promise<UnsettledMarket[]> {
  const { marketId, eventId, settlementId, remediating, status } = markets;
  const rows = await db
    .select({ marketId, eventId, settlementId, remediating })
    .from(markets)
    .where(and(isNotNull(settlementId), or(ne(status, "SETTLED"), eq(remediating, true))));
  return rows.flatMap((row) =>
    row.settlementId === null ? [] : [{ ...row, settlementId: row.settlementId }],
  );
}
