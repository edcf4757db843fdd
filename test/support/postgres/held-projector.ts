import pg from "pg";

/**
 * Holds the projector of a database back until the returned function is called: its next batch waits for a lock, and
 * the tables stay readable.
 */
export async function holdProjector(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("begin");
  await client.query("lock table projector_cursors in exclusive mode");
  return () => client.end();
}
