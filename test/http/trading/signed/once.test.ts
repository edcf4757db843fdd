import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { expect } from "chai";
import { Redis } from "ioredis";
import { LogGuard } from "../../../../stream/services/log-guard.js";
import { callsOf, operatorCalls, resultOf, type Calls } from "../../calls.js";
import { send, signed, type Answer, type Raw } from "../../requests.js";
import { startStack, type Stack } from "../../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../../support/traders.js";
import { until } from "../../../support/until.js";

describe("a placement that is sent twice", function () {
  this.timeout(60_000);
  let stack: Stack;
  let redis: Redis;
  let trader: TestTrader;
  let calls: Calls;
  let operator: Calls;
  let market: Awaited<ReturnType<typeof newMarket>>;

  before(async () => {
    stack = await startStack({ gateways: 2, metered: true });
    redis = new Redis(stack.redisUrl);
    operator = await operatorCalls(stack);
  });
  after(async () => {
    redis.disconnect();
    await stack.stop();
  });
  beforeEach(async () => {
    trader = await newTrader(stack);
    calls = callsOf(stack.url, trader.trading);
    market = await newMarket(stack);
  });

  const order = (changes: object = {}) => ({
    outcomeId: market.outcomes[0],
    price: "0.200",
    qty: 5,
    tif: "GTC",
    ...changes,
  });
  const post = (target: string, body: object, key = trader.trading): Raw =>
    signed(key, { method: "POST", target, body: JSON.stringify(body) });
  const place = (changes: object = {}): Raw => post("/v3/orders", order(changes));
  const [first, second] = [0, 1].map(
    (index) =>
      (raw: Raw): Promise<Answer> =>
        send(stack.urls[index] ?? "", raw),
  ) as [(raw: Raw) => Promise<Answer>, (raw: Raw) => Promise<Answer>];
  const remaining = async (): Promise<number> => {
    const { place: bucket } = (await calls("GET /v3/limits")).json as { place: { remaining: number } };
    return bucket.remaining;
  };

  /** Checks that a request gets an answer again, at both gateways and for nothing. */
  async function expectReplayed(raw: Raw, answer: Answer): Promise<void> {
    for (const at of [second, first]) {
      const again = await at(raw);
      expect(`${again.status} ${again.text}`).to.equal(`${answer.status} ${answer.text}`);
      expect(again.headers.get("x-replayed")).to.equal("true");
      const charged = [...again.headers.keys()].filter((name) => name.startsWith("x-ratelimit"));
      expect(charged).to.deep.equal([]);
    }
  }

  it("has ids that begin with the time of its signature, as the replacement of an order has", async () => {
    const signedMs = Date.now() - 20_000;
    const timeOf = async (raw: Raw, status: number): Promise<[string, number]> => {
      const answer = await first(signed(trader.trading, raw, signedMs));
      expect(answer.status, answer.text).to.equal(status);
      const orderId = String(answer.json["orderId"]);
      return [orderId, Number.parseInt(orderId.replace("-", "").slice(0, 12), 16)];
    };
    const body = JSON.stringify(order());
    const [orderId, time] = await timeOf({ method: "POST", target: "/v3/orders", body }, 201);
    expect(time).to.be.within(signedMs - 4_096, signedMs + 4_096);
    const target = `/v3/orders/${orderId}`;
    const [replacedBy, later] = await timeOf({ method: "PATCH", target, body: '{"price":"0.300"}' }, 200);
    expect(replacedBy).not.to.equal(orderId);
    expect(later).to.be.within(signedMs - 4_096, signedMs + 4_096);
  });

  it("is answered from its first run when a check before the route would refuse it", async () => {
    const raw = place();
    const placed = await first(raw);
    expect(placed.status).to.equal(201);
    const orders = Array.from({ length: 250 }, () => order({ price: "0.2001" }));
    expect(resultOf(await first(post("/v3/orders/batch", { orders })))).to.equal("400 INVALID_PRICE");
    expect(resultOf(await second(post("/v3/orders/batch", { orders })))).to.equal("429 RATE_LIMIT_EXCEEDED");
    const batch = post("/v3/orders/batch", { orders: orders.slice(0, 3) });
    const refused = await first(batch);
    for (const bucket of await redis.keys("*throttle:payer:*place"))
      await redis.set(bucket, `0 ${Date.now()}000`);
    expect(resultOf(await first(place()))).to.equal("429 RATE_LIMIT_EXCEEDED");
    await expectReplayed(raw, placed);
    await expectReplayed(batch, refused);

    const state = `POST /admin/v1/traders/${trader.account.traderId}/state`;
    await operator(state, { state: "LOCKED", reason: "test" });
    await until(
      () => calls("GET /v3/orders"),
      ({ status }) => status === 423,
    );
    await expectReplayed(raw, placed);
    await operator(state, { state: "ACTIVE", reason: "test" });
    await until(
      () => calls("GET /v3/orders"),
      ({ status }) => status === 200,
    );

    await operator("POST /admin/v1/maintenance", { action: "begin" });
    try {
      await until(
        () => second(place({ qty: 6 })),
        ({ status }) => status === 423,
      );
      await expectReplayed(raw, placed);
    } finally {
      await operator("POST /admin/v1/maintenance", { action: "end" });
    }
  });

  it("is answered from its first run when the market takes no orders any more", async () => {
    const single = place();
    const placed = await first(single);
    const orders = [
      order(),
      order({ price: "0.2001" }),
      order({ outcomeId: randomUUID() }),
      order({ qty: 9_999 }),
    ];
    const batch = post("/v3/orders/batch", { orders });
    const mixed = await first(batch);
    expect(mixed.status).to.equal(207);
    await operator(`POST /admin/v1/markets/${market.marketId}/status`, { action: "close" });
    await until(
      () => second(place()),
      ({ status }) => status === 409,
    );
    const orderIds = async (): Promise<unknown[]> => {
      const { items } = (await calls("GET /v3/orders?status=CANCELED")).json as {
        items: { orderId: string }[];
      };
      return items.map(({ orderId }) => orderId);
    };
    const before = await orderIds();
    await expectReplayed(single, placed);
    await expectReplayed(batch, mixed);
    expect(await orderIds()).to.deep.equal(before);
  });

  it("is refused as in its first run when its cause has gone", async () => {
    const status = `POST /admin/v1/markets/${market.marketId}/status`;
    await operator(status, { action: "pause" });
    await until(
      () => first(place()),
      ({ status }) => status === 409,
    );
    const single = place();
    const atomic = post("/v3/orders/batch", { orders: [order(), order({ price: "0.2001" })], atomic: true });
    const paused = await first(single);
    const pausedToo = await first(atomic);
    expect([resultOf(paused), resultOf(pausedToo)]).to.deep.equal(["409 MARKET_PAUSED", "409 MARKET_PAUSED"]);
    const poor = place({ qty: 1_000_000 });
    await operator(status, { action: "resume" });
    await until(
      () => second(place()),
      ({ status }) => status === 201,
    );
    const refused = await first(poor);
    expect(resultOf(refused)).to.equal("422 INSUFFICIENT_BALANCE");
    const money = {
      kind: "DEPOSIT",
      amount: "1000000",
      currency: "CASH",
      reason: "test",
      subaccountKeyId: trader.trading.key.keyId,
    };
    await operator(`POST /admin/v1/traders/${trader.account.traderId}/transactions`, money);
    for (const [raw, answer] of [
      [single, paused],
      [atomic, pausedToo],
      [poor, refused],
    ] as const)
      await expectReplayed(raw, answer);
  });

  it("is answered from its first run while the log has no room for orders", async () => {
    const raw = place();
    const placed = await first(raw);
    const original = Object.getOwnPropertyDescriptor(LogGuard.prototype, "refusalOf");
    LogGuard.prototype.refusalOf = ({ opensOrders }) => (opensOrders ? "no room" : undefined);
    try {
      expect(resultOf(await second(place({ qty: 6 })))).to.equal("503 UNAVAILABLE");
      await expectReplayed(raw, placed);
    } finally {
      if (original !== undefined) Object.defineProperty(LogGuard.prototype, "refusalOf", original);
    }
  });

  it("pays once", async () => {
    const raw = place();
    const before = await remaining();
    await first(raw);
    for (let repeat = 0; repeat < 20; repeat += 1) await (repeat % 2 === 0 ? first : second)(raw);
    expect(await remaining()).to.be.within(before - 1, before);
  });

  it("is refused again, and not as a repeat, when its body has the wrong shape", async () => {
    const wrong: readonly [string, object, string][] = [
      ["/v3/orders", { price: "0.200" }, "400 INVALID_BODY"],
      ["/v3/orders/batch", { orders: [] }, "400 EMPTY_BATCH"],
      ["/v3/safety/groups", { maxFilledQty: "many" }, "400 INVALID_BODY"],
    ];
    for (const [target, body, result] of wrong) {
      const raw = post(target, body);
      for (const at of [first, second]) {
        const answer = await at(raw);
        expect(resultOf(answer), target).to.equal(result);
        expect(answer.headers.has("x-replayed"), target).to.equal(false);
      }
    }
  });

  it("takes one charge, one append and one commit, and no other script", async () => {
    await first(place());
    const clientId = randomUUID();
    const raw = place({ clientId });
    const isOfOrder = (line: string): boolean =>
      [trader.trading.key.keyId, "throttle:payer:", clientId].some((text) => line.includes(text));
    const { hostname, port, password } = new URL(stack.redisUrl);
    const monitor = connect(Number(port), hostname);
    let seen = "";
    monitor.on("data", (chunk) => (seen += chunk.toString("latin1")));
    const scripts = (): string[] =>
      seen.split("\n").filter((line) => /^\S+ \[\d+ [^l].*\] "evalsha"/i.test(line) && isOfOrder(line));
    try {
      monitor.write(`AUTH ${password}\r\nMONITOR\r\n`);
      await until(
        () => Promise.resolve(seen),
        (text) => text.startsWith("+OK\r\n+OK"),
      );
      expect((await first(raw)).status).to.equal(201);
      await until(
        () => Promise.resolve(scripts().length),
        (count) => count >= 3,
      );
    } finally {
      monitor.destroy();
    }
    expect(scripts().filter((line) => line.includes("answers:"))).to.deep.equal([]);
    expect(scripts()).to.have.length(3);
  });
});
