/** The read model of wallets, which the projector folds from the ledgers' deltas, and the projector's cursors. */

import { sql } from "drizzle-orm";
import {
  bigserial,
  boolean,
  index,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import {
  RESTRICTIONS,
  TRANSFER_DIRECTIONS,
  TRANSFER_STATUSES,
  type TransactionKind,
  ORDER_STATUSES,
} from "../../actors/ledger/types.js";
import { TIMES_IN_FORCE, type TimeInForce } from "../../actors/market/time-in-force.js";
import type { CancelReason, RejectReason } from "../../actors/market/types.js";
import { count, currency, moment, money, price, quantity } from "./columns.js";

export const wallets = pgTable("wallets", {
  wallet: uuid().primaryKey(),
  traderId: uuid().notNull(),
  shard: smallint().notNull(),
});

/** Restrictions of traders, as their ledgers have them. `restriction` is null for a trader who may place orders again. */
export const traderRestrictions = pgTable(
  "trader_restrictions",
  {
    traderId: uuid().primaryKey(),
    shard: smallint().notNull(),
    restriction: text({ enum: RESTRICTIONS }),
  },
  (table) => [
    index("trader_restrictions_active")
      .on(table.traderId)
      .where(sql`restriction is not null`),
  ],
);

/**
 * Every order that a ledger has accepted, with its current or final status. Partitioned by `endedTs`: the open orders are
 * in one small partition, and an order moves to the partition of its month when it ends. `orderId` is the primary key of
 * each partition; the table itself has none, because its key would have to include `endedTs`.
 */
export const orders = pgTable(
  "orders",
  {
    orderId: uuid().notNull(),
    wallet: uuid().notNull(),
    traderId: uuid().notNull(),
    marketId: uuid().notNull(),
    outcome: smallint().notNull(),
    currency: currency().notNull(),
    price: price().notNull(),
    /** Quantity at acceptance. Less `filled` and `remaining`, it is the quantity that amendments removed. */
    qty: quantity().notNull(),
    filled: quantity().notNull(),
    /** Unfilled quantity, also of an order that is terminal. */
    remaining: quantity().notNull(),
    tif: text({ enum: [...TIMES_IN_FORCE] as [TimeInForce] }).notNull(),
    status: text({ enum: ORDER_STATUSES }).notNull(),
    reason: text().$type<CancelReason | RejectReason>(),
    clientId: text(),
    /** Digest of the request, for repeats of the `clientId`; null for an order that was accepted in format 1. */
    digest: text(),
    groupId: text(),
    /** The order that this one replaces, whose `clientId` it has. */
    replaces: uuid(),
    expiresTs: moment(),
    /** Time of acceptance by the ledger. */
    ts: moment().notNull(),
    place: count().notNull(),
    seq: count(),
    updatedTs: moment().notNull(),
    /** Time at which the order ended; 0 while it is open, and -1 in a row that is older than the column. */
    endedTs: moment().notNull().default(0),
  },
  (table) => [
    index("orders_wallet").on(table.wallet, table.ts, table.place),
    index("orders_market").on(table.wallet, table.marketId, table.ts, table.place),
    index("orders_open")
      .on(table.wallet, table.ts, table.place)
      .where(sql`status in ('PENDING', 'OPEN')`),
    index("orders_client")
      .on(table.wallet, table.clientId)
      .where(sql`client_id is not null`),
  ],
);

/**
 * One side of an execution. `place` orders the rows of one ledger, and `seq` is the entry from which a row comes. Lists are
 * in the order of the primary key. Partitioned by the month of `ts`.
 */
export const fills = pgTable(
  "fills",
  {
    wallet: uuid().notNull(),
    ts: moment().notNull(),
    place: count().notNull(),
    seq: count(),
    fillId: uuid().notNull(),
    matchId: uuid().notNull(),
    orderId: uuid().notNull(),
    clientId: text(),
    marketId: uuid().notNull(),
    outcome: smallint().notNull(),
    currency: currency().notNull(),
    price: price().notNull(),
    qty: quantity().notNull(),
    cost: money().notNull(),
    payout: money().notNull(),
    fee: money().notNull(),
    credit: money().notNull(),
    taker: boolean().notNull(),
    wash: boolean().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.ts, table.place] }),
    index("fills_order").on(table.orderId),
    index("fills_market").on(table.wallet, table.marketId, table.ts, table.place),
  ],
);

