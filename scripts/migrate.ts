import { isUnavailable } from "../db/database.js";
import { migrate } from "../db/migrate.js";
import { ConfigError, loadConfig } from "./config.js";

/** `npm run migrate`: brings the database of `DATABASE_URL` to the schema of this code. */
async function main(): Promise<number> {
  const { databaseUrl } = loadConfig();
  if (databaseUrl === undefined) throw new ConfigError("DATABASE_URL must name the database to migrate");
  try {
    await migrate(databaseUrl);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    console.error("migrate: Postgres does not answer");
    return 1;
  }
  console.log("migrate: the database is up to date");
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
