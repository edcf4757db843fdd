import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { Redis } from "ioredis";
import { KEY_BUCKETS } from "../../../http/request/throttle.js";
import { countInScripts } from "../monitor.js";
import { send, signed, type Raw } from "../requests.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

describe("a request that costs nothing", function () {
  this.timeout(120_000);
  let stack: Stack;
  let trader: TestTrader;

  before(async () => {
    stack = await startStack({ metered: true });
  });
  after(() => stack.stop());
  beforeEach(async () => {
    trader = await newTrader(stack);
  });

  it("has a rate that the free routes of a payer share, and no other payer", async () => {
    const limits = (): Promise<{ status: number; headers: ReadonlyMap<string, string> }> =>
      send(stack.url, signed(trader.trading, { target: "/v3/limits" }));
    let refused = await limits();
    for (let sent = 1; refused.status === 200; sent += 1) {
      expect(sent, "the requests that are granted").to.be.below(1_000);
      refused = await limits();
    }
    expect(refused.status).to.equal(429);
    expect(Number(refused.headers.get("retry-after"))).to.equal(1);
    expect([...refused.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).to.deep.equal([]);
    const burst = async (raw: (index: number) => Raw): Promise<number[]> => {
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, index) => send(stack.url, raw(index))),
      );
      return answers.map(({ status }) => status);
    };
    const heartbeat = { method: "POST", target: "/v3/safety/heartbeat", body: '{"timeoutMs":0}' };
    expect(await burst(() => signed(trader.trading, heartbeat))).to.include(429);
    const echo = { method: "POST", target: "/v3/echo" };
    expect(await burst((index) => signed(trader.trading, { ...echo, body: `${index}` }))).to.include(429);
    const ofTrader = (): Raw => signed(trader.management, { target: "/v3/limits" });
    expect((await send(stack.url, ofTrader())).status).to.equal(200);

    const Authorization = `Bearer ${await login(stack.url, trader.account)}`;
    const location = { target: "/v3/session/location", headers: { Authorization } };
    expect((await send(stack.url, location)).status).to.equal(200);
    const redis = new Redis(stack.redisUrl);
    try {
      const buckets = await redis.keys(`*throttle:payer:*${trader.account.traderId}*free`);
      expect(buckets).to.have.length(1);
      // A debt of 100 tokens; a level is stored in millionths of a token.
      for (const bucket of buckets) await redis.set(bucket, `-100000000 ${Date.now()}000`);
    } finally {
      redis.disconnect();
    }
    expect((await send(stack.url, location)).status).to.equal(429);
    expect((await send(stack.url, ofTrader())).status, "the key pays as the session does").to.equal(429);
  });

  it("checks the service once a second, however often its readiness is asked for", async () => {
    const original = Object.getOwnPropertyDescriptor(RedisLog.prototype, "quarantineSize");
    let checks = 0;
    RedisLog.prototype.quarantineSize = () => {
      checks += 1;
      return Promise.resolve(0);
    };
    try {
      const beganMs = performance.now();
      await until(async () => {
        const asked = Array.from({ length: 50 }, () => send(stack.url, { target: "/readyz" }));
        expect((await Promise.all(asked)).map(({ json }) => json["quarantined"])).to.not.include(null);
        return checks >= 2;
      });
      expect(checks).to.be.at.most(1 + (1.01 * (performance.now() - beganMs)) / 1_000);
    } finally {
      if (original !== undefined) Object.defineProperty(RedisLog.prototype, "quarantineSize", original);
    }
  });

  it("asks a worker for earlier answers only as often as its wallet can place", async () => {
    const { outcomes } = await newMarket(stack);
    const redis = new Redis(stack.redisUrl);
    // The question for an earlier answer is a query of the groups of the wallet.
    const asked = await countInScripts(stack.redisUrl, /groups/g);
    const place = (): Raw => {
      const order = { outcomeId: outcomes[0], price: "0.200", qty: 1, tif: "GTC", clientId: randomUUID() };
      return signed(trader.trading, { method: "POST", target: "/v3/orders", body: JSON.stringify(order) });
    };
    try {
      expect((await send(stack.url, place())).status).to.equal(201);
      const { capacity, refillPerSec } = KEY_BUCKETS.place;
      const empty = async (): Promise<void> => {
        for (const bucket of await redis.keys("*throttle:payer:*place"))
          await redis.set(bucket, `0 ${Date.now()}000`);
      };
      await empty();
      expect((await send(stack.url, place())).status).to.equal(429);
      // The kind is in the question, in its answer and in what the log records of them.
      const inOne = asked.count;
      expect(inOne).to.be.above(0);
      const beganMs = performance.now();
      const sent = 4 * capacity;
      let refused = 0;
      for (let i = 0; i < sent; i += 8) {
        await empty();
        const answers = await Promise.all(Array.from({ length: 8 }, () => send(stack.url, place())));
        refused += answers.filter(({ status }) => status === 429).length;
      }
      const refilled = (refillPerSec * (performance.now() - beganMs)) / 1_000;
      expect(refused, "the requests that are refused").to.be.above(0.9 * sent - refilled);
      expect(asked.count / inOne, "the questions to the worker").to.be.within(1, capacity + refilled);
    } finally {
      asked.stop();
      redis.disconnect();
    }
  });
});
