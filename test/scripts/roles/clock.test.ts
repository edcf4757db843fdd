import { expect } from "chai";
import { randomUUID } from "node:crypto";
import { ledgerShardOf } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
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
    const code = `data:text/javascript,${encodeURIComponent(STEPPING)}`;
    worker = new RoleProcess("worker", { REDIS_URL: redis.url, NODE_OPTIONS: `--import ${code}` });
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
