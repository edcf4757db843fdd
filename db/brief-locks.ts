/** Locks on tables that other processes use: each is waited for briefly and often, so that nobody queues behind it. */

import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/** Reports progress, in a line of text. */
export type Say = (line: string) => void;

/**
 * Longest wait for a lock on a table, in ms. Everything that uses the table meanwhile waits too. It is shorter than
 * `deadlock_timeout`, so that of a deadlock with the projector this side gives way.
 */
const LOCK_MS = 900;
/**
 * Wait in ms beyond `deadlock_timeout` while a table is vacuumed. Postgres ends an autovacuum for a lock that has waited
 * for that long; nothing else ends it for hours.
 */
const BEYOND_DEADLOCK_MS = 200;
/** Pauses between attempts, in ms. */
const PAUSE_MS = { min: 250, max: 5_000 };
/** Time in ms after which the work is given up. */
const GIVE_UP_MS = 600_000;
/** `lock_not_available` and `deadlock_detected`. */
const LOCKED_CODES = new Set(["55P03", "40P01"]);

/** Failure to lock a table that others hold all the time. */
export class TablesBusy extends Error {
  override readonly name = "TablesBusy";
}

/** Limits the wait of every later statement of the connection for a lock on a table. */
export async function waitBriefly(client: pg.ClientBase): Promise<void> {
  await client.query(`set lock_timeout = ${LOCK_MS}`);
}

/** Limits the wait of later statements to one that ends an autovacuum, if a table is vacuumed, and else to a brief one. */
async function waitForVacuum(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ deadlockMs: number }>(
    `select setting::integer as "deadlockMs" from pg_settings where name = 'deadlock_timeout' and exists (
       select from pg_locks join pg_class on pg_class.oid = pg_locks.relation
       where mode = 'ShareUpdateExclusiveLock' and granted and pid <> pg_backend_pid()
         and database = (select oid from pg_database where datname = current_database())
         and relnamespace = 'public'::regnamespace)`,
  );
  const [row] = rows;
  if (row === undefined) await waitBriefly(client);
  else await client.query(`set lock_timeout = ${row.deadlockMs + BEYOND_DEADLOCK_MS}`);
}

/**
 * Runs work that locks tables, again and again until it gets its locks. The work is one transaction or one statement, on
 * a connection that waits briefly. Names the transactions that hold locks. Throws `TablesBusy` after ten minutes.
 */
export async function withLocks<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
  say: Say,
  giveUpMs = GIVE_UP_MS,
): Promise<Result> {
  const began = performance.now();
  for (let pauseMs = PAUSE_MS.min; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)) {
    try {
      const result = await work();
      await waitBriefly(client);
      return result;
    } catch (error) {
      if (!isLocked(error)) throw error;
      await waitForVacuum(client);
      const holders = await holdersOfLocks(client);
      if (performance.now() - began >= giveUpMs)
        throw new TablesBusy(`cannot lock a table of the exchange; end these transactions: ${holders}`, {
          cause: error,
        });
      say(`waiting for a lock on a table; these transactions hold locks: ${holders}`);
    }
    await sleep(pauseMs);
  }
}

/** Runs work in a transaction. */
export async function inTransaction(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

function isLocked(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && LOCKED_CODES.has(cause.code)) return true;
  }
  return false;
}

/** Returns the transactions of others that are the oldest with a lock on a table, for a message. */
async function holdersOfLocks(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ pid: number; application: string; seconds: number }>(
    `select pid, coalesce(nullif(application_name, ''), backend_type) as application,
       extract(epoch from now() - xact_start)::integer as seconds
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and xact_start is not null and exists (
       select from pg_locks join pg_class on pg_class.oid = pg_locks.relation
       where pg_locks.pid = pg_stat_activity.pid and granted and relkind in ('r', 'p')
         and relnamespace = 'public'::regnamespace)
     order by xact_start limit 5`,
  );
  if (rows.length === 0) return "none any more";
  return rows.map(({ pid, application, seconds }) => `${application} (pid ${pid}, ${seconds} s)`).join(", ");
}
