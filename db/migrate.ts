/** Brings a database to the schema that this code expects. */

import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import type pg from "pg";
import { type Say, waitBriefly, withLocks } from "./brief-locks.js";
import { Connection, PATIENT_MS } from "./connection.js";
import { firstContact } from "./database.js";
import { MIGRATION_LOCK } from "./locks.js";
import { prepareMonths } from "./partitions/prepare.js";
import { createMonths, presentOf } from "./partitions/keep-months.js";
import { requireReadableRows } from "./rows-version.js";

/** Interval of the attempts to become the one process that migrates, in ms. */
const TURN_MS = 200;
/** Time in ms after which a waiting process says so, each time twice as long. */
const SAY_MS = 2_000;

/**
 * Applies the migrations that the database lacks, and changes nothing in a database that has them all. Processes that
 * start together take turns. `say` receives lines about waits and long work.
 * @throws DatabaseUnreachable
 * @throws NewerRows
 * @throws TablesBusy
 */
export async function migrate(databaseUrl: string, say: Say = () => undefined): Promise<void> {
  const connection = new Connection(databaseUrl, { name: "exchange migration", silenceMs: PATIENT_MS });
  const { client } = connection;
  try {
    await firstContact(databaseUrl, connection.open());
    await takeTurn(client, say);
    await requireReadableRows(client);
    await waitBriefly(client);
    await prepareMonths(client, say);
    const migrationsFolder = path.join(import.meta.dirname, "migrations");
    await withLocks(client, () => applyMigrations(drizzle({ client }), { migrationsFolder }), say);
    await createMonths(client, await presentOf(client), say);
  } finally {
    await connection.close();
  }
}

/** Waits until no other process migrates the database. */
async function takeTurn(client: pg.Client, say: Say): Promise<void> {
  let sayAtMs = performance.now() + SAY_MS;
  for (let waits = SAY_MS; ;) {
    const { rows } = await client.query<{ free: boolean }>("select pg_try_advisory_lock($1) as free", [
      MIGRATION_LOCK,
    ]);
    if (rows[0]?.free === true) return;
    if (performance.now() >= sayAtMs) {
      say(`waiting for ${await otherMigration(client)}, which migrates the database`);
      waits *= 2;
      sayAtMs = performance.now() + waits;
    }
    await sleep(TURN_MS);
  }
}

async function otherMigration(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ pid: number; host: string; seconds: number }>(
    `select pid, coalesce(host(client_addr), 'this host') as host,
       extract(epoch from now() - backend_start)::integer as seconds
     from pg_stat_activity where pid in (
       select pid from pg_locks where locktype = 'advisory' and granted and classid = 0 and objid = $1
         and objsubid = 1 and database = (select oid from pg_database where datname = current_database()))`,
    [MIGRATION_LOCK],
  );
  const [row] = rows;
  return row === undefined ? "another process" : `pid ${row.pid} of ${row.host} (${row.seconds} s)`;
}