/**
 * The double entries: `amount` goes into the wallet and comes from the counterparty (`market:<id>`, `wallet:<id>`,
 * `house`, `external`). The partial index serves lists of one kind, and leaves out the kinds of most rows. Partitioned by
 * the month of `ts`.
 */
export const entries = pgTable(
  "entries",
  {
    wallet: uuid().notNull(),
    ts: moment().notNull(),
    place: count().notNull(),
    seq: count(),
    transactionId: uuid().notNull(),
    counterparty: text().notNull(),
    kind: text().$type<TransactionKind>().notNull(),
    currency: currency().notNull(),
    amount: money().notNull(),
    ref: text().notNull(),
    clientRef: text(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.ts, table.place] }),
    index("entries_kind")
      .on(table.wallet, table.kind, table.ts, table.place)
      .where(sql`kind not in ('FILL', 'FEE', 'MAKER_CREDIT')`),
  ],
);

/** Sums of all entries by kind and class of counterparty, so that the money report need not read every entry. */
export const entryTotals = pgTable(
  "entry_totals",
  {
    shard: smallint().notNull(),
    currency: currency().notNull(),
    kind: text().$type<TransactionKind>().notNull(),
    /** Class of the counterparty. */
    side: text({ enum: ["market", "wallet", "house", "external"] }).notNull(),
    amount: money().notNull(),
  },
  (table) => [primaryKey({ columns: [table.shard, table.currency, table.kind, table.side] })],
);

/** Contracts of an outcome in a wallet. A position that was closed keeps its row, with `qty` 0. */
export const positions = pgTable(
  "positions",
  {
    wallet: uuid().notNull(),
    marketId: uuid().notNull(),
    currency: currency().notNull(),
    outcome: smallint().notNull(),
    qty: quantity().notNull(),
    cost: money().notNull(),
    updatedTs: moment().notNull(),
  },
  (table) => [primaryKey({ columns: [table.wallet, table.marketId, table.currency, table.outcome] })],
);

/**
 * Money of a wallet: `total` is all of it, `reserved` the part that open orders hold. The index serves the list of all
 * wallets by their balances; it leaves `reserved` out, because each order changes it.
 */
export const balances = pgTable(
  "balances",
  {
    wallet: uuid().notNull(),
    currency: currency().notNull(),
    total: money().notNull(),
    reserved: money().notNull(),
    updatedTs: moment().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.wallet, table.currency] }),
    index("balances_total").on(table.currency, table.total, table.wallet),
  ],
);

export const transfers = pgTable(
  "transfers",
  {
    transferId: uuid().primaryKey(),
    traderId: uuid().notNull(),
    /** The wallet of the subaccount. */
    wallet: uuid().notNull(),
    direction: text({ enum: TRANSFER_DIRECTIONS }).notNull(),
    currency: currency().notNull().default("CASH"),
    amount: money().notNull(),
    status: text({ enum: TRANSFER_STATUSES }).notNull(),
    /** The available balance of the paying wallet, when the transfer was rejected. */
    available: money(),
    clientTransferId: text(),
    ts: moment().notNull(),
    seq: count(),
  },
  (table) => [index("transfers_client").on(table.traderId, table.clientTransferId)],
);

/** The last entry of each actor's log that is in the tables, written in the transaction of its rows. */
export const projectorCursors = pgTable("projector_cursors", {
  actor: text().primaryKey(),
  seq: count().notNull(),
  /** The incarnations of the log whose entries are in the tables; see `stream/log/lineage.ts`. */
  lineage: text().notNull().default(""),
  /** The place of the actor's next delta, as of the entry `placedSeq`. A build without these columns leaves them. */
  nextPlace: count(),
  placedSeq: count(),
  /** Engine time of the last entry that has deltas; a build without this column leaves it. */
  entryTs: moment(),
});

/**
 * Repairs of the tables of one actor after the log had lost entries that were in them. `seq` is the entry up to which
 * the rows were right, `lostSeq` the last entry that was in the tables, and `newSeq` the entry of the actor's state to
 * which the rows were set. `removed` counts the rows that came from lost entries, by table.
 */
export const reconciliations = pgTable(
  "reconciliations",
  {
    reconciliationId: bigserial({ mode: "number" }).primaryKey(),
    ts: moment().notNull(),
    actor: text().notNull(),
    seq: count().notNull(),
    lostSeq: count().notNull(),
    newSeq: count().notNull(),
    removed: jsonb().$type<Readonly<Record<string, number>>>().notNull(),
  },
  (table) => [index("reconciliations_ts").on(table.ts)],
);
