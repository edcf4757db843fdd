/**
 * Redis and Postgres of the integration tests: started for the first test that needs them, shared by the whole run, and
 * stopped at its end. Each test takes a database of its own. `TEST_REDIS_URL` and `TEST_DATABASE_URL` name servers to use
 * instead; the test run sets both for the processes that it starts.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { startPostgres } from "../../scripts/embedded/postgres.js";
import { startRedis } from "../../scripts/embedded/redis.js";
import type { RunningServer } from "../../scripts/embedded/server.js";

const REDIS_DATABASES = 4_096;
const quiet = (): void => undefined;

let dataDir: string | undefined;
const started: RunningServer[] = [];
let redisServer: Promise<string> | undefined;
let postgresServer: Promise<string> | undefined;
let count = 0;

function sharedDataDir(): string {
  dataDir ??= fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  return dataDir;
}

async function keep(server: Promise<RunningServer>): Promise<string> {
  const running = await server;
  started.push(running);
  return running.url;
}

/** Directory of downloaded programs, the same as for `npm start`. */
export const cacheDir = path.resolve(import.meta.dirname, "..", "..", ".cache");

/** Returns the URL of the shared Redis, without a database number. */
export function redisUrl(): Promise<string> {
  redisServer ??= (async () => {
    const url =
      process.env["TEST_REDIS_URL"] ??
      (await keep(
        startRedis({
          dataDir: sharedDataDir(),
          log: quiet,
          cacheDir,
          fsync: "everysec",
          databases: REDIS_DATABASES,
          serverBin: process.env["REDIS_SERVER_BIN"],
        }),
      ));
    process.env["TEST_REDIS_URL"] = url;
    return url;
  })();
  return redisServer;
}

/** Returns the URL of the shared Postgres. */
export function databaseUrl(): Promise<string> {
  postgresServer ??= (async () => {
    const url =
      process.env["TEST_DATABASE_URL"] ??
      (await keep(startPostgres({ dataDir: sharedDataDir(), log: quiet, durable: false })));
    process.env["TEST_DATABASE_URL"] = url;
    return url;
  })();
  return postgresServer;
}

/** Empty Redis for one test. */
export interface FreshRedis {
  /** URL with the number of a database that no other test uses, so that a test may read every key. */
  readonly url: string;
  /** Prefix that is unique in this run, for names beyond one database: channels, and keys on a cluster. */
  readonly prefix: string;
  /** Deletes every key. */
  drop(): Promise<void>;
}

/** Returns an empty Redis database; call `drop` in `afterEach`, after closing the connections of the test. */
export async function freshRedis(): Promise<FreshRedis> {
  count += 1;
  const prefix = `t${process.pid.toString(36)}-${count}:`;
  const url = new URL(await redisUrl());
  url.pathname = `/${count % REDIS_DATABASES}`;
  const flush = async (): Promise<void> => {
    const client = new Redis(url.href, { lazyConnect: true, retryStrategy: () => null });
    await client.connect();
    await client.flushdb();
    client.disconnect();
  };
  await flush();
  return { url: url.href, prefix, drop: flush };
}

/** Postgres database for one test. */
export interface FreshDatabase {
  readonly url: string;
  /** Removes the database and closes its connections. */
  drop(): Promise<void>;
}

type Prepare = (databaseUrl: string) => Promise<void>;
const templates = new Map<Prepare, Promise<string>>();

/**
 * Returns a database: an empty one, or a copy of the one that `prepare` (such as `migrate`) has set up, which runs once
 * in the whole run. Call `drop` in `afterEach`.
 */
export async function freshDatabase(prepare?: Prepare): Promise<FreshDatabase> {
  return createDatabase(prepare === undefined ? undefined : await templateOf(prepare));
}

function templateOf(prepare: Prepare): Promise<string> {
  const known = templates.get(prepare);
  if (known !== undefined) return known;
  const made = (async () => {
    const { url } = await createDatabase(undefined);
    await prepare(url);
    return new URL(url).pathname.slice(1);
  })();
  templates.set(prepare, made);
  return made;
}

async function createDatabase(template: string | undefined): Promise<FreshDatabase> {
  count += 1;
  const server = await databaseUrl();
  const name = `t_${process.pid}_${count}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await command(server, `CREATE DATABASE ${name}${template === undefined ? "" : ` TEMPLATE ${template}`}`);
  return { url: url.href, drop: () => command(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function command(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Stops the servers; Mocha calls this at the end of the run. */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all(started.map((server) => server.stop()));
  if (dataDir !== undefined) fs.rmSync(dataDir, { recursive: true, force: true });
}
