/**
 * The real Redis and Postgres of the integration tests: started when the first test asks, shared by the whole
 * run, stopped at its end. Each test takes a database of its own from them. `TEST_REDIS_URL` and
 * `TEST_DATABASE_URL` name servers to use instead; the test run sets both, for tests that start processes.
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

/** Where downloaded programs are kept between runs, the same place as for `npm start`. */
export const cacheDir = path.resolve(import.meta.dirname, "..", "..", ".cache");

/** The URL of the shared Redis, without a database number. */
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

/** The URL of the shared Postgres. */
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

/** An empty Redis for one test. */
export interface FreshRedis {
  /** Names a numbered database which no other test uses, so whole key spaces can be looked at. */
  readonly url: string;
  /** Unique in this run, for names that go beyond a database: channels, and keys on a cluster. */
  readonly prefix: string;
  /** Forgets everything in it. */
  drop(): Promise<void>;
}

/** Hands out an empty Redis database; call `drop` in `afterEach`, after closing the test's own connections. */
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

/** A database for one test. */
export interface FreshDatabase {
  readonly url: string;
  /** Removes it, closing whatever is still connected. */
  drop(): Promise<void>;
}

type Prepare = (databaseUrl: string) => Promise<void>;
const templates = new Map<Prepare, Promise<string>>();

/**
 * Hands out a database of its own: empty, or as `prepare` (such as `migrate`) leaves one. `prepare` runs once
 * for the whole run; the databases are copies of what it made. Call `drop` in `afterEach`.
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

/** Mocha calls this when the run is over. */
export async function mochaGlobalTeardown(): Promise<void> {
  await Promise.all(started.map((server) => server.stop()));
  if (dataDir !== undefined) fs.rmSync(dataDir, { recursive: true, force: true });
}
