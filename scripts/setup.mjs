/**
 * Brings a fresh clone to the point where a command can run, then runs it: installs the dependencies
 * when `node_modules` is missing or differs from the lock file, compiles when a source has changed,
 * and imports the compiled entry. It imports nothing but Node's own modules, because it runs
 * before anything is installed. Every npm script that runs code of this repository goes through it.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { listing, readCommandLine } from "./command-line.mjs";
import { exclusively, LockHeld } from "./supervisor/setup-lock.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const BUILD = path.join(ROOT, ".build");
const CLIENT = path.join(BUILD, "client");
const BUILD_STAMP = path.join(BUILD, "stamp");
const SETUP_LOCK = path.join(ROOT, ".cache", "setup.lock");
const FOLDERS = ["actors", "stream", "db", "http", "scripts"];
const LOCK_WAIT_MS = 300_000;
const TEST_RUNNER = path.join(ROOT, "test", "support", "run", "lanes.mjs");
/** Tests that need no server. */
const UNIT_TESTS = ["test/actors/**/*.test.ts", "test/house/**/*.test.ts"];
/** Commands of this file; each reads its arguments before anything is installed. */
const OWN_COMMANDS = {
  test: {
    name: "test",
    call: "npm test --",
    summary:
      "Runs the tests against a Redis and a Postgres of their own: all of them, or those in the named files. All of " +
      "them take 20 to 40 minutes on two cores.",
    operands: { usage: "[FILE ...]", max: Infinity },
    options: {
      grep: {
        short: "g",
        value: "TEXT",
        description: "Runs only the tests whose title matches the pattern TEXT.",
      },
      bail: { short: "b", description: "Stops after the first failed test." },
    },
    notes: () =>
      `Environment:\n${listing([
        ["TEST_REDIS_URL", "Redis for the tests; its contents are deleted. Default: an embedded server."],
        [
          "TEST_DATABASE_URL",
          "Postgres for the tests; each test creates a database. Default: an embedded server.",
        ],
        ["SIGNATURE_BRAND, SERVICE_PREFIX", "Brand and path prefix that the gateways under test use."],
      ])}`,
  },
  check: {
    name: "check",
    call: "npm run check --",
    summary: "Checks types, lint, dead code and format, and runs the unit tests; needs no server.",
    options: {},
  },
  build: {
    name: "build",
    call: "npm run build --",
    summary: "Installs what is missing and compiles into .build/.",
    options: {},
  },
};

/** Compiled entries of scripts/, each with its purpose; an entry reads its own arguments. */
const ENTRIES = {
  start: "Starts the whole exchange as one supervised set of processes.",
  gateway: "Runs the role that serves HTTP and websockets.",
  worker: "Runs the role that executes the actors.",
  projector: "Runs the role that writes the read model to Postgres.",
  jobs: "Runs the role that settles markets.",
  migrate: "Brings a database to the current schema.",
  operator: "Creates, disables or resets an operator in the database.",
  "repair-aof": "Cuts the torn tail of the append-only file of a stopped Redis.",
  replay: "Replays a recorded market on a running exchange.",
  simulate: "Simulates the exchange under faults, from seeds.",
  bench: "Measures the exchange and prints the figures.",
  demo: "Trades a few demo markets on a running exchange.",
  "fetch-redis": "Finds or downloads a Redis server program.",
};

/** Entries in a sub-folder of scripts/; every other entry has the name of its command. */
const ENTRY_FILES = { "repair-aof": "embedded/repair-aof", operator: "operators/operator" };

const SETUP = {
  name: "setup",
  call: "node scripts/setup.mjs",
  summary: "Installs and compiles what is missing or stale, then runs COMMAND with the arguments after it.",
  operands: { usage: "[COMMAND [arguments]]", max: 0 },
  options: {},
  notes: () =>
    `Commands (default: start):\n${listing([
      ...Object.values(OWN_COMMANDS).map(({ name, summary }) => [name, summary]),
      ...Object.entries(ENTRIES),
    ])}`,
};

function say(message) {
  console.log(`setup: ${message}`);
}

class SetupError extends Error {}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const works = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;
  if (!works) {
    throw new SetupError(`Node ${process.versions.node} is too old: install Node 20.19 or 22.12 or newer`);
  }
}

