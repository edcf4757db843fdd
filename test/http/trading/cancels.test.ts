import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { callsOf, resultOf, type Calls } from "../calls.js";
import { countInScripts } from "../monitor.js";
import { until } from "../../support/until.js";

type Market = Awaited<ReturnType<typeof newMarket>>;

describe("the cancel of all orders", function () {
  this.timeout(60_000);
  let stack: Stack;
  let calls: Calls;
  let one: Market;
  let other: Market;

  before(async () => {
    stack = await startStack();
    calls = callsOf(stack.url, (await newTrader(stack)).trading);
    [one, other] = [await newMarket(stack), await newMarket(stack)];
  });
  after(() => stack.stop());

  /** Waits for queued cancels until at most `atMost` orders are open, and returns their outcomes. */
  const open = async (atMost = 4): Promise<string[]> => {
    const ordersOf = (json: Readonly<Record<string, unknown>>) =>
      json["open"] as readonly { readonly outcomeId: string }[];
    const { json } = await until(
      () => calls("GET /v3/account/orders"),
      (answer) => ordersOf(answer.json).length <= atMost,
    );
    return ordersOf(json)
      .map(({ outcomeId }) => outcomeId)
      .sort();
  };
  /** Places one order on each outcome of both markets. */
  const fill = async (): Promise<void> => {
    await calls("DELETE /v3/orders");
    await open(0);
    const outcomes = [...one.outcomes, ...other.outcomes];
    const orders = outcomes.map((outcomeId) => ({ outcomeId, price: "0.010", qty: 1, tif: "GTC" }));
    expect(resultOf(await calls("POST /v3/orders/batch", { orders }))).to.equal("201");
    await until(
      () => calls("GET /v3/orders"),
      ({ json }) => (json["items"] as unknown[]).length === outcomes.length,
    );
  };

  const NARROWED: readonly (readonly [string, () => string, () => readonly string[]])[] = [
    ["nothing", () => "", () => []],
    ["an event", () => `?event=${one.eventId}`, () => other.outcomes],
    ["a market", () => `?market=${one.marketId}`, () => other.outcomes],
    ["an outcome", () => `?outcome=${one.outcomes[0]}`, () => [one.outcomes[1], ...other.outcomes]],
    ["an event and its market", () => `?event=${one.eventId}&market=${one.marketId}`, () => other.outcomes],
    [
      "a market and its outcome",
      () => `?market=${one.marketId}&outcome=${one.outcomes[1]}`,
      () => [one.outcomes[0], ...other.outcomes],
    ],
    ["the other currency", () => "?currency=COIN", () => [...one.outcomes, ...other.outcomes]],
  ];
  for (const [what, query, left] of NARROWED) {
    it(`is narrowed by ${what}`, async () => {
      await fill();
      const { status, json } = await calls(`DELETE /v3/orders${query()}`);
      expect(status).to.equal(200);
      expect(json).to.deep.equal({ canceled: 4 - left().length });
      expect(await open(left().length)).to.deep.equal([...left()].sort());
    });
  }

  const REFUSED: readonly (readonly [string, () => string])[] = [
    ["a market of another event", () => `?event=${one.eventId}&market=${other.marketId}`],
    ["an outcome of another market", () => `?market=${one.marketId}&outcome=${other.outcomes[0]}`],
    ["an unknown event", () => `?event=${randomUUID()}`],
    ["an unknown market", () => `?market=${randomUUID()}`],
    ["an unknown outcome", () => `?outcome=${randomUUID()}`],
    ["the same filter twice", () => `?market=${one.marketId}&market=${one.marketId}`],
    ["an unknown filter", () => "?trader=me"],
  ];
  for (const [what, query] of REFUSED) {
    it(`refuses ${what}, and cancels nothing`, async () => {
      await fill();
      expect(resultOf(await calls(`DELETE /v3/orders${query()}`))).to.equal("400 INVALID_QUERY");
      expect(await open()).to.have.length(4);
    });
  }

  it("is sent to the ledger once for many requests at the same time", async () => {
    await fill();
    const sent = await countInScripts(stack.redisUrl, /cancelAll/g);
    try {
      const answers = await Promise.all(Array.from({ length: 64 }, () => calls("DELETE /v3/orders")));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
      expect(await open(0)).to.deep.equal([]);
      expect(sent.count, "the cancels that reach the ledger").to.be.within(1, 40);
    } finally {
      sent.stop();
    }
  });

  it("by ids answers 200, 207 or 404, and names the orders that were not open", async () => {
    await fill();
    const { json } = await calls("GET /v3/orders");
    const [first = "", second = ""] = (json["items"] as readonly { readonly orderId: string }[]).map(
      ({ orderId }) => orderId,
    );
    const missing = randomUUID();
    const some = await calls("DELETE /v3/orders/batch", { orderIds: [first, missing] });
    expect(some.status).to.equal(207);
    expect(some.json).to.deep.equal({
      canceled: [first],
      notCanceled: [{ orderId: missing, reason: "NOT_FOUND" }],
    });
    expect((await calls("DELETE /v3/orders/batch", { orderIds: [second] })).status).to.equal(200);
    const none = await calls("DELETE /v3/orders/batch", { orderIds: [first] });
    expect(none.status).to.equal(404);
    expect(none.json).to.deep.equal({
      canceled: [],
      notCanceled: [{ orderId: first, reason: "CANCELED" }],
    });
    expect((await calls(`DELETE /v3/orders/${first}`)).json).to.deep.equal({
      orderId: first,
      status: "CANCELED",
    });
  });
});
