/** The read model of markets, which the projector folds from their deltas. */

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
import {
  FEE_PERIODS,
  type Grade,
  LIFECYCLE_KINDS,
  MARKET_STATUSES,
  VOID_KINDS,
} from "../../actors/market/types.js";
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
    /** The grade in force, from grading to remediation. */
    grade: jsonb().$type<Grade>(),
    settlementId: uuid(),
    /** True while payouts are taken back; the status changes with the last one. */
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
    /** Index of the outcome in its market, which all other tables use. */
    outcome: smallint().notNull(),
    name: text().notNull(),
    competitorId: uuid(),
    /** `TBD`, `WIN`, `LOSS`, `PUSH` or a price such as `0.700`. */
    status: text().notNull(),
  },
  (table) => [uniqueIndex("outcomes_market_outcome").on(table.marketId, table.outcome)],
);

const SETTLEMENT_STATUSES = ["PENDING_APPROVAL", "APPROVED", "REPLACED"] as const;
export type SettlementStatus = (typeof SETTLEMENT_STATUSES)[number];

/** Requests of operators to grade a market, and their approvals. A market has at most one pending request. */
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

/** The fee schedules of a market, each with the time from which it applies. */
export const feeSchedules = pgTable(
  "fee_schedules",
  { marketId: uuid().notNull(), ts: moment().notNull(), place: count().notNull(), seq: count(), ...fee() },
  (table) => [primaryKey({ columns: [table.marketId, table.ts, table.place] })],
);

/** The lifecycle transitions of a market. Those before the first projector with this table are missing. */
export const marketTransitions = pgTable(
  "market_transitions",
  {
    marketId: uuid().notNull(),
    ts: moment().notNull(),
    place: count().notNull(),
    seq: count(),
    kind: text({ enum: LIFECYCLE_KINDS }).notNull(),
    /** Status of the market after the transition. */
    status: text({ enum: MARKET_STATUSES }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.ts, table.place] })],
);

/** Totals of a market in one currency. */
export const marketTotals = pgTable(
  "market_totals",
  {
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    /** Complete sets minted. The volume is this number of cents. */
    mintedContracts: count().notNull(),
    /** Payments of fills less payouts, from the market's own deltas. */
    escrow: money().notNull(),
    /** Payments of wallets to the market less payments to wallets, from the ledgers' entries. */
    booked: money().notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.currency] })],
);

/** Price of the last execution of an outcome in one currency. */
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
 * The public prints, one for each resting order in a match. `place` orders the rows of one actor. Lists are in the order of the
 * primary key. Partitioned by the month of `ts`.
 */
export const trades = pgTable(
  "trades",
  {
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    ts: moment().notNull(),
    place: count().notNull(),
    seq: count(),
    tradeId: uuid().notNull(),
    matchId: uuid().notNull(),
    outcome: smallint().notNull(),
    price: price().notNull(),
    qty: quantity().notNull(),
    /**
     * Execution of the taker, on the last print of its match, whose `qty` it shares. Null on the other prints, and on those
     * of the builds without these columns.
     */
    takerOutcome: smallint(),
    takerPrice: price(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.currency, table.ts, table.place] })],
);

/** Last snapshots of removed markets, which never change: all that it takes to restore a market. */
export const marketSnapshots = pgTable(
  "market_snapshots",
  {
    marketId: uuid().notNull(),
    hash: text().notNull(),
    /** The snapshot and its parts as JSON. */
    stored: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.marketId, table.hash] })],
);

/** Markets that were removed from the log at least once. */
export const removedMarkets = pgTable(
  "removed_markets",
  {
    marketId: uuid().primaryKey(),
    /** Snapshot from which the market is restored; null while it is in the log again. */
    hash: text(),
    /** Time of the removal, or of the restoration, Unix ms. */
    changedTs: moment().notNull(),
  },
  (table) => [
    index("removed_markets_restored")
      .on(table.changedTs)
      .where(sql`${table.hash} is null`),
  ],
);
