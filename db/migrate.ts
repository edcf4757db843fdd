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

/** Version of the rows that this build reads and writes. A migration after which older builds would misread them raises it. */
const ROWS_VERSION = 1;

/** The tables have rows of a later build. */
export class NewerRows extends Error {
  override readonly name = "NewerRows";

  constructor(version: number) {
    super(
      `the tables have rows of version ${version}, and this build reads them up to version ${ROWS_VERSION}: start the ` +
        "build that has written them, or a later one, or restore a backup from before the upgrade",
    );
  }
}

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
    await requireReadable(client);
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

/** Throws `NewerRows` when a later build has changed what the rows mean. */
async function requireReadable(client: pg.Client): Promise<void> {
  const { rows: found } = await client.query("select from pg_class where oid = to_regclass('rows_version')");
  if (found.length === 0) return;
  const { rows } = await client.query<{ version: number }>("select version from rows_version");
  const version = rows[0]?.version ?? ROWS_VERSION;
  if (version > ROWS_VERSION) throw new NewerRows(version);
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
