/**
 * Measures what a worker that joins, leaves or is killed costs the others: the flood of the endurance bench goes on while
 * a second and a third worker come and go.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { embeddedRedisUrl } from "../../embedded/redis.js";
import type { Exchange } from "../../replay/exchange.js";
import { Priorities, WORKER } from "../../supervisor/priorities.js";
import { startBenchExchange } from "../bench-exchange.js";
import { LeaseWatch } from "../orders/lease-watch.js";
import { killProcess, prioritize, startWorker } from "../orders/processes.js";
import type { Row } from "../table.js";
import { openTraffic } from "./open-traffic.js";
import type { Traffic } from "./traffic.js";

/** Flood before the first change, in which the exchange fills. */
const WARM_UP_S = 30;
/** Flood before each change, whose rate is that of the exchange without a change. */
const BEFORE_S = 10;
/** Shortest and longest flood from a change on, until the partitions are shared, that is judged. */
const DURING_S = { min: 10, max: 90 };
/** Largest difference between the shares of two workers: one ledger and one other partition. */
const SHARE_SPREAD = 2;
const LIMITS = { movesOfPartition: 1, rateShare: 0.5, longestMs: 2_000 };

/** A change, made under load. */
interface Change {
  readonly name: string;
  readonly make: () => Promise<void>;
  /** Workers after it. */
  readonly workers: number;
}

interface Flow {
  readonly operations: number;
  readonly seconds: number;
  readonly longestMs: number;
  readonly refused: number;
}

export async function joins(): Promise<Row[]> {
  const exchange = await startBenchExchange({ REDIS_FSYNC: "everysec", LOG_LEVEL: "info" });
  try {
    return await measure(exchange);
  } finally {
    await exchange.stop();
  }
}

async function measure(exchange: Exchange): Promise<Row[]> {
  const redisUrl = embeddedRedisUrl(exchange.dataDir);
  if (redisUrl === undefined) throw new Error("the data directory of the bench has no record of its Redis");
  const traffic = await openTraffic(exchange);
  const leases = new LeaseWatch(redisUrl);
  const stopping = new AbortController();
  const workers: ChildProcess[] = [];
  const priorities = new Priorities(console.error);
  const flooding = traffic.flood(stopping.signal);
  try {
    await flowFor(traffic, (flows) => flows.length >= WARM_UP_S);
    const join = async (): Promise<void> => {
      const environment = { REDIS_URL: redisUrl, LOG_LEVEL: "info" };
      const worker = await startWorker(environment, { detached: true });
      workers.push(worker);
      prioritize(priorities, worker, WORKER);
    };
    const end = async (signal: NodeJS.Signals): Promise<void> => {
      const worker = workers.pop();
      if (worker === undefined) return;
      const exited = once(worker, "exit");
      worker.kill(signal);
      await exited;
    };
    const changes: readonly Change[] = [
      { name: "a second worker joins", make: join, workers: 2 },
      { name: "a third worker joins", make: join, workers: 3 },
      { name: "the third worker leaves", make: () => end("SIGTERM"), workers: 2 },
      { name: "the second worker leaves", make: () => end("SIGTERM"), workers: 1 },
      { name: "a second worker joins again", make: join, workers: 2 },
      { name: "the second worker is killed", make: () => end("SIGKILL"), workers: 1 },
    ];
    const rows: Row[] = [];
    for (const change of changes) rows.push(...(await judge(change, traffic, leases)));
    return rows;
  } finally {
    stopping.abort();
    await flooding;
    traffic.close();
    await leases.close();
    await Promise.all(workers.map(killProcess));
    priorities.stop();
  }
}

/** Makes a change, and judges the flood from its beginning on. */
async function judge(change: Change, traffic: Traffic, leases: LeaseWatch): Promise<Row[]> {
  const secondsBefore = await flowFor(traffic, (flows) => flows.length >= BEFORE_S);
  const before = sum(secondsBefore);
  leases.takeMoves();
  const areShared = (): boolean => {
    const sizes = [...leases.shares.values()];
    return sizes.length === change.workers && Math.max(...sizes) - Math.min(...sizes) <= SHARE_SPREAD;
  };
  const isOver = ({ length }: readonly Flow[]): boolean =>
    length >= DURING_S.max || (length >= DURING_S.min && areShared());
  const [seconds] = await Promise.all([flowFor(traffic, isOver), change.make()]);
  const during = sum(seconds);
  const moves = leases.takeMoves();
  const slowest = lowestRate(seconds) / rate(before);
  const row = (measure: string, figure: number, unit: string, passes?: boolean): Row => ({
    bench: change.name,
    measure,
    figure,
    unit,
    ...(passes === undefined ? {} : { verdict: passes ? "pass" : "FAIL" }),
  });
  const most = Math.max(0, ...moves.values());
  return [
    row("operations before it", rate(before), "per s"),
    row("the same in the slowest 2 s, to all", lowestRate(secondsBefore) / rate(before), ""),
    row("time until the partitions are shared", during.seconds, "s"),
    row("operations while it is made, to those before", rate(during) / rate(before), ""),
    row("the same in the slowest 2 s", slowest, "", slowest >= LIMITS.rateShare),
    row("longest request", during.longestMs, "ms", during.longestMs <= LIMITS.longestMs),
    row("operations refused", during.refused, "", during.refused === 0),
    row("partitions that moved", moves.size, "", areShared()),
    row("most moves of one partition", most, "", most <= LIMITS.movesOfPartition),
  ];
}

/** Lets the flood flow until it is over; returns what flowed in each second. */
async function flowFor(
  traffic: Traffic,
  isOver: (flows: readonly Flow[]) => boolean,
): Promise<readonly Flow[]> {
  const flows: Flow[] = [];
  let sinceMs = performance.now();
  traffic.take();
  while (!isOver(flows)) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const { operations, timesMs, refused, unavailable } = traffic.take();
    const nowMs = performance.now();
    flows.push({
      operations,
      seconds: (nowMs - sinceMs) / 1_000,
      longestMs: Math.max(0, ...timesMs),
      refused: [...refused.values()].reduce((total, n) => total + n, unavailable),
    });
    sinceMs = nowMs;
  }
  return flows;
}

function rate({ operations, seconds }: Flow): number {
  return operations / seconds;
}

/** Returns the lowest rate of two seconds on end; single ones vary too much even without a change. */
function lowestRate(seconds: readonly Flow[]): number {
  return Math.min(
    ...seconds.slice(1).map((flow, index) => rate(sum([flow, ...seconds.slice(index, index + 1)]))),
  );
}

function sum(flows: readonly Flow[]): Flow {
  const total = (of: (flow: Flow) => number): number => flows.reduce((n, flow) => n + of(flow), 0);
  return {
    operations: total(({ operations }) => operations),
    seconds: total(({ seconds }) => seconds),
    longestMs: Math.max(0, ...flows.map(({ longestMs }) => longestMs)),
    refused: total(({ refused }) => refused),
  };
}
