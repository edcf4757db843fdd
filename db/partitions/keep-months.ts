/** Keeps the tables by month in order: creates partitions ahead of time, and moves rows that are in the wrong one. */

import type pg from "pg";
import { type Say, inTransaction, waitBriefly, withLocks } from "../brief-locks.js";
import { Connection } from "../connection.js";
import { MIGRATION_LOCK } from "../locks.js";
import { laterOf, monthBefore, MONTHLY, type MonthlyTable, startOfMonth } from "./months.js";

/** Months for which partitions exist, after the current one. */
const MONTHS_AHEAD = 3;
/** Orders that one statement moves, and statements of one kind in one run, for whose end other work waits. */
const ORDERS_AT_ONCE = 2_000;
const MOVES = 5;

/** Changes of one run. */
export interface KeptMonths {
  /** Names of the new partitions. */
  readonly created: readonly string[];
  /** Number of orders that were in the wrong partition and have moved. */
  readonly moved: number;
  /** True when further orders may be in the wrong partition. */
  readonly isUnfinished: boolean;
}

/** Puts the tables in order, unless another process does so now or migrates the database. */
export async function keepMonths(
  databaseUrl: string,
  nowMs: number,
  say: Say,
): Promise<KeptMonths | undefined> {
  const connection = new Connection(databaseUrl, { name: "exchange months" });
  const { client } = connection;
  try {
    await connection.open();
    await waitBriefly(client);
    const { rows } = await client.query<{ free: boolean }>("select pg_try_advisory_lock($1) as free", [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.free !== true) return undefined;
    const created = await createMonths(client, nowMs, say);
    return { created, ...(await placeOrders(client)) };
  } finally {
    await connection.close();
  }
}

/**
 * Returns the present (Unix ms): the earlier of the clocks of this host and of Postgres. A clock that is years ahead would
 * make one partition of all these years, and it would stay.
 */
export async function presentOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ ms: string }>(
    "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms",
  );
  return Math.min(Date.now(), Number(rows[0]?.ms ?? 0));
}

/** Creates the partitions of the coming months. Returns their names. */
export async function createMonths(client: pg.ClientBase, nowMs: number, say: Say): Promise<string[]> {
  const created: string[] = [];
  for (const table of MONTHLY) {
    for (;;) {
      const from = await lowerBoundOf(client, laterOf(table));
      if (from >= startOfMonth(nowMs, MONTHS_AHEAD + 1)) break;
      created.push(await divideLater(client, table, from, nowMs, say));
    }
  }
  return created;
}

/**
 * Ends the last partition of a table at the end of a month, and creates another last one. The last partition is empty,
 * unless nobody has created partitions for months or engine time has jumped; then it becomes the partition of all months
 * up to its newest row, because its rows are not moved under a lock.
 */
async function divideLater(
  client: pg.ClientBase,
  table: MonthlyTable,
  fromTs: number,
  nowMs: number,
  say: Say,
): Promise<string> {
  const { name, column, keyOfPartition } = table;
  const later = laterOf(table);
  const newest = await newestIn(client, later, column);
  // Rows of the month after the newest row may come before the locks.
  const endTs = startOfMonth(Math.max(fromTs, nowMs, newest ?? 0), newest === undefined ? 1 : 2);
  const month = monthBefore(table, endTs);
  if (newest !== undefined)
    await checkRows(client, later, `${column} >= ${fromTs} and ${column} < ${endTs}`, say);
  await withLocks(
    client,
    () =>
      inTransaction(client, async () => {
        await client.query(`alter table ${name} detach partition ${later}`);
        await client.query(`alter table ${later} rename to ${month}`);
        await renameIndexes(client, later, month);
        await client.query(
          `alter table ${name} attach partition ${month} for values from (${fromTs}) to (${endTs})`,
        );
        await client.query(`alter table ${month} drop constraint if exists ${later}`);
        const key = keyOfPartition === undefined ? "" : ` (primary key (${keyOfPartition}))`;
        await client.query(
          `create table ${later} partition of ${name}${key} for values from (${endTs}) to (maxvalue)`,
        );
      }),
    say,
  );
  return month;
}

/** Makes Postgres read the rows before the lock under which it would read them otherwise. */
async function checkRows(client: pg.ClientBase, table: string, condition: string, say: Say): Promise<void> {
  const add =
    `alter table ${table} drop constraint if exists ${table}, ` +
    `add constraint ${table} check (${condition}) not valid`;
  await withLocks(client, () => client.query(add), say);
  await withLocks(client, () => client.query(`alter table ${table} validate constraint ${table}`), say);
}

async function renameIndexes(client: pg.ClientBase, from: string, to: string): Promise<void> {
  const { rows } = await client.query<{ index: string }>(
    "select indexrelid::regclass::text as index from pg_index where indrelid = $1::regclass",
    [to],
  );
  for (const { index } of rows)
    await client.query(`alter index ${index} rename to ${index.replace(from, to)}`);
}

async function lowerBoundOf(client: pg.ClientBase, partition: string): Promise<number> {
  const { rows } = await client.query<{ bound: string }>(
    "select pg_get_expr(relpartbound, oid) as bound from pg_class where oid = $1::regclass",
    [partition],
  );
  const bound = /FROM \('?(\d+)'?\)/.exec(rows[0]?.bound ?? "")?.[1];
  if (bound === undefined) throw new Error(`the partition ${partition} has no lower bound`);
  return Number(bound);
}

async function newestIn(
  client: pg.ClientBase,
  partition: string,
  column: string,
): Promise<number | undefined> {
  const { rows } = await client.query<{ newest: string | null }>(
    `select max(${column}) as newest from ${partition}`,
  );
  const newest = rows[0]?.newest ?? null;
  return newest === null ? undefined : Number(newest);
}

/**
 * Moves orders that a projector of the build before months has ended, or opened again in a repair, to the partition of
 * their status. That projector leaves `ended_ts` as it is. One run moves a limited number of orders.
 */
async function placeOrders(client: pg.ClientBase): Promise<Pick<KeptMonths, "moved" | "isUnfinished">> {
  let moved = 0;
  let isUnfinished = false;
  for (const [endedTs, misplaced] of [
    ["greatest(updated_ts, 1)", "ended_ts = 0 and status not in ('PENDING', 'OPEN')"],
    ["0", "ended_ts > 0 and status in ('PENDING', 'OPEN')"],
  ] as const) {
    let count = ORDERS_AT_ONCE;
    for (let move = 0; move < MOVES && count === ORDERS_AT_ONCE; move += 1) {
      const { rowCount } = await client.query(
        `update orders set ended_ts = ${endedTs} where ${misplaced} and order_id in
           (select order_id from orders where ${misplaced} limit ${ORDERS_AT_ONCE})`,
      );
      count = rowCount ?? 0;
      moved += count;
    }
    isUnfinished ||= count === ORDERS_AT_ONCE;
  }
  return { moved, isUnfinished };
}
