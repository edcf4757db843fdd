import path from "node:path";
import { readCommandLine } from "./command-line.mjs";
import { loadConfig, programPath } from "./config.js";
import { findRedis } from "./embedded/redis-binary.js";
import { describe } from "./supervisor/start-error.js";

/** Finds or downloads a Redis server program before the tests begin, because no test should wait for a download. */
function main(): void {
  readCommandLine({
    name: "fetch-redis",
    call: "node scripts/setup.mjs fetch-redis",
    summary:
      "Finds a Redis server program (REDIS_SERVER_BIN, PATH, .cache/), or downloads the one of the distribution " +
      "into .cache/.",
    options: {},
  });
  const { redisServerBin } = loadConfig();
  const cacheDir = path.resolve(".cache");
  findRedis({ serverBin: redisServerBin, programPath: programPath(), cacheDir, log: console.log });
}

try {
  main();
} catch (error) {
  console.error(describe(error));
  process.exitCode = 1;
}
