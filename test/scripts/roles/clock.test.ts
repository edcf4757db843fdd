import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { ledgerShardOf } from "../../../actors/actor.js";
import { freePort } from "../../../scripts/embedded/ports.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { bearerCalls, callsOf, openCalls, resultOf, type Calls } from "../../http/calls.js";
import { pause } from "../../stream/log/support.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { RoleProcess } from "../../support/role-process.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { BRAND, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const HOUR_MS = 3_600_000;

/** Code that sets the wall clock of a process forward by an hour at SIGUSR2, and back by an hour at SIGWINCH. */
const STEPPING = `
  const real = Date.now.bind(Date);
  let offMs = 0;
  Date.now = () => real() + offMs;
  process.on("SIGUSR2", () => { offMs = ${HOUR_MS}; });
  process.on("SIGWINCH", () => { offMs = -${HOUR_MS}; });
`;
const STEPPED = `data:text/javascript,${encodeURIComponent(STEPPING)}`;

describe("a worker whose wall clock steps", function () {
  this.timeout(60_000);
  let redis: FreshRedis;
  let log: RedisLog;
  let exchange: LogExchange;
  let worker: RoleProcess;
  const trader = randomUUID();
  const shard = ledgerShardOf(trader);

  beforeEach(async () => {
    redis = await freshRedis();
    log = await RedisLog.open({ url: redis.url });
    exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
    worker = new RoleProcess("worker", { REDIS_URL: redis.url, NODE_OPTIONS: `--import ${STEPPED}` });
    await worker.ready;
  });

  afterEach(async () => {
    worker.child.kill("SIGKILL");
    await worker.exited;
    await exchange.close();
    await log.close();
    await redis.drop();
  });

  async function openOrders(): Promise<number> {
    const reply = await exchange.ledger(shard, { kind: "wallet", wallet: trader }, { rememberMs: 0 });
    if (!reply.ok || reply.kind !== "wallet") throw new Error("no wallet");
    return reply.wallet.orders.open.length;
  }

  it("expires no order, fires no dead-man switch and drops no command", async () => {
    const market = marketDefinition();
    await exchange.market(market.marketId, createMarket(market));
    await exchange.ledger(shard, deposit(trader, 100_000_000));
    const place = async (): Promise<void> => {
      const order = orderRequest(market, { outcome: 0, price: 300, qty: 1, tif: "GTT", ttlMs: 60_000 });
      await exchange.ledger(shard, placement(trader, order), { timeoutMs: 2_000 });
    };
    await place();
    await exchange.ledger(shard, { kind: "deadman", wallet: trader, trader, timeoutMs: 60_000 });
    for (const [signal, differenceMs] of [
      ["SIGUSR2", HOUR_MS],
      ["SIGWINCH", -HOUR_MS],
    ] as const) {
      worker.child.kill(signal);
      await pause(1_500);
      await place();
      expect(await openOrders()).to.be.above(1);
      await until(async () => {
        const [shown = 0] = Object.values((await log.clockReport()).hosts);
        expect(Math.abs(shown - differenceMs)).to.be.below(1_000);
      });
    }
    expect(await openOrders()).to.equal(3);
    expect((await log.clockReport()).heldMs).to.equal(0);
  });
});

describe("a gateway whose wall clock steps", function () {
  this.timeout(120_000);
  let stack: Stack;
  let gateway: RoleProcess;
  let url: string;
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));

  before(async () => {
    stack = await startStack();
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    gateway = new RoleProcess("gateway", {
      PORT: String(port),
      REDIS_URL: stack.redisUrl,
      DATABASE_URL: stack.databaseUrl,
      DATA_DIR: dataDir,
      JWT_WEB_SECRET: "the web secret of the tests, long enough",
      SIGNATURE_BRAND: BRAND,
      NODE_OPTIONS: `--import ${STEPPED}`,
    });
    await gateway.ready;
  });
  after(async () => {
    gateway.child.kill("SIGKILL");
    await gateway.exited;
    await stack.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  it("refuses no signature, and ends no session and no self-exclusion", async () => {
    const [trader, excluded] = [await newTrader(stack), await newTrader(stack)];
    const { outcomes } = await newMarket(stack);
    const signIn = async ({ account: { email, password } }: TestTrader): Promise<Calls> =>
      bearerCalls(url, String((await openCalls(url)("POST /v3/session", { email, password })).json["token"]));
    const session = await signIn(trader);
    const end = { until: Date.now() + HOUR_MS / 2 };
    expect(resultOf(await (await signIn(excluded))("POST /v3/session/self-exclusion", end))).to.equal("200");
    const order = { outcomeId: outcomes[0], price: "0.300", qty: 1, tif: "GTC" };
    const results = async (): Promise<readonly string[]> => [
      resultOf(await callsOf(url, trader.trading)("POST /v3/orders", order)),
      resultOf(await session("GET /v3/session")),
      resultOf(await callsOf(url, excluded.trading)("POST /v3/orders", order)),
    ];
    const wanted = ["201", "200", "423 SELF_EXCLUDED"];
    expect(await results()).to.deep.equal(wanted);
    for (const signal of ["SIGUSR2", "SIGWINCH"] as const) {
      gateway.child.kill(signal);
      // The gateway reads the keys again after 5 s.
      await pause(5_500);
      expect(await results(), signal).to.deep.equal(wanted);
    }
  });
});
