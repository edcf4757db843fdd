import { migrate } from "../db/migrate.js";
import { readCommandLine } from "./command-line.mjs";
import { ConfigError, loadConfig } from "./config.js";
import { describe } from "./supervisor/start-error.js";

/** `npm run migrate`: brings the database of `DATABASE_URL` to the schema of this code. */
async function main(): Promise<void> {
  readCommandLine({
    name: "migrate",
    call: "npm run migrate --",
    summary:
      "Brings the database of DATABASE_URL to the schema of this code. npm start, the projector and the jobs also do so when they start.",
    options: {},
  });
  const { databaseUrl } = loadConfig();
  if (databaseUrl === undefined) throw new ConfigError("DATABASE_URL: set it to the database to migrate");
  await migrate(databaseUrl, (line) => console.log(`migrate: ${line}`));
  console.log("migrate: the database is up to date");
}

try {
  await main();
} catch (error) {
  console.error(`migrate: ${describe(error)}`);
  process.exitCode = 1;
}
