/** The read model of markets, folded from their deltas by the projector. */

import { sql } from "drizzle-orm";
import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { FEE_PERIODS, type Grade, MARKET_STATUSES, VOID_KINDS } from "../../actors/market/types.js";
import { count, currency, moment, money, price, quantity } from "./columns.js";

const fee = () => ({
  feeCoefficientPpm: integer().notNull(),
  feeMakerCreditPpm: integer().notNull(),
  feeCharged: text({ enum: FEE_PERIODS }).notNull(),
});

export const markets = pgTable(
  "markets",
  {
    marketId: uuid().primaryKey(),
    eventId: uuid().notNull(),
    marketType: text().notNull(),
    description: text().notNull(),
    strike: text(),
    playerId: uuid(),
    voids: text({ enum: VOID_KINDS }).notNull(),
    ...fee(),
    liveDelayMs: integer().notNull(),
    ticks: smallint().array().notNull(),
    status: text({ enum: MARKET_STATUSES }).notNull(),
    live: boolean().notNull(),
    paused: boolean().notNull(),
    /** The grade in force, from grading until remediation. */
    grade: jsonb().$type<Grade>(),
    settlementId: uuid(),
    /** Payouts are being taken back; the status changes when the last one is. */
    remediating: boolean().notNull(),
    settledTs: moment(),
    createdTs: moment().notNull(),
    updatedTs: moment().notNull(),
  },
  (table) => [
    index("markets_event").on(table.eventId),
    index("markets_created").on(table.createdTs, table.marketId),
    index("markets_open")
      .on(table.marketId)
      .where(sql`status = 'OPEN'`),
    index("markets_settled")
      .on(table.settledTs, table.marketId)
      .where(sql`settled_ts is not null`),
    index("markets_unsettled")
      .on(table.marketId)
      .where(sql`settlement_id is not null and (status <> 'SETTLED' or remediating)`),
  ],
);

export const outcomes = pgTable(
  "outcomes",
  {
    outcomeId: uuid().primaryKey(),
    marketId: uuid()
      .notNull()
      .references(() => markets.marketId),
    /** Its place in the market; everything inside refers to outcomes by it. */
    outcome: smallint().notNull(),
    name: text().notNull(),
    competitorId: uuid(),
    /** `TBD`, `WIN`, `LOSS`, `PUSH` or a price such as `0.700`. */
    status: text().notNull(),
  },
  (table) => [uniqueIndex("outcomes_market_outcome").on(table.marketId, table.outcome)],
);

export const SETTLEMENT_STATUSES = ["PENDING_APPROVAL", "APPROVED", "REPLACED"] as const;
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number];

/** What operators asked a market to be graded to, and who agreed. At most one request a market waits. */
export const settlements = pgTable(
  "settlements",
  {
    settlementId: uuid().primaryKey(),
    marketId: uuid().notNull(),
    grade: jsonb().$type<Grade>().notNull(),
    status: text({ enum: SETTLEMENT_STATUSES }).notNull(),
    requestedBy: uuid().notNull(),
    requestedTs: moment().notNull(),
    approvedBy: uuid(),
    approvedTs: moment(),
  },
  (table) => [
    uniqueIndex("settlements_pending")
      .on(table.marketId)
      .where(sql`status = 'PENDING_APPROVAL'`),
    index("settlements_market").on(table.marketId, table.requestedTs),
  ],
);

/** The fee schedules a market has had, with the time each came into force. */
export const feeSchedules = pgTable(
  "fee_schedules",
  { marketId: uuid().notNull(), ts: moment().notNull(), place: count().notNull(), ...fee() },
  (table) => [primaryKey({ columns: [table.marketId, table.ts, table.place] })],
);

/** What a market's book of one currency has come to. */
export const marketTotals = pgTable(
  "market_totals",
  {
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    /** Complete sets minted; the volume is this many cents. */
    mintedContracts: count().notNull(),
    /** By the market's own deltas: taken by fills less what was paid out. */
    escrow: money().notNull(),
    /** By the ledgers' entries against the market: what wallets paid it less what they received. */
    booked: money().notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.currency] })],
);

/** The price of an outcome's last execution in one currency. */
export const lastPrices = pgTable(
  "last_prices",
  {
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    outcome: smallint().notNull(),
    price: price().notNull(),
    ts: moment().notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.currency, table.outcome] })],
);

/**
 * The public prints, one per resting order executed. `place` orders the rows of one actor: its entry's seq and
 * the delta's position in the entry. The primary key is the order in which they are listed.
 */
export const trades = pgTable(
  "trades",
  {
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    ts: moment().notNull(),
    place: count().notNull(),
    tradeId: uuid().notNull(),
    matchId: uuid().notNull(),
    outcome: smallint().notNull(),
    price: price().notNull(),
    qty: quantity().notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.currency, table.ts, table.place] })],
);
