/** Brings a database to the schema this code expects. */

import path from "node:path";
import { drizzle } from "drizzle-orm/node-postgres";
import { migrate as applyMigrations } from "drizzle-orm/node-postgres/migrator";
import pg from "pg";

/** Any number will do that nothing else in the database locks. */
export const MIGRATION_LOCK = 7_106_001;

/**
 * Applies the migrations that the database has not had. Processes that start at once take turns under an advisory
 * lock; a database that is up to date is left alone.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await applyMigrations(drizzle({ client }), {
      migrationsFolder: path.join(import.meta.dirname, "migrations"),
    });
  } finally {
    await client.end();
  }
}
