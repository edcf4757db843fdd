import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { programPath } from "../config.js";
import { lastAofFile, repairAof } from "./aof-repair.js";
import { REWRITE_PERCENT } from "./append-only-file.js";
import { markOf } from "../supervisor/identity.js";
import { StartError } from "../supervisor/start-error.js";
import { isFree } from "./ports.js";
import { newPassword, readRecord, recordForStart, type ServerRecord, writeRecord } from "./record.js";
import { findRedis } from "./redis-binary.js";
import {
  checkDiskSpace,
  choosePort,
  launch,
  type LineLog,
  processesIn,
  type RunningServer,
  stopLeftover,
  waitUntilReady,
} from "./server.js";

/** Options of an embedded Redis. */
export interface RedisOptions {
  /** Data directory of the set; the log of the exchange is in its subdirectory `redis`. The caller holds its lock. */
  readonly dataDir: string;
  /** Receives the output of the server. */
  readonly log: LineLog;
  /** Receives the messages for the person at the terminal; default: `log`. */
  readonly say?: LineLog;
  /** `REDIS_SERVER_BIN`. */
  readonly serverBin?: string | undefined;
  /** Directory of a downloaded server program. */
  readonly cacheDir: string;
  /** `always`: every acknowledged write survives a power failure. `everysec`: the last second may be lost. */
  readonly fsync: "always" | "everysec";
  /** True for a restart under running roles, which know the port: it must not change. */
  readonly keepPort?: boolean;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  /** Number of numbered databases; only tests need many. */
  readonly databases?: number;
}

const READY_TIMEOUT_MS = 300_000;
const MEGABYTE = 1024 * 1024;

/**
 * Starts Redis on the data directory with an append-only file, without eviction, on loopback only, and with a
 * password; the port stays the same over restarts. Resolves when the append-only file is loaded.
 * @throws StartError with one line that names the problem and the remedy.
 */
export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  const { dataDir, log, say = log } = options;
  const directory = path.join(dataDir, "redis");
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  checkDiskSpace("redis", directory);
  const known = recordForStart(dataDir, "redis", say);
  if (known === undefined) await stopUnrecorded(directory, say);
  await stopLeftover("redis", known?.process, "SIGTERM", say);
  await repairLastAof(directory, say);
  const binary = findRedis({
    serverBin: options.serverBin,
    programPath: programPath(),
    cacheDir: options.cacheDir,
    log: say,
  });
  const record: ServerRecord = {
    port: await choosePort("redis", known?.port, options.keepPort ?? false, say),
    password: known?.password ?? newPassword(),
  };
  const configFile = path.join(directory, "redis.conf");
  fs.writeFileSync(configFile, configuration(options, directory, record), { mode: 0o600 });
  const server = await launch({
    command: binary.command,
    args: [configFile],
    cwd: directory,
    env: binary.env,
    stopSignal: "TERM",
    log,
  });
  writeRecord(dataDir, "redis", { ...record, process: markOf(server.pid) });
  await waitUntilReady(
    server,
    () => answers(record),
    READY_TIMEOUT_MS,
    (lines) => new StartError(explain(directory, lines)),
    options.signal,
  );
  return {
    url: urlOf(record),
    pid: server.pid,
    port: record.port,
    stop: (graceMs) => server.stop(graceMs),
    onExit: (listener) => void server.exited.then(listener),
  };
}

function urlOf({ port, password }: ServerRecord): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/** Returns the URL of the embedded Redis of a data directory; `undefined` if it has never run. */
export function embeddedRedisUrl(dataDir: string): string | undefined {
  const record = readRecord(dataDir, "redis");
  return record === undefined ? undefined : urlOf(record);
}

/** Stops a server that serves the directory without a record of it: two servers would destroy the append-only file. */
async function stopUnrecorded(directory: string, say: LineLog): Promise<void> {
  for (const pid of processesIn(directory, ["redis-server", "valkey-server"])) {
    await stopLeftover("redis", markOf(pid), "SIGTERM", say);
  }
  const configFile = path.join(directory, "redis.conf");
  const written = fs.existsSync(configFile) ? fs.readFileSync(configFile, "utf8") : "";
  const port = /^port (\d+)$/m.exec(written)?.[1];
  if (process.platform === "linux" || port === undefined || (await isFree(Number(port)))) return;
  throw new StartError(
    `redis: redis.json is missing, and the server on port ${port} may still serve ${directory}, whose data is intact: ` +
      `stop that server, or remove ${configFile} if it is another program`,
  );
}

/**
 * Cuts the torn tail that a crash has left. Redis 7.0 cuts a tail inside a transaction after its MULTI; the next start
 * would then execute the first half of that transaction, and the actor whose commit it was would halt. Also cuts such a half
 * that an earlier start of Redis without this repair has left.
 */
async function repairLastAof(directory: string, say: LineLog): Promise<void> {
  const file = lastAofFile(directory);
  if (file !== undefined) await repairAof(file, { say: (line) => say(`redis: ${line}`), cuts: true });
}

function configuration(options: RedisOptions, directory: string, record: ServerRecord): string {
  const settings: Record<string, string | number> = {
    bind: "127.0.0.1",
    port: record.port,
    requirepass: record.password,
    dir: quoted(directory),
    daemonize: "no",
    logfile: '""',
    databases: options.databases ?? 16,
    appendonly: "yes",
    appendfsync: options.fsync,
    // Redis would cut a torn tail inside of a transaction; `repairLastAof` cuts it at the right place.
    "aof-load-truncated": "no",
    // Rewrites the append-only file when it has doubled, so that it is bounded by the live data and not by the history.
    "auto-aof-rewrite-percentage": REWRITE_PERCENT,
    "auto-aof-rewrite-min-size": "64mb",
    // A compressed file is a quarter smaller, but its rewrite takes a core for twice as long, and requests wait for it.
    rdbcompression: "no",
    // The append-only file holds the data; a snapshot in addition would only cost time.
    save: '""',
    // The streams are the source of all data: Redis must refuse a write rather than evict an entry.
    "maxmemory-policy": "noeviction",
    maxmemory: `${maxMemoryMb()}mb`,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}\n`)
    .join("");
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Returns a quarter of the memory of the machine, within bounds that leave room for the roles and for Postgres. */
function maxMemoryMb(): number {
  return Math.min(4_096, Math.max(256, Math.floor(os.totalmem() / MEGABYTE / 4)));
}

async function answers({ port, password }: ServerRecord): Promise<boolean> {
  const client = new Redis({
    host: "127.0.0.1",
    port,
    password,
    lazyConnect: true,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    // Redis refuses PING with LOADING until the append-only file is loaded.
    await client.ping();
    return true;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/** Returns one line with the remedy for the last output of a server that did not start. */
function explain(directory: string, output: readonly string[]): string {
  const text = output.join("\n");
  if (/no space left on device|disk quota exceeded/i.test(text)) {
    return `redis: the disk of ${directory} is full: free space on it, or set DATA_DIR to another disk`;
  }
  if (/address already in use/i.test(text))
    return "redis: another program took its port during the start: start again";
  if (/bad file format reading the append only file|unexpected end of file/i.test(text)) {
    return (
      `redis: the append-only file in ${directory} is damaged before its end: restore the directory from a backup, ` +
      `or copy it, then run redis-check-aof --fix on the file that appendonlydir's manifest names last, which ` +
      `removes everything after the damage`
    );
  }
  const fault = output.find((line) => /fatal|error|can't|cannot|permission/i.test(line));
  return `redis did not start: ${(fault ?? output.at(-1) ?? "no output").trim()} (data in ${directory})`;
}
