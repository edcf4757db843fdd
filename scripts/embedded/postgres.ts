import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { identityOf, isRunning, markOf } from "../supervisor/identity.js";
import { StartError } from "../supervisor/start-error.js";
import { type PostgresBinaries, postgresBinaries } from "./postgres-binaries.js";
import { isReachableByAll, isRoot, makeReachable, NOBODY, SHARED_HOME } from "./reach.js";
import { newPassword, readRecord, recordForStart, type ServerRecord, writeRecord } from "./record.js";
import {
  checkDiskSpace,
  choosePort,
  launch,
  LEFTOVER_TIMEOUT_MS,
  type LineLog,
  processesIn,
  PROGRESS_MS,
  type RunningServer,
  stopLeftover,
  waitForLeftover,
  waitUntilReady,
} from "./server.js";

/** Options of an embedded Postgres. */
export interface PostgresOptions {
  /** Data directory of the set; the cluster is its subdirectory `postgres`. The caller holds its lock. */
  readonly dataDir: string;
  /** Receives the output of the server. */
  readonly log: LineLog;
  /** Receives the messages for the person at the terminal; default: `log`. */
  readonly say?: LineLog;
  /** True for a restart under running roles, which know the port: it must not change. */
  readonly keepPort?: boolean;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  /** False only in tests, which do not need their cluster after a crash. */
  readonly durable?: boolean;
}

const USER = "overround";
const DATABASE = "overround";
/** Longest start in ms; the recovery after a crash may read much of the write-ahead log. */
const READY_TIMEOUT_MS = 300_000;
const OLD_SERVER_RETRY_MS = 250;
const C_LOCALE = { LC_ALL: "C", TZ: "UTC" };

/**
 * Starts Postgres on the data directory and creates the cluster and the database the first time. The server listens
 * on loopback only, requires a password, and keeps its port over restarts.
 * @throws StartError with one line that names the problem and the remedy.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const { dataDir, say = options.log } = options;
  fs.mkdirSync(dataDir, { recursive: true });
  checkDiskSpace("postgres", dataDir);
  const known = recordForStart(dataDir, "postgres", say);
  await stopLeftover("postgres", known?.process, "SIGINT", say);
  const binaries = postgresBinaries(say);
  const record: ServerRecord = {
    port: await choosePort("postgres", known?.port, options.keepPort ?? false, say),
    password: known?.password ?? newPassword(),
  };
  if (known !== undefined) refuseCopiedLink(dataDir, known);
  const cluster = clusterDirectory(dataDir, say);
  const exists = fs.existsSync(path.join(cluster, "PG_VERSION"));
  if (!exists) createCluster(binaries, cluster, record.password, say);
  checkOwner(cluster);
  await clearPidFile(cluster, say);
  if (exists && known === undefined) await setPassword(binaries, cluster, record.password, options);
  writeRecord(dataDir, "postgres", record);
  return afterOldServer(cluster, say, options.signal, () => serve(options, binaries, cluster, record));
}

/**
 * Starts the server as soon as the last process of a killed server has ended. Postgres does not start before that, and
 * those processes notice the end of their server only after their query; they are therefore asked to end at once.
 */
async function afterOldServer<Result>(
  cluster: string,
  say: LineLog,
  signal: AbortSignal | undefined,
  start: () => Promise<Result>,
): Promise<Result> {
  const begunMs = Date.now();
  let saidMs = -Infinity;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      const isOver = signal?.aborted === true || Date.now() - begunMs > LEFTOVER_TIMEOUT_MS;
      if (!(error instanceof OldServerError) || isOver) throw error;
      if (Date.now() - saidMs >= PROGRESS_MS) {
        say(`postgres: waiting for the processes of a killed server on ${cluster} to end`);
        saidMs = Date.now();
        // SIGQUIT ends a Postgres process without a shutdown; the server of these processes has ended already.
        for (const pid of processesIn(cluster, ["postgres"])) process.kill(pid, "SIGQUIT");
      }
      await sleep(OLD_SERVER_RETRY_MS);
    }
  }
}