function run(program, command, args, env = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (result.error) throw new SetupError(`${program}: cannot run ${command}: ${result.error.message}`);
  return result.signal === null ? (result.status ?? 1) : 1;
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * Returns why the installed tree differs from the lock file, or undefined when they agree. npm writes the
 * hidden lock file of `node_modules` last, so an interrupted install counts as different.
 */
function staleInstall() {
  const locked = readJson(path.join(ROOT, "package-lock.json"))?.packages;
  if (!locked) throw new SetupError("package-lock.json is missing or broken: restore it from git");
  const installed = readJson(path.join(ROOT, "node_modules", ".package-lock.json"))?.packages;
  if (!installed) return "node_modules is missing";
  for (const [location, entry] of Object.entries(locked)) {
    if (location === "") continue;
    const present = installed[location];
    if (present === undefined && entry.optional) continue;
    if (present?.version !== entry.version) return `${location} is not at ${entry.version}`;
  }
  return undefined;
}

function install() {
  const reason = staleInstall();
  if (reason === undefined) return;
  say(`installing dependencies into ${path.join(ROOT, "node_modules")} (${reason})`);
  const status = run("npm ci", process.platform === "win32" ? "npm.cmd" : "npm", [
    "ci",
    // Every dependency works without its install script, so no install script runs.
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
  if (status !== 0) throw new SetupError("npm ci failed; its message is above");
}

function listFiles(directory) {
  if (!fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function isTypeScript(file) {
  return /\.m?tsx?$/.test(file);
}

function isAsset(file) {
  return !isTypeScript(file) && !file.endsWith(".md") && path.basename(file) !== "setup.mjs";
}

function fingerprint(files) {
  const hash = createHash("sha256");
  for (const file of files.toSorted()) {
    const { size, mtimeMs } = fs.statSync(file);
    hash.update(`${path.relative(ROOT, file)} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

/** The web pages are built by their own tool. */
const CONSOLE = path.join("http", "console");

function isOfConsole(file) {
  return path.relative(ROOT, file).startsWith(CONSOLE + path.sep);
}

/** Copies the files that the compiler does not write (Lua scripts, SQL migrations) beside the compiled code. */
function copyAssets(assets) {
  for (const file of assets) {
    const target = path.join(BUILD, path.relative(ROOT, file));
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync(file, target);
  }
}

/** Removes compiled files whose source is gone, so that a deleted module or migration cannot run again. */
function prune(sources) {
  const expected = new Set();
  for (const file of sources) {
    const target = path.join(BUILD, path.relative(ROOT, file));
    expected.add(target);
    if (isTypeScript(file)) {
      const stem = target.replace(/\.tsx?$/, "");
      expected.add(`${stem}.js`).add(`${stem}.js.map`);
    }
  }
  for (const folder of FOLDERS) {
    for (const file of listFiles(path.join(BUILD, folder))) {
      if (!expected.has(file)) fs.rmSync(file);
    }
  }
}

/** Adds what the compiled client needs to be a package of its own: the manifest, the README and the license. */
function completeClient() {
  const { version, license, author, dependencies } = readJson(path.join(ROOT, "package.json"));
  const entry = (name) => ({
    types: `./http/client/${name}.d.ts`,
    default: `./http/client/${name}.js`,
  });
  const manifest = {
    name: "overround-client",
    version,
    description: "The client of the Overround exchange for Node and browsers",
    license,
    author,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { browser: entry("browser"), ...entry("client") },
      "./browser": entry("browser"),
      "./package.json": "./package.json",
    },
    engines: { node: ">=20" },
    dependencies: { ws: `^${dependencies.ws}`, zod: `^${dependencies.zod}` },
  };
  fs.writeFileSync(path.join(CLIENT, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  fs.copyFileSync(path.join(ROOT, "http", "client", "README.md"), path.join(CLIENT, "README.md"));
  fs.copyFileSync(path.join(ROOT, "LICENSE"), path.join(CLIENT, "LICENSE"));
}

function build() {
  const sources = FOLDERS.flatMap((folder) => listFiles(path.join(ROOT, folder)));
  const settings = ["tsconfig.json", "tsconfig.client.json", "package.json", "package-lock.json", "LICENSE"];
  const inputs = [...sources, ...settings.map((file) => path.join(ROOT, file))];
  const stamp = fingerprint(inputs);
  if (fs.existsSync(BUILD_STAMP) && fs.readFileSync(BUILD_STAMP, "utf8") === stamp) return;
  say(`compiling into ${BUILD}`);
  fs.rmSync(BUILD_STAMP, { force: true });
  const compiler = path.join(ROOT, "node_modules", "@typescript", "native", "bin", "tsc");
  fs.rmSync(CLIENT, { recursive: true, force: true });
  // The second project writes the client once more, with its types, into the folder of its package.
  for (const project of ["tsconfig.json", "tsconfig.client.json"]) {
    if (run("tsc", process.execPath, [compiler, "-p", path.join(ROOT, project)]) !== 0) {
      throw new SetupError("the sources do not compile; the errors are above");
    }
  }
  completeClient();
  const pages = path.join(ROOT, CONSOLE);
  const bundler = tool("vite", "bin", "vite.js");
  const bundling = [bundler, "build", pages, "--config", path.join(pages, "vite.config.ts")];
  if (run("vite", process.execPath, bundling) !== 0)
    throw new SetupError("the console does not build; the errors are above");
  copyAssets(sources.filter((file) => isAsset(file) && !isOfConsole(file)));
  prune(sources);
  fs.writeFileSync(BUILD_STAMP, stamp);
}

function tool(...location) {
  return path.join(ROOT, "node_modules", ...location);
}

/** Runs the tests in the named files, or all of them. Returns 0 when they pass. */
async function test(line) {
  if (process.env.TEST_REDIS_URL === undefined) {
    const fetched = run("fetch-redis", process.execPath, [path.join(BUILD, "scripts", "fetch-redis.js")]);
    if (fetched !== 0) return fetched;
  }
  const { runTests } = await import(pathToFileURL(TEST_RUNNER).href);
  return runTests(line);
}

/** Lets prettier skip files whose contents have passed before. */
const CACHED = [
  "--cache",
  "--cache-strategy",
  "content",
  "--cache-location",
  path.join(ROOT, ".cache", "prettier"),
];

/** Runs one check and prints its output when it has failed, so that the lines of parallel checks do not mix. */
function runCheck([name, ...args]) {
  const began = Date.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...process.env, FORCE_COLOR: "1" } });
    const output = [];
    child.stdout.on("data", (chunk) => output.push(chunk));
    child.stderr.on("data", (chunk) => output.push(chunk));
    child.on("close", (code) => {
      if (code !== 0) process.stdout.write(Buffer.concat(output));
      say(`${name} ${code === 0 ? "passed" : "FAILED"} in ${((Date.now() - began) / 1000).toFixed(1)} s`);
      resolve(code === 0 ? [] : [name]);
    });
  });
}

/**
 * Runs every quick check, all of them even when one fails, and names the failed ones at the end. The linter takes as
 * long as the rest together, so it has a lane of its own.
 */
async function check() {
  const lanes = [
    [["eslint", tool("eslint", "bin", "eslint.js"), ".", "--max-warnings", "0"]],
    [
      ["types", tool("@typescript", "native", "bin", "tsc"), "-p", "test/tsconfig.json"],
      [
        "types of the console",
        tool("@typescript", "native", "bin", "tsc"),
        "-p",
        "http/console/tsconfig.json",
      ],
      ["dead code", tool("knip", "bin", "knip.js"), "--no-progress"],
      ["prettier", tool("prettier", "bin", "prettier.cjs"), "--check", ".", "--log-level", "warn", ...CACHED],
      ["unit tests", tool("mocha", "bin", "mocha.js"), ...UNIT_TESTS, "--reporter", "dot"],
    ],
  ];
  const runLane = async (steps) => {
    const failed = [];
    for (const step of steps) failed.push(...(await runCheck(step)));
    return failed;
  };
  const failed = (await Promise.all(lanes.map(runLane))).flat();
  say(failed.length === 0 ? "check passed" : `check failed: ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

/** Imports the compiled entry in this process, so that its signals and its exit code are those of the command. */
async function runEntry(name, args) {
  const entry = path.join(BUILD, "scripts", `${ENTRY_FILES[name] ?? name}.js`);
  process.setSourceMapsEnabled(true);
  process.argv = [process.execPath, entry, ...args];
  await import(pathToFileURL(entry).href);
}

function prepare({ compile }) {
  checkNode();
  process.chdir(ROOT);
  const onWait = (holder) => say(`waiting for another set-up (process ${holder}) to finish`);
  exclusively(SETUP_LOCK, { waitMs: LOCK_WAIT_MS, onWait }, () => {
    install();
    if (compile) build();
  });
}

async function main([command = "start", ...args]) {
  if (Object.hasOwn(OWN_COMMANDS, command)) {
    process.argv = [process.execPath, fileURLToPath(import.meta.url), ...args];
    const line = readCommandLine(OWN_COMMANDS[command]);
    prepare({ compile: command !== "check" });
    if (command === "check") process.exitCode = await check();
    if (command === "test") process.exitCode = await test(line);
    return;
  }
  if (!Object.hasOwn(ENTRIES, command)) readCommandLine(SETUP);
  prepare({ compile: true });
  await runEntry(command, args);
}

main(process.argv.slice(2)).catch((error) => {
  const isExpected = error instanceof SetupError || error instanceof LockHeld;
  console.error(isExpected ? `setup: ${error.message}` : error);
  process.exitCode = 1;
});
