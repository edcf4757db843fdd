/** Stage of a load bench with everything: gateways with sockets, workers, projectors, jobs, Redis and Postgres. */

import path from "node:path";
import pg from "pg";
import { systemClock } from "../../../stream/log/clock.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { ProcessReports } from "../../../stream/services/process-reports.js";
import { embeddedPostgresUrl } from "../../embedded/postgres.js";
import { readRecord } from "../../embedded/record.js";
import { embeddedRedisUrl } from "../../embedded/redis.js";
import { processesIn } from "../../embedded/server.js";
import { BenchExchange, startBenchExchange } from "../bench-exchange.js";
import { Traffic } from "../endurance/traffic.js";
import type { Flow, Point } from "./measure.js";
import {
  partitionsShared,
  type PostgresBytes,
  RedisCounters,
  type Role,
  type Sample,
  sampleOf,
  type Servers,
  type Stage,
} from "./stage.js";

const SOCKETS = 24;
const FUNDS = "100000000";
/** Longest wait for the reports of all processes, which come every few seconds. */
const REPORTS_MS = 30_000;
const POLL_MS = 100;

export interface WholeStack {
  readonly stage: Stage;
  readonly load: Flow;
}

/** Starts a whole exchange, on the given Redis servers or on an embedded one, with its markets and its makers. */
export async function startWholeStack(point: Point, servers: Servers | undefined): Promise<WholeStack> {
  const exchange = await startBenchExchange({
    REDIS_FSYNC: point.fsync,
    WORKERS: String(point.workers),
    ...(servers === undefined ? {} : { REDIS_URL: servers.url }),
  });
  let counters: RedisCounters | undefined;
  let log: RedisLog | undefined;
  let reports: ProcessReports | undefined;
  let traffic: Traffic | undefined;
  const stop = async (): Promise<void> => {
    traffic?.close();
    counters?.close();
    await reports?.close();
    await log?.close();
    await exchange.stop();
    await servers?.stop();
  };
  try {
    const redisUrl = servers?.url ?? embeddedRedisUrl(exchange.dataDir);
    if (redisUrl === undefined) throw new Error("the data directory of the bench has no record of its Redis");
    counters = await RedisCounters.open(redisUrl);
    await partitionsShared(redisUrl, point.workers);
    log = await RedisLog.open({ url: redisUrl });
    const subscribed = (reports = await ProcessReports.subscribe(log, systemClock));
    const roles = await roleProcesses(subscribed, point.workers);
    const redis = servers?.pids ?? [readRecord(exchange.dataDir, "redis")?.process?.pid ?? 0];
    // A process of Postgres serves one connection and ends with it.
    const postgres = (): readonly number[] =>
      processesIn(path.join(exchange.dataDir, "postgres"), ["postgres"]);
    const pids: Stage["pids"] = () => ({ ...roles, Redis: redis, Postgres: postgres() });
    traffic = await openTraffic(exchange, point);
    const opened = counters;
    const sample = async (): Promise<Sample> => ({
      ...(await sampleOf(pids, opened)),
      postgres: await postgresBytes(embeddedPostgresUrl(exchange.dataDir)),
      projectorLagMs: projectorLagMs(subscribed),
    });
    const stage: Stage = { redisUrl, pids, sample, stop };
    return { stage, load: flowOf(traffic) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the processes of the roles, as they report themselves, when all `workers` have done so. */
async function roleProcesses(
  reports: ProcessReports,
  workers: number,
): Promise<Partial<Record<Role, readonly number[]>>> {
  const roles = ["worker", "gateway", "projector", "jobs"] as const;
  const pidsOf = (role: Role): readonly number[] =>
    reports.latest().flatMap((report) => (report.role === role ? [report.pid] : []));
  for (const untilMs = Date.now() + REPORTS_MS; Date.now() < untilMs;) {
    if (roles.every((role) => pidsOf(role).length >= (role === "worker" ? workers : 1)))
      return Object.fromEntries(roles.map((role) => [role, pidsOf(role)]));
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error("a role of the bench does not report");
}

/** Returns the longest time in ms from a decision to its rows, of the last reports of all projectors. */
function projectorLagMs(reports: ProcessReports): number {
  return 1_000 * Math.max(0, ...reports.latest().map(({ figures }) => figures.projector_lag_seconds ?? 0));
}

async function postgresBytes(connectionString: string | undefined): Promise<PostgresBytes> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const sql =
      "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS wal, pg_database_size(current_database()) AS tables";
    const { rows } = await client.query<{ wal: string; tables: string }>(sql);
    return { walBytes: Number(rows[0]?.wal), tableBytes: Number(rows[0]?.tables) };
  } finally {
    await client.end();
  }
}

async function openTraffic(
  exchange: Awaited<ReturnType<typeof startBenchExchange>>,
  { markets, batch }: Point,
): Promise<Traffic> {
  const bench = new BenchExchange(exchange);
  try {
    const eventId = await bench.event();
    const outcomeIds: string[] = [];
    for (let market = 0; market < markets; market += 1) outcomeIds.push(...(await bench.market(eventId)));
    const keys = [];
    for (let maker = 0; maker < SOCKETS; maker += 1)
      keys.push((await bench.account(`maker-${maker}`, FUNDS)).tradingKey);
    return await Traffic.open(exchange.url, keys, outcomeIds, batch);
  } finally {
    bench.close();
  }
}

function flowOf(traffic: Traffic): Flow {
  const stopping = new AbortController();
  let flowing: Promise<void> = Promise.resolve();
  return {
    start() {
      traffic.take();
      flowing = traffic.flood(stopping.signal);
    },
    take: () => traffic.take(),
    async stop() {
      stopping.abort();
      await flowing;
    },
  };
}
