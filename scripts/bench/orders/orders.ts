/**
 * Measures orders through the log: their rate, the times of their answers, and the CPU time of an order in each process,
 * for several numbers of workers and of markets and for several forms of the log. Beside them stands a bare loop in the
 * same run, which makes the same hops and the same fenced commits with the simplest rules. A busy machine affects the
 * rates and the times, but hardly the CPU times.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import type { Row } from "../table.js";
import { BareTarget } from "./bare/target.js";
import { startCluster } from "./cluster.js";
import { LedgerTarget } from "./ledger-target.js";
import { Load, type Target } from "./load.js";
import { measure, type Measured, type Point } from "./measure.js";
import { allPoints, BASE, nameOf, oneAxisAtATime } from "./points.js";
import { killProcess, startProcess } from "./processes.js";
import { RedisCounters, type Role, sampleOf, startOneRedis, startStage } from "./stage.js";
import { startWholeStack } from "./whole-stack.js";

const WALLETS = 64;
const OUTSTANDING = 1_000;
export const ORDERS_SECONDS = 10;
/** Figures of the last run. */
const ORDERS_FILE = ".bench/orders.json";

/** Figures of one run of the bench. */
export interface OrdersRun {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly results: readonly PointResult[];
}

export interface OrdersOptions {
  /** Length of each measurement. */
  readonly seconds?: number | undefined;
  readonly points?: readonly Point[] | undefined;
}

export interface PointResult {
  readonly point: Point;
  readonly measured: Measured;
  /** Figures of the bare loop, for a point that the loop can run. */
  readonly bare?: Measured | undefined;
}

/** Runs the points, prints a line for each, and returns rows for the ratios that have a goal. */
export async function orders({
  seconds = ORDERS_SECONDS,
  points = oneAxisAtATime(),
}: OrdersOptions = {}): Promise<Row[]> {
  // The exit ends the processes of the point that is being measured; by itself a signal would leave them running.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
  console.log(`\norders: ${seconds} s each, ${OUTSTANDING} operations outstanding, ${WALLETS} wallets`);
  printLine(COLUMNS.map(([title]) => title));
  const results: PointResult[] = [];
  for (const point of points) {
    const result = await runPoint(point, seconds);
    results.push(result);
    printLine(COLUMNS.map(([, of]) => of(result)));
    keep(results);
  }
  return rowsOf(results);
}

/** Runs every combination of the axes. */
export function ordersInFull(seconds: number | undefined): Promise<Row[]> {
  return orders({ seconds, points: allPoints() });
}

function keep(results: readonly PointResult[]): void {
  const cpu = os.cpus()[0]?.model ?? "unknown CPU";
  const run: OrdersRun = {
    machine: { cpu, cores: os.availableParallelism(), node: process.version },
    results,
  };
  mkdirSync(".bench", { recursive: true });
  writeFileSync(ORDERS_FILE, `${JSON.stringify(run, null, 1)}\n`);
}

/** Returns the figures of the last run; `undefined` if there is none. */
export function lastRun(): OrdersRun | undefined {
  return existsSync(ORDERS_FILE) ? (JSON.parse(readFileSync(ORDERS_FILE, "utf8")) as OrdersRun) : undefined;
}

/** Measures one point, and the bare loop beside it. */
export async function runPoint(point: Point, seconds: number): Promise<PointResult> {
  const measured = await runExchange(point, seconds);
  return { point, measured, bare: isBare(point) ? await runBare(point, seconds) : undefined };
}

async function runExchange(point: Point, seconds: number): Promise<Measured> {
  const { workers, markets, redis, fsync } = point;
  if (point.isWholeStack) {
    const { stage, load } = await startWholeStack(
      point,
      redis === "one" ? undefined : await startCluster(fsync),
    );
    try {
      return await measure(stage, load, seconds);
    } finally {
      await stage.stop();
    }
  }
  const servers = redis === "one" ? await startOneRedis(fsync) : await startCluster(fsync);
  const stage = await startStage(servers, workers);
  try {
    const target = await LedgerTarget.open(stage.redisUrl);
    try {
      await target.openMarkets(markets);
      const load = loadOf(target, point);
      await target.fund(load.wallets);
      const measured = await measure(stage, load, seconds);
      return { ...measured, ledgerShare: await target.ledgerShare() };
    } finally {
      await target.close();
    }
  } finally {
    await stage.stop();
  }
}

function loadOf(target: Target, { markets, batch }: Point): Load {
  return new Load(target, { markets, batch, wallets: WALLETS, outstanding: OUTSTANDING });
}

/** Returns true for a point that the bare loop can run: it has one worker on one Redis. */
function isBare({ workers, redis, isWholeStack }: Point): boolean {
  return workers === 1 && redis === "one" && !isWholeStack;
}

async function runBare(point: Point, seconds: number): Promise<Measured> {
  const servers = await startOneRedis(point.fsync);
  const worker = await startProcess("bare/worker", { REDIS_URL: servers.url });
  const counters = await RedisCounters.open(servers.url);
  const target = await BareTarget.open(servers.url);
  try {
    const pids = () => ({ worker: [worker.pid ?? 0], Redis: servers.pids });
    const stage = { sample: () => sampleOf(pids, counters) };
    return await measure(stage, loadOf(target, point), seconds);
  } finally {
    target.close();
    counters.close();
    await killProcess(worker);
    await servers.stop();
  }
}

