import { isUnavailable } from "../db/database.js";
import { migrate } from "../db/migrate.js";
import { readCommandLine } from "./command-line.mjs";
import { ConfigError, loadConfig } from "./config.js";

/** `npm run migrate`: brings the database of `DATABASE_URL` to the schema of this code. */
async function main(): Promise<number> {
  readCommandLine({
    name: "migrate",
    call: "npm run migrate --",
    summary:
      "Brings the database of DATABASE_URL to the schema of this code. npm start, the projector and the jobs also do so when they start.",
    options: {},
  });
  const { databaseUrl } = loadConfig();
  if (databaseUrl === undefined) throw new ConfigError("DATABASE_URL: set it to the database to migrate");
  try {
    await migrate(databaseUrl);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    console.error("migrate: Postgres does not answer at DATABASE_URL; start it, or correct the URL");
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
