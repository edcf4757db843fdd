/** Programs of this repository that tests run as processes. */

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
const LOADER = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

/** Module to run, and the options of Node with which it runs. */
export interface Program {
  readonly entry: string;
  readonly execArgv: readonly string[];
}

/**
 * Returns the program of a source, such as `scripts/worker.ts`. `npm test` names the folder of the code that it has just
 * compiled in `COMPILED_DIR`. A file of a test, or any file without that variable, runs from its source, whose loader takes
 * a second of processor time at each start.
 */
export function programOf(source: string): Program {
  const compiled = process.env["COMPILED_DIR"];
  if (compiled === undefined || source.startsWith("test/"))
    return { entry: path.join(ROOT, source), execArgv: ["--import", LOADER] };
  return { entry: path.join(compiled, source.replace(/\.ts$/, ".js")), execArgv: [] };
}
