/**
 * Index for the search of traders by a part of their address. It is no migration: a server without the extension
 * `pg_trgm` works without it, and a large table is indexed while it stays in use.
 */

import type pg from "pg";
import type { Say } from "./brief-locks.js";
import { Connection, PATIENT_MS } from "./connection.js";
import { SEARCH_INDEX_LOCK } from "./locks.js";

const INDEX = "traders_email_parts";
/** Longest wait in ms for the transactions that began before the index. A later start tries again. */
const WAIT_MS = 30_000;

/** Build of the index in the background. */
export interface IndexBuild {
  /** Resolves when the build is over, also after a failure. */
  readonly done: Promise<void>;
  /** Closes the connection. Postgres finishes a build that runs. */
  stop(): Promise<void>;
}

/**
 * Builds the index in the background unless it exists or another process builds it. `say` receives a failure, which
 * changes nothing: the search then reads more.
 */
export function indexAddresses(databaseUrl: string, say: Say): IndexBuild {
  const connection = new Connection(databaseUrl, { name: "exchange index", silenceMs: PATIENT_MS });
  let isStopped = false;
  const work = async (): Promise<void> => {
    try {
      await connection.open();
      await build(connection.client);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!isStopped) say(`the search of traders by a part of their address has no index: ${reason}`);
    } finally {
      await connection.close();
    }
  };
  const done = work();
  return {
    done,
    async stop() {
      isStopped = true;
      await connection.close();
      await done;
    },
  };
}

async function build(client: pg.Client): Promise<void> {
  const turn = await client.query<{ free: boolean }>("select pg_try_advisory_lock($1) as free", [
    SEARCH_INDEX_LOCK,
  ]);
  if (turn.rows[0]?.free !== true) return;
  const { rows } = await client.query<{ valid: boolean }>(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass($1)",
    [`public.${INDEX}`],
  );
  if (rows[0]?.valid === true) return;
  await client.query("create extension if not exists pg_trgm");
  await client.query(`set lock_timeout = ${WAIT_MS}`);
  // An attempt that was cut off leaves an index that is not valid.
  await client.query(`drop index concurrently if exists ${INDEX}`);
  await client.query(`create index concurrently ${INDEX} on traders using gin (email gin_trgm_ops)`);
}
