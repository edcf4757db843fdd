/** Open orders of unsettled events, and the money of their open positions (contract section 8.22). */

import { and, count, eq, inArray, lte, ne, or, sql, sum, type SQL } from "drizzle-orm";
import type { Currency, MarketStatus } from "../../../actors/market/types.js";
import { millicents, type Millicents } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { events, UNDERWAY } from "../../schema/catalog.js";
import { markets, marketTotals } from "../../schema/markets.js";
import { orders } from "../../schema/wallets.js";

/** Open orders and escrow of some markets. */
export interface Exposure {
  readonly openOrders: number;
  /** Unfilled contracts of the open orders. */
  readonly openContracts: number;
  /** Money that the markets hold for open positions. */
  readonly escrow: Readonly<Record<Currency, Millicents>>;
}

export interface MarketExposure extends Exposure {
  readonly marketId: string;
}

/** Exposure of all markets of an event, and the number of its markets by status. */
export interface EventExposure extends Exposure {
  readonly eventId: string;
  readonly markets: Readonly<Record<MarketStatus, number>>;
  /** Open markets that are paused. */
  readonly paused: number;
}

/** Statuses in which an event may hold orders or positions: a canceled one waits for the prices of its FMV markets. */
const MAY_HOLD = [...UNDERWAY, "FINAL", "CANCELED"] as const;

/**
 * Returns the figures of a group of markets as SQL; `orders` and `market_totals` are summed before they are joined. Only rows of
 * the markets that meet a condition are read and summed: the totals of settled markets stay in the table for ever.
 */
function figuresOf(db: Queries, ofMarkets: SQL | undefined) {
  const marketIds = db
    .select({ marketId: markets.marketId })
    .from(markets)
    .innerJoin(events, eq(events.eventId, markets.eventId))
    .where(ofMarkets);
  const open = db
    .select({
      marketId: orders.marketId,
      orders: count().as("open_orders"),
      contracts: sum(orders.remaining).as("open_contracts"),
    })
    .from(orders)
    .where(
      and(
        inArray(orders.status, ["PENDING", "OPEN"]),
        lte(orders.endedTs, 0),
        inArray(orders.marketId, marketIds),
      ),
    )
    .groupBy(orders.marketId)
    .as("open");
  const escrowOf = (currency: Currency): SQL =>
    sql`sum(${marketTotals.escrow}) filter (where ${marketTotals.currency} = ${currency})`;
  const held = db
    .select({
      marketId: marketTotals.marketId,
      cash: escrowOf("CASH").as("cash"),
      coin: escrowOf("COIN").as("coin"),
    })
    .from(marketTotals)
    .where(inArray(marketTotals.marketId, marketIds))
    .groupBy(marketTotals.marketId)
    .as("held");
  const whole = (value: SQL): SQL<number> => sql`coalesce(sum(${value}), 0)`.mapWith(Number);
  return {
    open,
    held,
    columns: {
      openOrders: whole(sql`${open.orders}`),
      openContracts: whole(sql`${open.contracts}`),
      cash: whole(sql`${held.cash}`),
      coin: whole(sql`${held.coin}`),
    },
  };
}

interface Figures {
  readonly openOrders: number;
  readonly openContracts: number;
  readonly cash: number;
  readonly coin: number;
}

function exposureOf({ openOrders, openContracts, cash, coin }: Figures): Exposure {
  return { openOrders, openContracts, escrow: { CASH: millicents(cash), COIN: millicents(coin) } };
}

/** Returns the exposure of each market of an event. */
export async function exposureOfMarkets(db: Queries, eventId: string): Promise<MarketExposure[]> {
  const ofEvent = eq(markets.eventId, eventId);
  const { open, held, columns } = figuresOf(db, ofEvent);
  const rows = await db
    .select({ marketId: markets.marketId, ...columns })
    .from(markets)
    .leftJoin(open, eq(open.marketId, markets.marketId))
    .leftJoin(held, eq(held.marketId, markets.marketId))
    .where(ofEvent)
    .groupBy(markets.marketId);
  return rows.map((row) => ({ marketId: row.marketId, ...exposureOf(row) }));
}

/** Returns the exposure of each event that has markets and is not settled, and of canceled events that still hold some. */
export async function exposureOfEvents(db: Queries): Promise<EventExposure[]> {
  const unsettled = and(
    inArray(events.status, [...MAY_HOLD]),
    or(ne(events.status, "CANCELED"), ne(markets.status, "SETTLED")),
  );
  const { open, held, columns } = figuresOf(db, unsettled);
  const numberOf = (condition: SQL): SQL<number> => sql`count(*) filter (where ${condition})`.mapWith(Number);
  const inStatus = (status: MarketStatus): SQL<number> => numberOf(sql`${markets.status} = ${status}`);
  const rows = await db
    .select({
      eventId: markets.eventId,
      ...columns,
      open: inStatus("OPEN"),
      closed: inStatus("CLOSED"),
      settled: inStatus("SETTLED"),
      paused: numberOf(sql`${markets.status} = 'OPEN' and ${markets.paused}`),
    })
    .from(markets)
    .innerJoin(events, eq(events.eventId, markets.eventId))
    .leftJoin(open, eq(open.marketId, markets.marketId))
    .leftJoin(held, eq(held.marketId, markets.marketId))
    .where(unsettled)
    .groupBy(markets.eventId);
  return rows.map((row) => ({
    eventId: row.eventId,
    ...exposureOf(row),
    markets: { OPEN: row.open, CLOSED: row.closed, SETTLED: row.settled },
    paused: row.paused,
  }));
}
