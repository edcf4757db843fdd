import { expect } from "chai";
import { randomUUID } from "node:crypto";
import { ledgerShardOf, marketActor, partitionOf } from "../../../actors/actor.js";
import { BOUNDS, MAX_BATCH, MAX_MARKET_ORDERS } from "../../../actors/limits.js";
import type { MarketReply } from "../../../actors/market/commands.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { createMarket, deposit, marketDefinition, orderRequest } from "../../support/exchange/commands.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { until } from "../../support/until.js";
import { WorkerProcess } from "../../support/worker-process.js";

/** Orders that rest in the market that closes; LONG_WORK_ORDERS=100000 is the long form, whose times are compared. */
const ORDERS = Number(process.env["LONG_WORK_ORDERS"] ?? "10000");
const IS_LONG = ORDERS >= 100_000;
const OTHERS = 8;
const QUIET_MS = IS_LONG ? 10_000 : 1_000;
const PAUSE_MS = 10;
const PATIENT = { timeoutMs: 60_000 };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Infinity;
}

describe("a market with many resting orders", function () {
  this.timeout(IS_LONG ? 300_000 : 60_000);

  let redis: FreshRedis;
  let log: RedisLog;
  let exchange: LogExchange;
  let worker: WorkerProcess;

  before(async () => {
    redis = await freshRedis();
    log = await RedisLog.open({ url: redis.url });
    exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
    // No projector runs here that would announce format 2, in which work is divided.
    await log.recordFormat("", "2");
    worker = new WorkerProcess(redis.url);
    await worker.ready;
  });

  after(async () => {
    worker.child.kill("SIGKILL");
    await worker.exited;
    await exchange.close();
    await log.close();
    await redis.drop();
  });

  async function openMarket(): Promise<MarketDefinition> {
    const definition = marketDefinition();
    await exchange.market(definition.marketId, createMarket(definition));
    return definition;
  }

  async function newTrader(): Promise<string> {
    const trader = randomUUID();
    await exchange.ledger(ledgerShardOf(trader), deposit(trader, 1_000_000_000));
    return trader;
  }

  async function place(
    trader: string,
    definition: MarketDefinition,
    orders: readonly { outcome: number; price: number; qty: number }[],
  ): Promise<void> {
    const requests = orders.map((order) => orderRequest(definition, order));
    const command = { kind: "place", wallet: trader, trader, orders: requests, atomic: false } as const;
    const reply = await exchange.ledger(ledgerShardOf(trader), command, PATIENT);
    if (!reply.ok || reply.kind !== "placed" || reply.results.some(({ ok }) => !ok))
      throw new Error(`orders were refused: ${JSON.stringify(reply).slice(0, 200)}`);
  }

  /** Trades in one market until `isOver`: the trader crosses its counterparty. Records the time of each placement. */
  async function trade(definition: MarketDefinition, times: number[], isOver: () => boolean): Promise<void> {
    const [maker, taker] = [await newTrader(), await newTrader()];
    while (!isOver()) {
      for (const [trader, outcome] of [
        [maker, 0],
        [taker, 1],
      ] as const) {
        const began = performance.now();
        await place(trader, definition, [{ outcome, price: 500, qty: 1 }]);
        times.push(performance.now() - began);
        await sleep(PAUSE_MS);
      }
    }
  }

  const seqOf = async ({ marketId }: MarketDefinition): Promise<number> => {
    const actor = marketActor(marketId);
    return (await log.heads(partitionOf(actor), [actor]))[0]?.seq ?? 0;
  };

  const settledOf = async (
    { marketId }: MarketDefinition,
    command: { kind: "settle"; limit: number } | { kind: "settlement" },
  ): Promise<Extract<MarketReply, { kind: "settlement" }> | undefined> => {
    const reply = await exchange.market(marketId, command, PATIENT);
    return reply.ok && reply.kind === "settlement" ? reply : undefined;
  };

  it("closes and settles while other markets trade", async () => {
    const closing = await openMarket();
    const others = await Promise.all(Array.from({ length: OTHERS }, openMarket));
    const traders = await Promise.all(
      Array.from({ length: Math.ceil(ORDERS / MAX_MARKET_ORDERS) }, newTrader),
    );
    for (const [index, trader] of traders.entries()) {
      const count = Math.min(MAX_MARKET_ORDERS, ORDERS - MAX_MARKET_ORDERS * index);
      for (let placed = 0; placed < count; placed += MAX_BATCH) {
        const orders = Array.from({ length: Math.min(MAX_BATCH, count - placed) }, (_, n) => ({
          outcome: 0,
          price: 1 + ((placed + n) % 40),
          qty: 1,
        }));
        await place(trader, closing, orders);
      }
    }
    await place(await newTrader(), closing, [{ outcome: 1, price: 999, qty: 1 }]);

    let isOver = false;
    const [quiet, busy]: [number[], number[]] = [[], []];
    let times = quiet;
    const sink = new Proxy<number[]>([], {
      get: (_target, name) => (name === "push" ? (ms: number) => times.push(ms) : undefined),
    });
    const trading = Promise.all(others.map((market) => trade(market, sink, () => isOver)));
    await sleep(QUIET_MS);

    times = busy;
    const seqBefore = await seqOf(closing);
    const began = performance.now();
    const grade = { kind: "WINNER", outcome: 1 } as const;
    const command = { kind: "grade", settlementId: randomUUID(), grade } as const;
    const reply = await exchange.market(closing.marketId, command, PATIENT);
    expect(reply.ok && reply.kind === "settlement" && reply.done).to.equal(false);
    const answeredMs = performance.now() - began;
    await until(async () =>
      expect((await settledOf(closing, { kind: "settle", limit: 500 }))?.done).to.equal(true),
    );
    const settledMs = performance.now() - began;
    isOver = true;
    await trading;

    const pieces = (await seqOf(closing)) - seqBefore;
    const figures = [quiet, busy].map((all) => ({
      placements: all.length,
      p50: percentile(all, 0.5).toFixed(1),
      p99: percentile(all, 0.99).toFixed(1),
      longest: Math.max(...all).toFixed(1),
    }));
    console.log(
      JSON.stringify({ ORDERS, pieces, answeredMs, settledMs, quiet: figures[0], closing: figures[1] }),
    );
    expect(pieces, "commits of the closing market").to.be.at.least(ORDERS / BOUNDS.piece);
    expect(busy.length, "placements meanwhile").to.be.above(OTHERS);
    for (const trader of traders) {
      const wallet = await exchange.ledger(
        ledgerShardOf(trader),
        { kind: "wallet", wallet: trader },
        PATIENT,
      );
      expect(wallet.ok && wallet.kind === "wallet" && wallet.wallet.orders.open.length).to.equal(0);
    }
    if (IS_LONG) expect(percentile(busy, 0.99)).to.be.below(2 * percentile(quiet, 0.99));
  });
});