async function serve(
  { dataDir, log, durable = true, signal }: PostgresOptions,
  binaries: PostgresBinaries,
  cluster: string,
  record: ServerRecord,
): Promise<RunningServer> {
  const settings = {
    port: record.port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    shared_buffers: "128MB",
    ...(durable ? {} : { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  const server = await launch({
    command: binaries.postgres,
    args: ["-D", cluster, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    cwd: "/",
    env: C_LOCALE,
    ...(isRoot() ? { user: NOBODY } : {}),
    stopSignal: "INT",
    log,
  });
  writeRecord(dataDir, "postgres", { ...record, process: markOf(server.pid) });
  const url = (database: string): string => urlOf(record, database);
  await waitUntilReady(
    server,
    () => answers(url("postgres")),
    READY_TIMEOUT_MS,
    (lines) => failureOf(cluster, lines),
    signal,
  );
  await createDatabase(url("postgres"));
  return {
    url: url(DATABASE),
    pid: server.pid,
    port: record.port,
    stop: (graceMs) => server.stop(graceMs),
    onExit: (listener) => void server.exited.then(listener),
  };
}

function urlOf({ port, password }: ServerRecord, database: string): string {
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;
}

/** Returns the URL of the embedded database of a data directory; `undefined` if it has never run. */
export function embeddedPostgresUrl(dataDir: string): string | undefined {
  const record = readRecord(dataDir, "postgres");
  return record === undefined ? undefined : urlOf(record, DATABASE);
}

/**
 * Returns the directory of the cluster, `DATA_DIR/postgres`. Where root starts the server and the unprivileged user
 * cannot enter that directory (below a private home), the name is a link to a directory that the user can enter.
 */
function clusterDirectory(dataDir: string, say: LineLog): string {
  const usual = path.join(dataDir, "postgres");
  if (fs.existsSync(usual)) return fs.realpathSync(usual);
  fs.rmSync(usual, { force: true });
  if (!isRoot()) return usual;
  fs.chmodSync(dataDir, fs.statSync(dataDir).mode | 0o011);
  if (isReachableByAll(dataDir)) return path.join(fs.realpathSync(dataDir), "postgres");
  makeReachable(SHARED_HOME);
  const home = fs.mkdtempSync(path.join(SHARED_HOME, "data-"));
  makeReachable(home);
  const cluster = path.join(home, "postgres");
  fs.symlinkSync(cluster, usual);
  say(
    `postgres: the data is in ${cluster}, because Postgres does not run as root and no other user can enter ${dataDir}`,
  );
  return cluster;
}

/** Throws for a copied data directory whose link to the cluster leads to the data of the original. */
function refuseCopiedLink(dataDir: string, { directory }: ServerRecord): void {
  const link = path.join(dataDir, "postgres");
  if (directory === undefined || directory === identityOf(dataDir)) return;
  if (!fs.lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new StartError(
    `postgres: ${dataDir} is a copy, and ${link} leads to the data of the original, ${fs.readlinkSync(link)}: ` +
      "replace that link by a copy of the data",
  );
}

/** Creates the cluster beside its final directory and renames it at the end, so that no incomplete cluster is used. */
function createCluster(binaries: PostgresBinaries, cluster: string, password: string, say: LineLog): void {
  say(`postgres: creating a database cluster in ${cluster}`);
  const draft = `${cluster}.new`;
  const passwordFile = `${cluster}.password`;
  fs.rmSync(draft, { recursive: true, force: true });
  fs.rmSync(passwordFile, { force: true });
  fs.mkdirSync(draft, { mode: 0o700 });
  fs.writeFileSync(passwordFile, password, { mode: 0o600 });
  if (isRoot()) for (const file of [draft, passwordFile]) fs.chownSync(file, NOBODY.uid, NOBODY.gid);
  const result = spawnSync(
    binaries.initdb,
    [
      ...["-D", draft, "-U", USER, "--pwfile", passwordFile, "--auth=scram-sha-256", "--encoding=UTF8"],
      ...["--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"],
    ],
    { cwd: "/", env: C_LOCALE, encoding: "utf8", ...(isRoot() ? NOBODY : {}) },
  );
  fs.rmSync(passwordFile, { force: true });
  if (result.status !== 0) {
    const reason = result.error?.message ?? result.stderr;
    throw new StartError(explain(cluster, reason.split("\n")));
  }
  fs.renameSync(draft, cluster);
}

/** Gives the owner of the cluster a password, with a server of a single session that needs none. */
async function setPassword(
  binaries: PostgresBinaries,
  cluster: string,
  password: string,
  { log, say = log, signal }: PostgresOptions,
): Promise<void> {
  say(`postgres: setting a new password for the cluster in ${cluster}`);
  await afterOldServer(cluster, say, signal, () => {
    const { status, error, stderr } = spawnSync(binaries.postgres, ["--single", "-D", cluster, "postgres"], {
      cwd: "/",
      env: C_LOCALE,
      encoding: "utf8",
      input: `ALTER ROLE ${USER} PASSWORD '${password}'\n`,
      ...(isRoot() ? NOBODY : {}),
    });
    const faults = stderr.split("\n").filter((line) => /error|fatal|panic/i.test(line));
    if (status !== 0 || faults.length > 0) throw failureOf(cluster, [...faults, error?.message ?? ""]);
    return Promise.resolve();
  });
}

function checkOwner(cluster: string): void {
  const me = isRoot() ? NOBODY.uid : process.getuid?.();
  const { uid } = fs.statSync(cluster);
  if (me === undefined || uid === me) return;
  throw new StartError(
    `postgres: ${cluster} belongs to user ${uid}: start as the user who created it, or set another DATA_DIR`,
  );
}

/**
 * Waits for the server that the pid file names, and removes a pid file whose process id now belongs to another
 * program, as happens in containers. A pid file whose process has ended is left to Postgres, which also checks that no
 * process of the dead server still runs.
 */
async function clearPidFile(cluster: string, say: LineLog): Promise<void> {
  const file = path.join(cluster, "postmaster.pid");
  if (!fs.existsSync(file)) return;
  const pid = Number(fs.readFileSync(file, "utf8").split("\n")[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const mark = markOf(pid);
  if (!isRunning(mark)) return;
  if (isPostgresOf(pid, cluster)) return waitForLeftover("postgres", mark, say);
  say(`postgres: removing a stale ${file}; its process ${pid} is now another program`);
  fs.rmSync(file);
}

function isPostgresOf(pid: number, cluster: string): boolean {
  const shown = fs.existsSync(`/proc/${pid}/cmdline`)
    ? fs.readFileSync(`/proc/${pid}/cmdline`, "utf8")
    : spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout;
  return shown.includes("postgres") && shown.includes(cluster);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === "28P01") {
      throw new StartError(
        "postgres: the password in postgres.json is not the password of this cluster, whose data is intact: restore " +
          "that file, or remove it, and the next start sets a new password",
      );
    }
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
  });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

/** Failure of a start because processes of an earlier server have not ended yet. */
class OldServerError extends StartError {}

function failureOf(cluster: string, output: readonly string[]): StartError {
  if (!/pre-existing shared memory block|lock file "postmaster.pid" already exists/.test(output.join("\n"))) {
    return new StartError(explain(cluster, output));
  }
  return new OldServerError(
    `postgres: processes of a killed server still use ${cluster}: end every postgres process whose working ` +
      "directory it is",
  );
}

/** Returns one line with the remedy for the last output of a server that did not start. */
function explain(cluster: string, output: readonly string[]): string {
  const text = output.join("\n");
  if (/no space left on device|disk quota exceeded/i.test(text)) {
    return `postgres: the disk of ${cluster} is full: free space on it, or set DATA_DIR to another disk`;
  }
  if (/could not bind|address already in use/i.test(text)) {
    return "postgres: another program took its port during the start: start again";
  }
  if (
    /error while loading shared libraries|no such file or directory.*(ld-linux|initdb)|ENOENT/i.test(text)
  ) {
    return `postgres: the server programs do not run here: set DATABASE_URL to a running Postgres (${firstFault(output)})`;
  }
  if (/database files are incompatible/i.test(text)) {
    return `postgres: ${cluster} was created by another version: move it away, or set another DATA_DIR`;
  }
  return `postgres did not start: ${firstFault(output)} (data in ${cluster})`;
}

function firstFault(output: readonly string[]): string {
  const fault = output.find((line) => /fatal|error|panic|invalid|could not|cannot/i.test(line));
  return (fault ?? output.findLast((line) => line.trim() !== "") ?? "no output").trim();
}
