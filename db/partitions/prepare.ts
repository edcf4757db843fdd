/**
 * Prepares the migration that partitions the tables: validates constraints by which Postgres knows, without a scan under an
 * exclusive lock, that the existing rows belong into the first partition. Reading all rows takes minutes on a large
 * database, and leaves the tables readable and writable.
 */

import type pg from "pg";
import { type Say, withLocks } from "../brief-locks.js";
import { presentOf } from "./keep-months.js";
import { firstOf, MONTHLY, type MonthlyTable, startOfMonth } from "./months.js";

/** Shortest time in ms that the constraint admits new rows: the migration follows within it, or renews the constraint. */
const MARGIN_MS = 14 * 86_400_000;

/** Prepares the tables that exist and are not partitioned yet. A later call continues where an earlier one has ended. */
export async function prepareMonths(client: pg.ClientBase, say: Say): Promise<void> {
  for (const table of MONTHLY) {
    if (await isWhole(client, table)) await prepare(client, table, say);
  }
}

async function isWhole(client: pg.ClientBase, { name }: MonthlyTable): Promise<boolean> {
  const { rowCount } = await client.query(
    "select from pg_class where oid = to_regclass('public.' || $1) and relkind = 'r'",
    [name],
  );
  return rowCount === 1;
}

async function prepare(client: pg.ClientBase, table: MonthlyTable, say: Say): Promise<void> {
  const { name, column } = table;
  const nowMs = await newestTime(client);
  const constraint = firstOf(table);
  const known = await constraintOf(client, name, constraint);
  const mayStay = column === "ended_ts" || (known?.bound ?? 0) > nowMs + MARGIN_MS;
  if (known === undefined || !mayStay) {
    const condition = column === "ended_ts" ? "ended_ts < 0" : `ts < ${startOfMonth(nowMs, 2)}`;
    const changes = [
      // The default fills the rows that exist without writing them, and those of processes that do not know the column.
      ...(column === "ended_ts" ? ["add column if not exists ended_ts bigint not null default -1"] : []),
      ...(known === undefined ? [] : [`drop constraint ${constraint}`]),
      `add constraint ${constraint} check (${condition}) not valid`,
    ];
    await withLocks(client, () => client.query(`alter table ${name} ${changes.join(", ")}`), say);
  }
  if (known?.isValid === true && mayStay) return;
  say(`reading the table ${name} before it is partitioned by month; it stays in use`);
  await withLocks(client, () => client.query(`alter table ${name} validate constraint ${constraint}`), say);
}

/** Returns the present, or engine time if that is later, in Unix ms. */
async function newestTime(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ newest: string }>(
    "select greatest((select max(updated_ts) from balances), (select max(updated_ts) from markets), 0) as newest",
  );
  return Math.max(await presentOf(client), Number(rows[0]?.newest ?? 0));
}

async function constraintOf(
  client: pg.ClientBase,
  table: string,
  name: string,
): Promise<{ readonly bound: number; readonly isValid: boolean } | undefined> {
  const { rows } = await client.query<{ bound: string; valid: boolean }>(
    `select substring(pg_get_constraintdef(oid) from '\\d+') as bound, convalidated as valid from pg_constraint
     where conrelid = to_regclass('public.' || $1) and conname = $2`,
    [table, name],
  );
  const [row] = rows;
  return row && { bound: Number(row.bound), isValid: row.valid };
}
