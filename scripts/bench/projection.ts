/**
 * Measures the projector: a log is filled with orders without a projector, and then one projector, or several, write it to
 * Postgres. A busy machine affects the rate, but hardly the CPU time of an order.
 */

import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { type ActorId, PARTITIONS } from "../../actors/actor.js";
import { connect, type Database, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { projectedPositions } from "../../db/queries/projected.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { startPostgres } from "../embedded/postgres.js";
import { processesIn } from "../embedded/server.js";
import { NODE_OPTIONS } from "../roles/node-options.js";
import { LedgerTarget } from "./orders/ledger-target.js";
import { Load } from "./orders/load.js";
import { cpuSeconds, killProcess, startProcess } from "./orders/processes.js";
import { startOneRedis, startStage } from "./orders/stage.js";
import type { Row } from "./table.js";

const SHAPE = { markets: 16, wallets: 64, batch: 20, outstanding: 1_000 };
const ORDERS = 100_000;
const PROJECTORS = [1, 2];
/** Tables that get a row for each event; the rows of all others change in place. */
const TABLES = ["orders", "fills", "entries", "trades"];
const POLL_MS = 20;

interface Sample {
  readonly atMs: number;
  readonly rows: number;
  readonly projectorSeconds: number;
  readonly postgresSeconds: number;
}

export async function projection(operations = ORDERS): Promise<Row[]> {
  const stage = await startStage(await startOneRedis("everysec"), 1);
  try {
    const written = await fillLog(stage.redisUrl, operations);
    const rows: Row[] = [];
    for (const projectors of PROJECTORS) rows.push(...(await project(stage.redisUrl, projectors, written)));
    return rows;
  } finally {
    await stage.stop();
  }
}

/** Sends at least `count` operations; returns how many were carried out. */
async function fillLog(redisUrl: string, count: number): Promise<number> {
  const target = await LedgerTarget.open(redisUrl);
  try {
    await target.openMarkets(SHAPE.markets);
    const load = new Load(target, SHAPE);
    await target.fund(load.wallets);
    load.start();
    let operations = 0;
    while (operations < count) {
      await pause();
      operations += load.take().operations;
    }
    await load.stop();
    return operations + load.take().operations;
  } finally {
    await target.close();
  }
}

/** Lets projectors write the log to an empty database. */
async function project(redisUrl: string, projectors: number, operations: number): Promise<Row[]> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-bench-"));
  const postgres = await startPostgres({ dataDir, log: () => undefined });
  const db = connect(postgres.url);
  const log = await RedisLog.open({ url: redisUrl });
  const children: ChildProcess[] = [];
  const environment = { REDIS_URL: redisUrl, DATABASE_URL: postgres.url, LOG_LEVEL: "warn" };
  try {
    await migrate(postgres.url);
    const heads = await headsOf(log);
    const execArgv = [...process.execArgv, ...NODE_OPTIONS.projector];
    const starting = Array.from({ length: projectors }, async () => {
      children.push(await startProcess("../../projector", environment, { execArgv }));
    });
    await Promise.all(starting);
    await firstRows(db, heads);
    const sample = async (): Promise<Sample> => ({
      atMs: performance.now(),
      rows: await countRows(postgres.url),
      projectorSeconds: cpuSeconds(children.map(({ pid = 0 }) => pid)),
      postgresSeconds: cpuSeconds(processesIn(path.join(dataDir, "postgres"), ["postgres"])),
    });
    const before = await sample();
    await allRows(db, heads);
    return rowsOf(projectors, operations, before, await sample());
  } finally {
    await Promise.all(children.map((child) => killProcess(child)));
    await log.close();
    await disconnect(db);
    await postgres.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Compares two samples. All rows of the log are there at the second one. */
function rowsOf(projectors: number, operations: number, before: Sample, after: Sample): Row[] {
  const bench = `projection, ${projectors === 1 ? "1 projector" : `${projectors} projectors`}`;
  const seconds = (after.atMs - before.atMs) / 1_000;
  const rows = after.rows - before.rows;
  const rowsOfOperation = after.rows / operations;
  const measured = rows / rowsOfOperation;
  const micros = (cpuSeconds: number): number => (1e6 * cpuSeconds) / measured;
  return [
    { bench, measure: "operations", figure: measured / seconds, unit: "per s" },
    { bench, measure: "rows", figure: rows / seconds, unit: "per s" },
    { bench, measure: "rows of an operation", figure: rowsOfOperation, unit: "" },
    {
      bench,
      measure: "projector CPU of an operation",
      figure: micros(after.projectorSeconds - before.projectorSeconds),
      unit: "µs",
    },
    {
      bench,
      measure: "Postgres CPU of an operation",
      figure: micros(after.postgresSeconds - before.postgresSeconds),
      unit: "µs",
    },
  ];
}

/** Returns the last entry of each actor. */
async function headsOf(log: RedisLog): Promise<ReadonlyMap<ActorId, number>> {
  const heads = new Map<ActorId, number>();
  for (const partition of PARTITIONS)
    for (const { actor, head } of await log.scan(partition)) heads.set(actor, head.seq);
  return heads;
}

/** Resolves when a projector has written its first rows: its start is not measured. */
async function firstRows(db: Database, heads: ReadonlyMap<ActorId, number>): Promise<void> {
  while ((await projectedPositions(db, [...heads.keys()])).size === 0) await pause();
}

async function allRows(db: Database, heads: ReadonlyMap<ActorId, number>): Promise<void> {
  for (;;) {
    const positions = await projectedPositions(db, [...heads.keys()]);
    if ([...heads].every(([actor, seq]) => (positions.get(actor)?.seq ?? 0) >= seq)) return;
    await pause();
  }
}

async function countRows(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const counts = TABLES.map((table) => `(select count(*) from ${table})`).join(" + ");
    const { rows } = await client.query<{ rows: string }>(`select ${counts} as rows`);
    return Number(rows[0]?.rows);
  } finally {
    await client.end();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
