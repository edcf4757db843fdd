/**
 * Measures whether the exchange runs for ever: a flood for half an hour, which nothing may refuse, and then an hour at
 * half of the rate of the flood, in which nothing may grow. The whole exchange runs in processes of its own with
 * `appendfsync everysec`.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import type { Exchange } from "../../replay/exchange.js";
import { startBenchExchange } from "../bench-exchange.js";
import { percentile, type Row } from "../table.js";
import { Sampler } from "./sampler.js";
import { SampleTable } from "./sample-table.js";
import { MARKETS, openTraffic, SOCKETS } from "./open-traffic.js";
import type { Traffic } from "./traffic.js";
import { judgeFlood, judgeSteadyRun, type Sample } from "./verdicts.js";

export const FLOOD_MINUTES = 30;
export const STEADY_MINUTES = 70;
const SAMPLE_MS = 5_000;
/** Time between the two runs: the projector catches up, and the pauses of the flood are no longer reported. */
const REST_MS = 65_000;
/** Share of the flood whose rate counts as the capacity of the machine: its end. */
const CAPACITY_SHARE = 0.5;

interface Run {
  readonly samples: readonly Sample[];
  /** Times of all requests in each sixth of the run, in ms. */
  readonly timesMs: readonly (readonly number[])[];
  readonly refusedBy: ReadonlyMap<string, number>;
}

/** Runs both parts and returns their rows. `minutes` shortens each part. */
export async function endurance(minutes: number | undefined): Promise<Row[]> {
  const exchange = await startBenchExchange({ REDIS_FSYNC: "everysec" });
  const stop = (): void => void exchange.stop().then(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  try {
    return await measure(exchange, minutes ?? FLOOD_MINUTES, minutes ?? STEADY_MINUTES);
  } finally {
    await exchange.stop();
  }
}

async function measure(exchange: Exchange, floodMinutes: number, steadyMinutes: number): Promise<Row[]> {
  const traffic = await openTraffic(exchange);
  const sampler = await Sampler.open(exchange.dataDir);
  try {
    console.log(`\nflood: ${SOCKETS} sockets, ${MARKETS} markets, ${floodMinutes} min`);
    const flood = await run(traffic, sampler, floodMinutes, (stopped) => traffic.flood(stopped));
    keep({ flood: flood.samples });
    const late = flood.samples.slice(Math.floor(flood.samples.length * (1 - CAPACITY_SHARE)));
    const capacity = late.reduce((sum, sample) => sum + sample.operationsPerSecond, 0) / late.length;
    console.log(`\nrest: ${REST_MS / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const rate = Math.round(capacity / 2);
    console.log(`\nsteady run: ${rate} operations a second, ${steadyMinutes} min`);
    const steady = await run(traffic, sampler, steadyMinutes, (stopped) => traffic.pace(rate, stopped));
    keep({ flood: flood.samples, steady: steady.samples });
    return rowsOf(flood, steady, capacity);
  } finally {
    traffic.close();
    await sampler.close();
  }
}

/** Writes the samples of the runs that have ended. */
function keep(series: Readonly<Record<string, readonly Sample[]>>): void {
  mkdirSync(".bench", { recursive: true });
  writeFileSync(".bench/endurance.json", `${JSON.stringify(series, null, 1)}\n`);
}

function rowsOf(flood: Run, steady: Run, capacity: number): Row[] {
  const floodName = "flood";
  const steadyName = "half of the rate of the flood";
  const refusals = (bench: string, { refusedBy }: Run): Row[] =>
    [...refusedBy].map(([reason, figure]) => ({ bench, measure: `refused: ${reason}`, figure, unit: "" }));
  const p99Of = (part: number): number => percentile(steady.timesMs[part] ?? [], 0.99);
  return [
    { bench: floodName, measure: "operations", figure: capacity, unit: "per s" },
    ...judgeFlood(floodName, flood.samples),
    ...refusals(floodName, flood),
    ...judgeSteadyRun(steadyName, steady.samples, { first: p99Of(0), last: p99Of(5) }),
    ...refusals(steadyName, steady),
  ];
}

/** Lets the traffic flow, samples the exchange every few seconds, and prints the samples. */
async function run(
  traffic: Traffic,
  sampler: Sampler,
  minutes: number,
  flow: (stopped: AbortSignal) => Promise<void>,
): Promise<Run> {
  const stopping = new AbortController();
  const table = new SampleTable(minutes);
  const samples: Sample[] = [];
  const timesMs: number[][] = Array.from({ length: 6 }, () => []);
  const refusedBy = new Map<string, number>();
  const lengthS = minutes * 60;
  traffic.take();
  const flowing = flow(stopping.signal);
  const beganMs = performance.now();
  let cpuBefore = process.cpuUsage();
  try {
    for (let sinceMs = beganMs; sinceMs - beganMs < lengthS * 1_000;) {
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
      const sizes = await sampler.take();
      const counted = traffic.take();
      const cpu = process.cpuUsage(cpuBefore);
      cpuBefore = process.cpuUsage();
      const nowMs = performance.now();
      const atS = (nowMs - beganMs) / 1_000;
      for (const ms of counted.timesMs) timesMs[Math.min(5, Math.floor((6 * atS) / lengthS))]?.push(ms);
      for (const [reason, n] of counted.refused) refusedBy.set(reason, (refusedBy.get(reason) ?? 0) + n);
      const sample: Sample = {
        atS,
        operationsPerSecond: counted.operations / ((nowMs - sinceMs) / 1_000),
        p50Ms: percentile(counted.timesMs, 0.5),
        p99Ms: percentile(counted.timesMs, 0.99),
        refused: [...counted.refused.values()].reduce((sum, n) => sum + n, 0),
        unavailable: counted.unavailable,
        slow: counted.slow,
        clientMicros: (cpu.user + cpu.system) / counted.operations,
        ...sizes,
      };
      samples.push(sample);
      table.add(sample);
      sinceMs = nowMs;
    }
  } finally {
    stopping.abort();
    await flowing;
  }
  return { samples, timesMs, refusedBy };
}
