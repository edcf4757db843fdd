import path from "node:path";
import { loadConfig, programPath } from "./config.js";
import { findRedis } from "./embedded/redis-binary.js";
import { describe } from "./supervisor/start-error.js";

/** Makes sure that there is a Redis program before the tests begin, because no test should wait for a download. */
function main(): void {
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
