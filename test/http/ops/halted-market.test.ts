import { expect } from "chai";
import { Redis } from "ioredis";
import { marketActor } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { callsOf, resultOf, type Calls } from "../calls.js";

type Market = Awaited<ReturnType<typeof newMarket>>;
interface OpenOrder {
  readonly orderId: string;
  readonly outcomeId: string;
}

const LATE = "503 UNAVAILABLE";

describe("trading while a market is halted", function () {
  this.timeout(60_000);
  let stack: Stack;
  let calls: Calls;
  let redis: Redis;
  let halted: Market;
  let other: Market;

  before(async () => {
    stack = await startStack();
    redis = new Redis(stack.redisUrl);
    calls = callsOf(stack.url, (await newTrader(stack)).trading);
    [halted, other] = [await newMarket(stack), await newMarket(stack)];
  });
  beforeEach(async () => {
    await setHalted(false);
    await until(
      () => calls("DELETE /v3/orders"),
      ({ status }) => status === 200,
    );
    await openOrders(0);
    expect(resultOf(await place(halted, other))).to.equal("201");
    await openOrders(2);
    await setHalted(true);
    const ioc = { outcomeId: halted.outcomes[0], price: "0.010", qty: 1, tif: "IOC" };
    await until(
      () => calls("POST /v3/orders", ioc),
      (answer) => resultOf(answer) === LATE,
    );
  });
  after(async () => {
    redis.disconnect();
    await stack.stop();
  });

  /** Names the market as halted. Its actor goes on, so that an order ends whose cancel it receives. */
  async function setHalted(isHalted: boolean): Promise<void> {
    const [key, actor] = [new Keys().halted(), marketActor(halted.marketId)];
    await (isHalted ? redis.hset(key, actor, "a broken rule") : redis.hdel(key, actor));
  }

  /** Places an order in each market. */
  function place(...markets: readonly Market[]): ReturnType<Calls> {
    const orders = markets.map(({ outcomes: [outcomeId] }) => ({
      outcomeId,
      price: "0.010",
      qty: 1,
      tif: "GTC",
    }));
    return calls("POST /v3/orders/batch", { orders });
  }

  /** Waits until the trader has this many open orders, and returns them. */
  async function openOrders(count: number): Promise<readonly OpenOrder[]> {
    const ordersOf = (json: Readonly<Record<string, unknown>>) => json["open"] as readonly OpenOrder[];
    const { json } = await until(
      () => calls("GET /v3/account/orders"),
      (answer) => ordersOf(answer.json).length === count,
    );
    return ordersOf(json);
  }

  /** Returns the id of the order in a market. */
  async function orderIn({ outcomes: [outcomeId] }: Market): Promise<string> {
    return (await openOrders(2)).find((order) => order.outcomeId === outcomeId)?.orderId ?? "none";
  }

  /** Checks that the order in the halted market is the only open one, and can be canceled when the market is repaired. */
  async function expectHaltedLeft(orderId: string): Promise<void> {
    expect((await openOrders(1)).map((order) => order.orderId)).to.deep.equal([orderId]);
    await setHalted(false);
    const canceled = await until(
      () => calls(`DELETE /v3/orders/${orderId}`),
      ({ status }) => status === 200,
    );
    expect(canceled.json).to.deep.equal({ orderId, status: "CANCELED" });
  }

  it("refuses orders in it, and takes those in others", async () => {
    const placed = await place(halted, other);
    expect(placed.status).to.equal(207);
    expect(placed.json["accepted"]).to.have.length(1);
    expect(JSON.stringify(placed.json["rejected"])).to.include("halted by an error");
  });

  it("sends it no cancel of everything, and cancels the orders in others", async () => {
    const orderId = await orderIn(halted);
    const answer = await calls("DELETE /v3/orders");
    expect(resultOf(answer)).to.equal(LATE);
    expect(JSON.stringify(answer.json)).to.include("halted by an error");
    await expectHaltedLeft(orderId);
  });

  it("sends it no cancel by id, and cancels the orders in others", async () => {
    const orderIds = [await orderIn(halted), await orderIn(other)];
    expect(resultOf(await calls("DELETE /v3/orders/batch", { orderIds }))).to.equal(LATE);
    await expectHaltedLeft(orderIds[0] ?? "none");
  });

  it("cancels in a scope without it as always", async () => {
    expect((await calls(`DELETE /v3/orders?market=${other.marketId}`)).json).to.deep.equal({ canceled: 1 });
    await openOrders(1);
  });

  it("amends no order in it", async () => {
    const amended = await calls(`PATCH /v3/orders/${await orderIn(halted)}`, { price: "0.020" });
    expect(resultOf(amended)).to.equal(LATE);
  });
});
