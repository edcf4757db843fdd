/**
 * Brings a fresh clone to the point where a command can run, then runs it: installs the dependencies
 * when `node_modules` is missing or differs from the lock file, compiles when a source has changed,
 * and hands over to the compiled entry. It imports nothing but Node's own modules, because it runs
 * before anything is installed.
 *
 * Usage: node scripts/setup.mjs <build|check|test|a compiled entry of scripts/> [arguments]
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const BUILD = path.join(ROOT, ".build");
const BUILD_STAMP = path.join(BUILD, "stamp");
const SETUP_LOCK = path.join(ROOT, ".cache", "setup.lock");
const ROOMS = ["actors", "stream", "db", "http", "scripts"];
const LOCK_WAIT_MS = 300_000;
const ALL_TESTS = ["test/**/*.test.ts"];
/** Tests that need no server. */
const UNIT_TESTS = ["test/actors/**/*.test.ts", "test/house/**/*.test.ts"];
/** The path of an order, who may do what, and surface B. */
const BRANDED_TESTS = [
  "test/http/trading/first-trade.test.ts",
  "test/http/auth/signed-requests.test.ts",
  "test/http/matrix/matrix.test.ts",
  "test/http/by-hand/by-hand.test.ts",
  "test/http/surface-b/*.test.ts",
];

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

function run(what, command, args, env = {}) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (result.error) throw new SetupError(`${what}: cannot run ${command}: ${result.error.message}`);
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
 * Says why the installed tree differs from the lock file, or returns undefined when it does not. npm
 * writes what it installed to a hidden lock file last of all, so an interrupted install is noticed too.
 */
function staleInstall() {
  const wanted = readJson(path.join(ROOT, "package-lock.json"))?.packages;
  if (!wanted) throw new SetupError("package-lock.json is missing or broken: restore it from git");
  const installed = readJson(path.join(ROOT, "node_modules", ".package-lock.json"))?.packages;
  if (!installed) return "node_modules is missing";
  for (const [location, entry] of Object.entries(wanted)) {
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
    // No dependency needs a script of its own to run, so none does.
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ]);
  if (status !== 0) throw new SetupError("npm ci failed; its own message is above");
}

function listFiles(directory) {
  if (!fs.existsSync(directory)) return [];
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

function isTypeScript(file) {
  return file.endsWith(".ts") || file.endsWith(".tsx");
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

/** Copies what the compiler does not write (Lua scripts, SQL migrations, web pages) beside the compiled code. */
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
      expected.add(`${stem}.js`).add(`${stem}.js.map`).add(`${stem}.d.ts`);
    }
  }
  for (const room of ROOMS) {
    for (const file of listFiles(path.join(BUILD, room))) {
      if (!expected.has(file)) fs.rmSync(file);
    }
  }
}

function build() {
  const sources = ROOMS.flatMap((room) => listFiles(path.join(ROOT, room)));
  const settings = ["tsconfig.json", "tsconfig.client.json", "package-lock.json"];
  const inputs = [...sources, ...settings.map((file) => path.join(ROOT, file))];
  const stamp = fingerprint(inputs);
  if (fs.existsSync(BUILD_STAMP) && fs.readFileSync(BUILD_STAMP, "utf8") === stamp) return;
  say(`compiling into ${BUILD}`);
  fs.rmSync(BUILD_STAMP, { force: true });
  const compiler = path.join(ROOT, "node_modules", "@typescript", "native", "bin", "tsc");
  // The second writes the types of what the package exports.
  for (const project of ["tsconfig.json", "tsconfig.client.json"]) {
    if (run("tsc", process.execPath, [compiler, "-p", path.join(ROOT, project)]) !== 0) {
      throw new SetupError("the sources do not compile; the errors are above");
    }
  }
  copyAssets(sources.filter(isAsset));
  prune(sources);
  fs.writeFileSync(BUILD_STAMP, stamp);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Runs `work` alone: two commands started together must not install or compile over each other. */
function exclusively(work) {
  fs.mkdirSync(path.dirname(SETUP_LOCK), { recursive: true });
  const deadline = Date.now() + LOCK_WAIT_MS;
  let told = false;
  for (;;) {
    try {
      fs.writeFileSync(SETUP_LOCK, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = Number(fs.readFileSync(SETUP_LOCK, { encoding: "utf8", flag: "a+" }));
    if (holder > 0 && !isAlive(holder)) {
      fs.rmSync(SETUP_LOCK, { force: true });
      continue;
    }
    if (Date.now() > deadline) {
      throw new SetupError(
        `another set-up (process ${holder}) does not end; stop it or remove ${SETUP_LOCK}`,
      );
    }
    if (!told) say(`waiting for another set-up (process ${holder}) to finish`);
    told = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  try {
    work();
  } finally {
    fs.rmSync(SETUP_LOCK, { force: true });
  }
}

function tool(...location) {
  return path.join(ROOT, "node_modules", ...location);
}

function test(args) {
  if (process.env.TEST_REDIS_URL === undefined) {
    const fetched = run("fetch-redis", process.execPath, [path.join(BUILD, "scripts", "fetch-redis.js")]);
    if (fetched !== 0) return fetched;
  }
  const mocha = (specs, env = {}) =>
    run("mocha", process.execPath, [tool("mocha", "bin", "mocha.js"), ...specs, ...args], env);
  if (args.some((arg) => !arg.startsWith("-"))) return mocha([]);
  say("running the tests of what brand and prefix change, as Acme and abc");
  const branded = mocha(BRANDED_TESTS, { SIGNATURE_BRAND: "Acme", SERVICE_PREFIX: "abc" });
  say(`running the tests ${ALL_TESTS.join(" ")}`);
  return mocha(ALL_TESTS) || branded;
}

/** Runs one check and prints what it said when it is done, so that checks side by side do not mix their lines. */
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
 * Runs every quick check, all of them even when one fails, and sums up at the end. The linter takes as long as
 * the rest together, so it has a lane of its own.
 */
async function check() {
  const lanes = [
    [["eslint", tool("eslint", "bin", "eslint.js"), ".", "--max-warnings", "0"]],
    [
      ["types", tool("@typescript", "native", "bin", "tsc"), "-p", "test/tsconfig.json"],
      ["prettier", tool("prettier", "bin", "prettier.cjs"), "--check", ".", "--log-level", "warn"],
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

/** Becomes the compiled entry `name`, in this process, so that signals and the exit code are its own. */
async function become(name, args) {
  const entry = path.join(BUILD, "scripts", `${name}.js`);
  if (!/^[a-z][a-z0-9-]*$/.test(name) || !fs.existsSync(entry)) {
    throw new SetupError(`there is no command '${name}' (scripts/${name}.ts)`);
  }
  process.setSourceMapsEnabled(true);
  process.argv = [process.execPath, entry, ...args];
  await import(pathToFileURL(entry).href);
}

async function main([command = "start", ...args]) {
  checkNode();
  process.chdir(ROOT);
  exclusively(() => {
    install();
    if (command !== "check") build();
  });
  switch (command) {
    case "build":
      return;
    case "check":
      process.exitCode = await check();
      return;
    case "test":
      process.exitCode = test(args);
      return;
    default:
      await become(command, args);
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error instanceof SetupError ? `setup: ${error.message}` : error);
  process.exitCode = 1;
});
