/**
 * `npm run simulate`: runs the simulator with the same arguments. The simulator belongs to the tests
 * (test/simulation/main.ts), which are not compiled, so it runs from its sources.
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
