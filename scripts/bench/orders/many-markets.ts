/**
 * Measures one worker with many markets, wallets and resting orders: the memory of each, the CPU time of the worker
 * while nothing happens, and the time of a request beside that of a worker with few markets in the same run.
 */

import { once } from "node:events";
import { NODE_OPTIONS } from "../../roles/node-options.js";
import { percentile, type Row } from "../table.js";
import { LedgerTarget } from "./ledger-target.js";
import { Load } from "./load.js";
import { killProcess, startProcess } from "./processes.js";
import { partitionsShared, RedisCounters, type Role, sampleOf, startOneRedis } from "./stage.js";

export interface ManyMarketsOptions {
  readonly markets?: number | undefined;
  readonly wallets?: number | undefined;
  readonly orders?: number | undefined;
  /** Length of each measurement. */
  readonly seconds?: number | undefined;
}

const FEW_MARKETS = 10;
const FEW_WALLETS = 64;
/** Time after the set-up in which the worker finishes what the set-up has begun. */
const SETTLE_SECONDS = 3;
const MAX_IDLE_PERCENT = 3;
const MAX_P50_RATIO = 1.5;
const BENCH = "many markets on one worker";

export async function manyMarkets({
  markets = 10_000,
  wallets = 100_000,
  orders = 200_000,
  seconds = 10,
}: ManyMarketsOptions = {}): Promise<Row[]> {
  const servers = await startOneRedis("everysec");
  const worker = await startProcess(
    "measured-worker",
    { REDIS_URL: servers.url, LOG_LEVEL: "warn" },
    { execArgv: [...process.execArgv, ...NODE_OPTIONS.worker, "--expose-gc"] },
  );
  const counters = await RedisCounters.open(servers.url);
  const pids = (): Partial<Record<Role, readonly number[]>> => ({
    worker: [worker.pid ?? 0],
    Redis: servers.pids,
  });
  /** Returns the bytes of the live objects of the worker. */
  const liveBytes = async (): Promise<number> => {
    const answer = once(worker, "message");
    worker.send("measure");
    return Number((await answer)[0]);
  };
  /** Returns the CPU time of the worker while nothing happens, in per cent of a core. */
  const idlePercent = async (): Promise<number> => {
    await pause(SETTLE_SECONDS);
    const before = await sampleOf(pids, counters);
    await pause(seconds);
    const after = await sampleOf(pids, counters);
    const used = (after.cpuSeconds.worker ?? 0) - (before.cpuSeconds.worker ?? 0);
    return (1e5 * used) / (after.atMs - before.atMs);
  };
  /** Returns the median time of single requests, one after the other. */
  const p50Ms = async (load: Load): Promise<number> => {
    load.start();
    await pause(seconds / 2);
    load.take();
    await pause(seconds);
    const { timesMs } = load.take();
    await load.stop();
    return percentile(timesMs, 0.5);
  };
  await partitionsShared(servers.url, 1);
  const target = await LedgerTarget.open(servers.url);
  try {
    const singly = { batch: 1, outstanding: 1 };
    const few = new Load(target, { ...singly, markets: FEW_MARKETS, wallets: FEW_WALLETS });
    await target.openMarkets(FEW_MARKETS);
    await target.fund(few.wallets);
    const fewP50Ms = await p50Ms(few);
    const fewIdlePercent = await idlePercent();

    const many = new Load(target, { ...singly, markets, wallets });
    const live = [await liveBytes()];
    await target.openMarkets(markets - FEW_MARKETS);
    live.push(await liveBytes());
    await target.fund(many.wallets);
    live.push(await liveBytes());
    await target.rest(many.wallets, orders);
    live.push(await liveBytes());
    const manyIdlePercent = await idlePercent();
    const ratio = (await p50Ms(many)) / fewP50Ms;

    const grown = (step: number, count: number): number =>
      ((live[step] ?? NaN) - (live[step - 1] ?? NaN)) / count;
    const row = (measure: string, figure: number, unit: string): Row => ({
      bench: BENCH,
      measure,
      figure,
      unit,
    });
    const judged = (of: Row, limit: number): Row => ({
      ...of,
      verdict: of.figure <= limit ? "pass" : "FAIL",
    });
    return [
      row("memory of a market", grown(1, markets - FEW_MARKETS), "bytes"),
      row("memory of a wallet", grown(2, wallets), "bytes"),
      row("memory of a resting order", grown(3, orders), "bytes"),
      row(`idle CPU, ${FEW_MARKETS} markets`, fewIdlePercent, "%"),
      judged(row(`idle CPU, ${markets} markets, ${wallets} wallets`, manyIdlePercent, "%"), MAX_IDLE_PERCENT),
      row(`p50 of a request, ${FEW_MARKETS} markets`, fewP50Ms, "ms"),
      judged(row(`p50 with ${markets} markets, ratio`, ratio, "times"), MAX_P50_RATIO),
    ];
  } finally {
    await target.close();
    counters.close();
    await killProcess(worker);
    await servers.stop();
  }
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_000 * seconds));
}