const ROLES: readonly Role[] = [
  "load generator",
  "worker",
  "Redis",
  "gateway",
  "projector",
  "jobs",
  "Postgres",
];

const COLUMNS: readonly (readonly [title: string, of: (result: PointResult) => string])[] = [
  ["", ({ point }) => nameOf(point)],
  ["orders/s", ({ measured }) => shown(measured.operationsPerSecond)],
  ["p50 ms", ({ measured }) => shown(measured.p50Ms)],
  ["p99 ms", ({ measured }) => shown(measured.p99Ms)],
  ["refused", ({ measured }) => shown(sum(Object.values(measured.refused)))],
  ["lag ms", ({ measured }) => shown(measured.projectorLagMs)],
  ...ROLES.map(
    (role) =>
      [
        role === "load generator" ? "load µs" : `${role} µs`,
        ({ measured }: PointResult) => shown(measured.cpuMicros[role]),
      ] as const,
  ),
  ["bare/s", ({ bare }) => shown(bare?.operationsPerSecond)],
  ["worker µs", ({ bare }) => shown(bare?.cpuMicros.worker)],
  ["of bare", ({ measured, bare }) => shown(ratio(measured.operationsPerSecond, bare?.operationsPerSecond))],
];
const NAME_WIDTH = 36;
const WIDTH = 13;

function printLine(cells: readonly string[]): void {
  const [name = "", ...figures] = cells;
  console.log(name.padEnd(NAME_WIDTH) + figures.map((figure) => figure.padStart(WIDTH)).join(""));
}

function shown(figure: number | undefined): string {
  if (figure === undefined || Number.isNaN(figure)) return "";
  return figure === 0 || figure >= 100 ? Math.round(figure).toLocaleString("en-US") : figure.toPrecision(3);
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}

function ratio(figure: number | undefined, to: number | undefined): number | undefined {
  return figure === undefined || to === undefined ? undefined : figure / to;
}

/** Returns the result of the point that differs from the base by a change. */
export function resultAt(results: readonly PointResult[], change: Partial<Point>): PointResult | undefined {
  const name = nameOf({ ...BASE, ...change });
  return results.find(({ point }) => nameOf(point) === name);
}

/** Returns the CPU time of an order in the workers and in Redis. */
function logCpu(result: PointResult | undefined): number | undefined {
  const { worker, Redis } = result?.measured.cpuMicros ?? {};
  return worker === undefined || Redis === undefined ? undefined : worker + Redis;
}

/** Returns the operations of all points that were refused, by reason. */
function refusalsOf(results: readonly PointResult[]): Row[] {
  return results.flatMap(({ point, measured }) =>
    Object.entries(measured.refused).map(([reason, figure]) => ({
      bench: "orders: refused",
      measure: `${nameOf(point)}: ${reason}`,
      figure,
      unit: "",
    })),
  );
}

/** Returns the rates of the points, and the ratios that have a goal. */
export function rowsOf(results: readonly PointResult[]): Row[] {
  const bench = "orders";
  const resultOf = (change: Partial<Point>): PointResult | undefined => resultAt(results, change);
  const base = resultOf({});
  const row = (measure: string, figure: number | undefined, unit: string): Row[] =>
    figure === undefined ? [] : [{ bench, measure, figure, unit }];
  /** Compares two points: throughput, CPU time of the workers and p50 of the first one as parts of those of the other. */
  const compared = (name: string, one?: PointResult, other?: PointResult): Row[] => [
    ...row(
      `${name}: throughput`,
      ratio(one?.measured.operationsPerSecond, other?.measured.operationsPerSecond),
      "x",
    ),
    ...row(
      `${name}: worker CPU`,
      ratio(one?.measured.cpuMicros.worker, other?.measured.cpuMicros.worker),
      "x",
    ),
    ...row(`${name}: CPU of workers and Redis`, ratio(logCpu(one), logCpu(other)), "x"),
    ...row(`${name}: p50`, ratio(one?.measured.p50Ms, other?.measured.p50Ms), "x"),
  ];
  return [
    ...results.map(({ point, measured, bare }): Row => ({
      bench,
      measure: nameOf(point),
      figure: measured.operationsPerSecond,
      unit: "per s",
      ratio: ratio(measured.operationsPerSecond, bare?.operationsPerSecond),
    })),
    ...row("worker CPU of an order", base?.measured.cpuMicros.worker, "µs"),
    ...row("worker CPU of an order in the bare loop", base?.bare?.cpuMicros.worker, "µs"),
    ...row("projector lag with sockets", resultOf({ isWholeStack: true })?.measured.projectorLagMs, "ms"),
    ...compared("2 workers against 1", resultOf({ workers: 2 }), base),
    ...compared("8 workers against 2", resultOf({ workers: 8 }), resultOf({ workers: 2 })),
    ...compared("10,000 markets against 16", resultOf({ markets: 10_000 }), base),
    ...compared("three-node cluster against one Redis", resultOf({ redis: "cluster" }), base),
    ...compared("appendfsync always against everysec", resultOf({ fsync: "always" }), base),
    ...refusalsOf(results),
  ];
}
