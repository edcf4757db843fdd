/**
 * `npm run simulate`: hands over to the simulator, which lives with the tests (test/simulation) and so runs from its
 * sources. The arguments are its own.
 */

import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const SIMULATOR = path.join(ROOT, "test", "simulation", "main.ts");

const { status } = spawnSync(process.execPath, ["--import", "tsx", SIMULATOR, ...process.argv.slice(2)], {
  cwd: ROOT,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
