/**
 * Runs all tests, or those in the named files, for `npm test`. All tests run in lanes at the same time: each lane is one run
 * of Mocha with a Redis and a Postgres of its own. No file is in two lanes, and a lane waits for no other.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { listFailures, summarize } from "./summary.mjs";

const ROOT = path.resolve(import.meta.dirname, "..", "..", "..");
const BUILD = path.join(ROOT, ".build");
const MOCHA = path.join(ROOT, "node_modules", "mocha", "bin", "mocha.js");
const CHROMIUM = path.join(ROOT, "test", "support", "console", "install.ts");

const ALL_TESTS = "test/**/*.test.ts";
/** Tests that start processes and mostly wait for them. */
const PROCESSES = ["test/builds/**/*.test.ts", "test/scripts/**/*.test.ts"];
/** Tests in a browser. */
const BROWSER = ["test/http/console/**/*.test.ts", "test/http/client/browser.test.ts"];
/** Tests that use every core, and neither a server nor the time of day. */
const SIMULATION = ["test/simulation/**/*.test.ts"];
const GATEWAYS = ["test/http/**/*.test.ts"];
/** Tests of the order path, of authorization and of surface B, which run once more with another brand and prefix. */
const BRANDED = [
  "test/http/trading/first-trade.test.ts",
  "test/http/auth/signed-requests.test.ts",
  "test/http/matrix/matrix.test.ts",
  "test/http/by-hand/by-hand.test.ts",
  "test/http/surface-b/*.test.ts",
];

const without = (...patterns) => patterns.flatMap((pattern) => ["--ignore", pattern]);

/** The lanes; the output of the first one is shown while it runs. */
const LANES = [
  { name: "others", args: [ALL_TESTS, ...without(...PROCESSES, ...GATEWAYS, ...SIMULATION)] },
  { name: "gateways", args: [...GATEWAYS, ...without(...BROWSER)] },
  { name: "processes", args: PROCESSES },
  { name: "browser", args: BROWSER, needsChromium: true },
  { name: "brand and prefix", args: BRANDED, env: { SIGNATURE_BRAND: "Acme", SERVICE_PREFIX: "abc" } },
  { name: "simulation", args: SIMULATION, inBackground: true },
];

/** Tests whose failures do not come from the load of the machine: they depend on their seeds alone. */
const SEEDED_FILES = /\.property\.test\.ts$|^test\/simulation\//;
/** Error of a property with a counterexample, which another run with other random inputs may not find. */
const COUNTEREXAMPLE = /Property failed after/;
/** Number of files with failed tests above which the failures have a common cause, and nothing is run again. */
const MAX_REPEATED = 20;

function say(message) {
  console.log(`test: ${message}`);
}

/**
 * Runs Mocha. `later` keeps its output in the result, so that the lines of two runs do not mix. `inBackground` gives the run
 * the time that no other run uses. The result has the report of `reporter.mjs`, or none when the run has died.
 */
function mocha({ args, env = {}, inBackground = false }, { later = false } = {}) {
  const file = path.join(BUILD, `test-report-${randomUUID()}.json`);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MOCHA, ...args], {
      cwd: ROOT,
      stdio: later ? ["ignore", "pipe", "pipe"] : "inherit",
      env: { ...process.env, ...env, COMPILED_DIR: BUILD, TEST_REPORT_FILE: file },
    });
    if (inBackground && child.pid !== undefined)
      os.setPriority(child.pid, os.constants.priority.PRIORITY_LOW);
    const output = [];
    child.stdout?.on("data", (chunk) => output.push(chunk));
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => {
      const report = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
      fs.rmSync(file, { force: true });
      resolve({ passed: code === 0, report, output: Buffer.concat(output) });
    });
  });
}

/** Installs Chromium where there is none, before a test could wait for it. The tests say what is missing if that fails. */
function installChromium() {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", "tsx", CHROMIUM], { cwd: ROOT, stdio: "inherit" });
    child.on("error", reject);
    child.on("close", resolve);
  });
}

/** Runs every lane and prints its output. Returns the lanes with their results. */
async function runLanes(options) {
  // Given servers cannot serve two runs at once.
  const oneByOne = (process.env.TEST_REDIS_URL ?? process.env.TEST_DATABASE_URL) !== undefined;
  const chromium = installChromium();
  const start = async (lane, index) => {
    if (lane.needsChromium) await chromium;
    const result = await mocha({ ...lane, args: [...lane.args, ...options] }, { later: index > 0 });
    return { lane, ...result };
  };
  say(
    `lanes ${LANES.map(({ name }) => name).join(", ")}; the output of the others follows that of the first`,
  );
  const results = [];
  if (oneByOne) for (const [index, lane] of LANES.entries()) results.push(await start(lane, index));
  else results.push(...(await Promise.all(LANES.map(start))));
  for (const { lane, output } of results.slice(1)) {
    say(`lane ${lane.name}`);
    process.stdout.write(output);
  }
  return results;
}

function isSeeded({ file, error }) {
  return SEEDED_FILES.test(file) || COUNTEREXAMPLE.test(error);
}

/**
 * Runs the files of failed tests again, now that no other run takes the cores: a test that measures time may fail beside
 * others. Returns the failures with their outcome: `passed alone`, `failed again` or `not run again`.
 */
async function repeat(results) {
  const failures = results.flatMap(({ lane, report }) =>
    (report?.failed ?? []).map((failure) => ({ ...failure, lane, outcome: "not run again" })),
  );
  const repeatable = failures.filter((failure) => failure.file !== "" && !isSeeded(failure));
  if (new Set(repeatable.map(({ file }) => file)).size > MAX_REPEATED) return failures;
  for (const lane of new Set(repeatable.map((failure) => failure.lane))) {
    const ofLane = repeatable.filter((failure) => failure.lane === lane);
    const files = [...new Set(ofLane.map(({ file }) => file))];
    say(`running alone what failed beside other tests: ${files.join(" ")}`);
    const { passed, report } = await mocha({ args: files, env: lane.env });
    // The title of a failed test may have a random seed, so a file passes as a whole.
    const failedAgain = new Set(report?.failed.map(({ file }) => file) ?? files);
    for (const failure of ofLane)
      failure.outcome = passed || !failedAgain.has(failure.file) ? "passed alone" : "failed again";
  }
  return failures;
}

/** Runs the tests in the named files, or all of them. Returns 0 when they pass. */
export async function runTests({ values: { grep, bail }, operands: files }) {
  const options = [...(grep === undefined ? [] : ["--grep", grep]), ...(bail ? ["--bail"] : [])];
  if (files.length > 0) return (await mocha({ args: [...files, ...options] })).passed ? 0 : 1;

  const began = performance.now();
  const results = await runLanes(options);
  const failures = bail ? [] : await repeat(results);
  for (const line of summarize(results)) console.log(line);
  for (const line of listFailures(failures)) console.log(line);
  const dead = results.filter(({ passed, report }) => !passed && (report?.failed.length ?? 0) === 0);
  for (const { lane } of dead) say(`lane ${lane.name} ended without a result; its output is above`);
  const repaired = failures.filter(({ outcome }) => outcome === "passed alone").length;
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  if (bail ? results.some(({ passed }) => !passed) : dead.length > 0 || failures.length > repaired) {
    say(`tests FAILED after ${minutes} minutes; they are listed above`);
    return 1;
  }
  const but = repaired > 0 ? `, ${repaired} of them only when they ran again alone` : "";
  say(`all tests passed in ${minutes} minutes${but}`);
  return 0;
}
