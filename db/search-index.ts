/**
 * Index for the search of traders by a part of their address. It is no migration: a server without the extension
 * `pg_trgm` works without it, and a large table is indexed while it stays in use.
 */

import type pg from "pg";
import type { Say } from "./brief-locks.js";

const INDEX = "traders_email_parts";
/** Longest wait in ms for the transactions that began before the index. A later start tries again. */
const WAIT_MS = 30_000;

/** Builds the index unless it exists. A failure is reported and changes nothing: the search then reads more. */
export async function indexAddresses(client: pg.ClientBase, say: Say): Promise<void> {
  const { rows } = await client.query<{ valid: boolean }>(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
    [`public.${INDEX}`],
  );
  if (rows[0]?.valid === true) return;
  try {
    await client.query("create extension if not exists pg_trgm");
    await client.query(`set lock_timeout = ${WAIT_MS}`);
    // An attempt that was cut off leaves an index that is not valid.
    await client.query(`drop index concurrently if exists ${INDEX}`);
    await client.query(`create index concurrently ${INDEX} on traders using gin (email gin_trgm_ops)`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    say(`the search of traders by a part of their address has no index: ${reason}`);
  }
}
