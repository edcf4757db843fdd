import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { MarketPrices } from "../../../http/surface-a/schemas/catalog.js";
import { callsOf, openCalls, resultOf } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

describe("a request for the prices of markets", function () {
  this.timeout(60_000);
  let stack: Stack;
  let ann: TestTrader;
  let bob: TestTrader;

  before(async () => {
    stack = await startStack();
    [ann, bob] = [await newTrader(stack), await newTrader(stack)];
  });
  after(() => stack.stop());

  const place = async (trader: TestTrader, outcomeId: string, price: string, qty: number): Promise<void> => {
    const answer = await callsOf(stack.url, trader.trading)("POST /v3/orders", {
      outcomeId,
      price,
      qty,
      tif: "GTC",
    });
    expect(answer.status).to.equal(201);
  };

  const read = (marketIds: readonly string[], etag?: string): Promise<Response> =>
    fetch(`${stack.url}/v3/public/catalog/prices?markets=${marketIds.join(",")}`, {
      headers: etag === undefined ? {} : { "If-None-Match": etag },
    });

  const pricesOf = async (...marketIds: string[]): Promise<readonly MarketPrices[]> =>
    ((await (await read(marketIds)).json()) as { items: readonly MarketPrices[] }).items;

  it("has the best bids, the last prices and the volume of each market", async () => {
    const [one, two] = [await newMarket(stack), await newMarket(stack)];
    const [knicks, celtics] = one.outcomes;
    await place(ann, knicks, "0.610", 7);
    await place(ann, knicks, "0.600", 9);
    await place(bob, celtics, "0.390", 5);
    await place(bob, celtics, "0.350", 4);
    await until(async () => (await pricesOf(one.marketId))[0]?.bids[celtics]?.qty === 4);
    const [second, first] = await pricesOf(two.marketId, one.marketId, one.marketId, randomUUID());
    expect(first).to.deep.include({
      marketId: one.marketId,
      status: "OPEN",
      bids: { [knicks]: { price: "0.610", qty: 2 }, [celtics]: { price: "0.350", qty: 4 } },
      last: { [knicks]: "0.610", [celtics]: "0.390" },
      volume: "0.05000",
    });
    expect(second).to.deep.equal({
      marketId: two.marketId,
      status: "OPEN",
      bids: { [two.outcomes[0]]: null, [two.outcomes[1]]: null },
      last: {},
      volume: "0.00000",
      hour: [],
    });
    await until(async () => (await pricesOf(one.marketId))[0]?.hour.at(-1) === "0.610");
  });

  it("is answered 304 while nothing has changed", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    const first = await read([marketId]);
    const etag = first.headers.get("etag") ?? "";
    expect((await read([marketId], etag)).status).to.equal(304);
    await place(ann, outcomes[0], "0.100", 1);
    await until(async () => (await read([marketId], etag)).status === 200);
  });

  it("does not show markets of hidden events", async () => {
    const { marketId } = await newMarket(stack, "PUSH", false);
    expect(await pricesOf(marketId)).to.deep.equal([]);
  });

  it("shows a closed market without bids", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    await place(ann, outcomes[0], "0.100", 1);
    await stack.operator.setEventStatus(eventId, "close");
    await until(async () => (await pricesOf(marketId))[0]?.status === "CLOSED");
    expect((await pricesOf(marketId))[0]?.bids).to.deep.equal({ [outcomes[0]]: null, [outcomes[1]]: null });
  });

  it("takes 1 to 100 markets", async () => {
    const ask = async (count: number): Promise<string> => {
      const ids = Array.from({ length: count }, () => randomUUID()).join(",");
      return resultOf(await openCalls(stack.url)(`GET /v3/public/catalog/prices?markets=${ids}`));
    };
    expect(await ask(100)).to.equal("200");
    expect(await ask(101)).to.equal("400 INVALID_QUERY");
    expect(resultOf(await openCalls(stack.url)("GET /v3/public/catalog/prices"))).to.equal(
      "400 INVALID_QUERY",
    );
  });
});
