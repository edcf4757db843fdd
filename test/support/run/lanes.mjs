/**
 * Runs all tests, or those in the named files, for `npm test`. All tests run in lanes, some of them at the same time: each
 * lane is one run of Mocha with a Redis and a Postgres of its own.
 */
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { endRunsOnSignals, Run } from "./runs.mjs";
import { listFailures, summarize } from "./summary.mjs";
import { conclude, hasCrashed, showsPassed } from "./verdict.mjs";

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

/** The lanes, in the order in which they start; the output of the first one is shown while it runs. */
const LANES = [
  { name: "others", args: [ALL_TESTS, ...without(...PROCESSES, ...GATEWAYS, ...SIMULATION)] },
  { name: "gateways", args: [...GATEWAYS, ...without(...BROWSER)] },
  { name: "processes", args: PROCESSES },
  { name: "browser", args: BROWSER, needsChromium: true },
  { name: "brand and prefix", args: BRANDED, env: { SIGNATURE_BRAND: "Acme", SERVICE_PREFIX: "abc" } },
  { name: "simulation", args: SIMULATION, inBackground: true },
];

/**
 * Lanes that run at once, beside those in the background. More would take no less time, because three keep the cores busy, and
 * would make the tests fail that wait for a limited time.
 */
const LANES_AT_ONCE = Math.max(3, os.availableParallelism());

/** Tests whose failures do not come from the load of the machine, unless they take too long: they depend on their seeds. */
const SEEDED_FILES = /\.property\.test\.ts$|^test\/simulation\//;
/** Error of a test that took longer than it may. */
const TOO_LONG = /Timeout of \d+ms exceeded/;
/** Error of a property with a counterexample, which another run with other random inputs may not find. */
const COUNTEREXAMPLE = /Property failed after/;
/** Number of files with failed tests above which the failures have a common cause, and nothing is run again. */
const MAX_REPEATED = 20;
/** Longest time of one run of Mocha, and of the installation of Chromium, in minutes. */
const MAX_MINUTES = 60;
const INSTALL_MINUTES = 10;

/** Lanes whose output is not printed yet, with their runs. */
const unprinted = new Map();

function say(message) {
  console.log(`test: ${message}`);
}

/** Runs Mocha. The result has the exit code and the report of `reporter.mjs`, or none when the run has died. */
async function mocha({ name, args, env = {}, inBackground = false }, { later = false } = {}) {
  const file = path.join(BUILD, `test-report-${randomUUID()}.json`);
  const run = new Run([MOCHA, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env, COMPILED_DIR: BUILD, TEST_REPORT_FILE: file },
    later,
    inBackground,
    limitMs: 60_000 * MAX_MINUTES,
  });
  if (later) unprinted.set(name, run);
  const code = await run.ended;
  if (run.isTooLong) say(`${name} took more than ${MAX_MINUTES} minutes and was ended`);
  const report = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
  fs.rmSync(file, { force: true });
  return { code, report };
}

/** Installs Chromium where there is none, before a test could wait for it. The tests say what is missing if that fails. */
async function installChromium() {
  const run = new Run(["--import", "tsx", CHROMIUM], {
    cwd: ROOT,
    env: process.env,
    limitMs: 60_000 * INSTALL_MINUTES,
  });
  await run.ended;
}

/** Prints the output of the lanes that have kept it. */
function printOutput() {
  for (const [name, { output }] of unprinted) {
    say(`lane ${name}`);
    process.stdout.write(output);
  }
  unprinted.clear();
}

/** Runs every lane and prints its output. Returns the lanes with their results. */
async function runLanes(options) {
  // Given servers cannot serve two runs at once.
  const oneByOne = (process.env.TEST_REDIS_URL ?? process.env.TEST_DATABASE_URL) !== undefined;
  const chromium = installChromium();
  const start = async (lane) => {
    if (lane.needsChromium) await chromium;
    const result = await mocha({ ...lane, args: [...lane.args, ...options] }, { later: lane !== LANES[0] });
    return { lane, ...result };
  };
  say(
    `lanes ${LANES.map(({ name }) => name).join(", ")}; the output of the others follows that of the first`,
  );
  const inBackground = LANES.filter((lane) => lane.inBackground === true && !oneByOne);
  const waiting = LANES.filter((lane) => !inBackground.includes(lane));
  const startWaiting = async () => {
    const results = [];
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift())
      results.push(await start(lane));
    return results;
  };
  const rows = Array.from({ length: oneByOne ? 1 : LANES_AT_ONCE }, startWaiting);
  const results = await Promise.all([...rows, Promise.all(inBackground.map(start))]);
  printOutput();
  return results.flat();
}

function isSeeded({ file, error }) {
  return (SEEDED_FILES.test(file) && !TOO_LONG.test(error)) || COUNTEREXAMPLE.test(error);
}

/** Returns the failed tests of a lane. */
function failuresOf({ lane, report }) {
  return (report?.failed ?? []).map((failure) => ({ ...failure, lane, outcome: "not run again" }));
}

/**
 * Runs the files of failed tests again, now that no other run takes the cores: a test that measures time may fail beside
 * others. Returns the failures with their outcome: `passed alone`, `failed again` or `not run again`.
 */
async function repeat(results) {
  const failures = results.flatMap(failuresOf);
  const repeatable = failures.filter((failure) => failure.file !== "" && !isSeeded(failure));
  if (new Set(repeatable.map(({ file }) => file)).size > MAX_REPEATED) return failures;
  for (const lane of new Set(repeatable.map((failure) => failure.lane))) {
    const ofLane = repeatable.filter((failure) => failure.lane === lane);
    const files = [...new Set(ofLane.map(({ file }) => file))];
    say(`running alone what failed beside other tests: ${files.join(" ")}`);
    const run = await mocha({ name: `the repeat of ${lane.name}`, args: files, env: lane.env });
    // The title of a failed test may have a random seed, so a file passes as a whole.
    for (const failure of ofLane)
      failure.outcome = showsPassed(run, failure.file) ? "passed alone" : "failed again";
  }
  return failures;
}

/** Runs the tests in the named files, or all of them. Returns 0 when they pass. */
export async function runTests({ values: { grep, bail }, operands: files }) {
  const options = [...(grep === undefined ? [] : ["--grep", grep]), ...(bail ? ["--bail"] : [])];
  endRunsOnSignals((signal) => {
    printOutput();
    say(`ended by ${signal}`);
  });
  if (files.length > 0) {
    const { code } = await mocha({ name: "the run", args: [...files, ...options] });
    return code === 0 ? 0 : 1;
  }
  const began = performance.now();
  const results = await runLanes(options);
  const failures = bail ? results.flatMap(failuresOf) : await repeat(results);
  for (const line of summarize(results)) console.log(line);
  for (const line of listFailures(failures)) console.log(line);
  for (const { lane } of results.filter(hasCrashed))
    say(`lane ${lane.name} ended otherwise than with the result of its tests; its output is above`);
  const { passed, line } = conclude(results, failures, (performance.now() - began) / 1_000);
  say(line);
  return passed ? 0 : 1;
}
