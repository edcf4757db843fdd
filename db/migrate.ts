/** Brings a database to the schema that this code expects. */

import path from "node:path";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";
import { firstContact } from "./database.js";
import { MIGRATION_LOCK } from "./locks.js";

/**
 * Applies the migrations that the database lacks, and changes nothing in a database that has them all. An advisory lock
 * makes processes that start together take turns.
 * @throws DatabaseUnreachable
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  await firstContact(databaseUrl, client.connect());
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await applyMigrations(drizzle({ client }), {
      migrationsFolder: path.join(import.meta.dirname, "migrations"),
    });
  } finally {
    await client.end();
  }
}
