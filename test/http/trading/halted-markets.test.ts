import { expect } from "chai";
import { Redis } from "ioredis";
import { type ActorId, ledgerActor, marketActor } from "../../../actors/actor.js";
import { HaltedMarkets } from "../../../http/trading/halted-markets.js";
import { Keys } from "../../../stream/redis/keys.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { ManualClock, pause } from "../../stream/log/support.js";
import { callsOf, resultOf, type Calls } from "../calls.js";
import { type Answer, type Raw, send, signed } from "../requests.js";

type Market = Awaited<ReturnType<typeof newMarket>>;

const LATE = "503 UNAVAILABLE";

describe("halted markets", () => {
  const halted = new Map<ActorId, string>([
    [marketActor("a"), "a broken rule"],
    [ledgerActor(3), "a broken rule"],
  ]);

  let clock: ManualClock;
  let answer: Promise<ReadonlyMap<ActorId, string>>;
  let markets: HaltedMarkets;

  beforeEach(() => {
    clock = new ManualClock();
    answer = Promise.resolve(halted);
    markets = new HaltedMarkets({ clock, halted: () => answer });
  });

  /** Lets the markets read the halted actors again. */
  async function read(): Promise<void> {
    clock.advance(1_000);
    markets.closed([]);
    await new Promise(setImmediate);
  }

  it("let one request for their orders pass in 30 s, because a record of a halt may outlive it", async () => {
    await read();
    expect(markets.closed()).to.deep.equal([]);
    markets.passed(["b"]);
    expect(markets.closed(["a", "b"])).to.deep.equal([]);
    markets.passed(["a", "b"]);
    expect(markets.closed()).to.deep.equal(["a"]);
    expect(markets.closed(["a", "b"])).to.deep.equal(["a"]);
    expect(markets.closed(["b"])).to.deep.equal([]);
    clock.advance(15_000);
    // This one was on its way already.
    markets.passed(["a"]);
    clock.advance(15_000);
    expect(markets.closed(["a"])).to.deep.equal([]);
  });

  it("are none while the log does not answer, and when they are repaired", async () => {
    await read();
    markets.passed(["a"]);
    expect(markets.closed()).to.deep.equal(["a"]);
    answer = Promise.reject(new Error("no connection"));
    await read();
    expect(markets.closed()).to.deep.equal([]);
    answer = Promise.resolve(new Map());
    await read();
    expect(markets.closed()).to.deep.equal([]);
  });
});

describe("orders in a halted market", function () {
  this.timeout(60_000);
  let stack: Stack;
  let redis: Redis;
  let trader: TestTrader;
  let calls: Calls;
  let halted: Market;
  let other: Market;
  let inHalted: string;
  let inOther: string;

  before(async () => {
    stack = await startStack();
    redis = new Redis(stack.redisUrl);
    trader = await newTrader(stack);
    calls = callsOf(stack.url, trader.trading);
    [halted, other] = [await newMarket(stack), await newMarket(stack)];
  });
  after(async () => {
    redis.disconnect();
    await stack.stop();
  });
  beforeEach(async () => {
    await setHalted(false);
    await until(
      () => calls("DELETE /v3/orders"),
      (answer) => resultOf(answer) === "200",
    );
    await setHalted(true);
    // The gateway does not know it yet, and then lets one cancel pass.
    await until(async () => {
      inHalted = await place(halted);
      return resultOf(await calls(`DELETE /v3/orders?market=${halted.marketId}`)) === LATE;
    });
    inOther = await place(other);
  });

  /** Names the market as halted. Its actor goes on, so that a cancel which reaches it takes effect. */
  async function setHalted(isHalted: boolean): Promise<void> {
    const [key, actor] = [new Keys().halted(), marketActor(halted.marketId)];
    await (isHalted ? redis.hset(key, actor, "a broken rule") : redis.hdel(key, actor));
  }

  async function place({ outcomes: [outcomeId] }: Market, by = calls): Promise<string> {
    const { json } = await by("POST /v3/orders", { outcomeId, price: "0.010", qty: 1, tif: "GTC" });
    return String(json["orderId"]);
  }

  async function expectOpen(...orderIds: readonly string[]): Promise<void> {
    await until(async () => {
      const { json } = await calls("GET /v3/account/orders");
      const open = (json["open"] as readonly { readonly orderId: string }[]).map(({ orderId }) => orderId);
      expect(open).to.have.members(orderIds);
    });
  }

  /** Sends a cancel that cannot reach the halted market, and the same bytes again when it is repaired. */
  async function cancelTwice(raw: Raw): Promise<Answer> {
    const bytes = signed(trader.trading, raw);
    const refused = await send(stack.url, bytes);
    expect(resultOf(refused)).to.equal(LATE);
    expect(refused.text).to.include("halted");
    await expectOpen(inHalted);
    await setHalted(false);
    const answer = await until(
      () => send(stack.url, bytes),
      (again) => resultOf(again) !== LATE,
    );
    await expectOpen();
    return answer;
  }

  it("stay when everything is canceled, and are canceled by the same request later", async () => {
    const { json } = await cancelTwice({ method: "DELETE", target: "/v3/orders" });
    expect(json).to.deep.equal({ canceled: 1 });
  });

  it("stay when they are canceled by id beside others, and are canceled by the same request later", async () => {
    const body = JSON.stringify({ orderIds: [inHalted, inOther] });
    const { json } = await cancelTwice({ method: "DELETE", target: "/v3/orders/batch", body });
    expect(json["canceled"]).to.deep.equal([inHalted]);
  });

  it("stay when one is canceled, and it is canceled by the same request later", async () => {
    await calls(`DELETE /v3/orders/${inOther}`);
    const { json } = await cancelTwice({ method: "DELETE", target: `/v3/orders/${inHalted}` });
    expect(json).to.deep.equal({ orderId: inHalted, status: "CANCELED" });
  });

  it("are not amended", async () => {
    const amended = await calls(`PATCH /v3/orders/${inHalted}`, { price: "0.020" });
    expect(resultOf(amended)).to.equal(LATE);
    await expectOpen(inHalted, inOther);
  });

  it("are canceled by their owner after requests of somebody who has none there", async () => {
    const stranger = callsOf(stack.url, (await newTrader(stack)).trading);
    const market = await newMarket(stack);
    const [key, actor] = [new Keys().halted(), marketActor(market.marketId)];
    const ended = await place(market, stranger);
    expect(resultOf(await stranger(`DELETE /v3/orders/${ended}`))).to.equal("200");
    await place(market);
    await redis.hset(key, actor, "a broken rule");
    // The gateways read what is halted once a second.
    await pause(2_500);
    for (let n = 0; n < 3; n += 1)
      expect(resultOf(await stranger("DELETE /v3/orders")), String(n)).to.equal("200");
    const amended = await stranger(`PATCH /v3/orders/${ended}`, { price: "0.020" });
    expect(resultOf(amended)).to.equal("404 ORDER_NOT_FOUND");
    const answer = await calls(`DELETE /v3/orders?market=${market.marketId}`);
    await redis.hdel(key, actor);
    expect(answer.json).to.deep.equal({ canceled: 1 });
  });

  it("do not keep others from being canceled in a scope without it", async () => {
    expect((await calls(`DELETE /v3/orders?market=${other.marketId}`)).json).to.deep.equal({ canceled: 1 });
    await expectOpen(inHalted);
  });
});
