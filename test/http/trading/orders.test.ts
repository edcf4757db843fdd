import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

interface Trading {
  readonly calls: Calls;
  /** Places an order and returns its id. */
  readonly place: (outcomeId: string, price: string, qty: number, more?: object) => Promise<string>;
  readonly order: (orderId: string) => Promise<Readonly<Record<string, unknown>>>;
}

describe("orders", function () {
  this.timeout(60_000);
  let stack: Stack;
  let ann: Trading;
  let bob: Trading;

  const newTrading = async (amount?: string): Promise<Trading> => {
    const { trading } = await newTrader(stack, amount);
    const calls = callsOf(stack.url, trading);
    return {
      calls,
      place: async (outcomeId, price, qty, more = {}) => {
        const answer = await calls("POST /v3/orders", { outcomeId, price, qty, tif: "GTC", ...more });
        expect(answer.status, answer.text).to.equal(201);
        return String(answer.json["orderId"]);
      },
      order: async (orderId) => (await calls(`GET /v3/orders/${orderId}`)).json,
    };
  };
  const whenOpen = (trader: Trading, orderId: string) =>
    until(
      () => trader.calls(`GET /v3/orders/${orderId}`),
      ({ json }) => json["status"] === "OPEN",
    );
  const bookOf = async (marketId: string, outcomeId: string): Promise<string[]> => {
    const { json } = await ann.calls(`GET /v3/catalog/markets/${marketId}/book`);
    const orders = json["orders"] as Record<string, { orderId: string; price: string; qty: number }[]>;
    return (orders[outcomeId] ?? []).map(({ orderId, price, qty }) => `${orderId} ${price} ${qty}`);
  };

  before(async () => {
    stack = await startStack({ limits: { openOrders: 4, positionContracts: 1_000 } });
    ann = await newTrading();
    bob = await newTrading();
  });
  after(() => stack.stop());

  describe("in a preview", () => {
    it("show what would fill, rest and be held, and change nothing", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const [yes, no] = outcomes;
      const resting = await bob.place(no, "0.400", 30);
      const ahead = await bob.place(yes, "0.500", 7);
      await whenOpen(bob, resting);
      await whenOpen(bob, ahead);
      const preview = (price: string) =>
        ann.calls("POST /v3/orders/preview", { outcomeId: yes, price, qty: 100, tif: "GTC" });
      expect((await preview("0.600")).json).to.deep.equal({
        reserve: "0.60000",
        fee: "0.00000",
        fills: [{ price: "0.600", qty: 30 }],
        rests: 70,
        queueAhead: 0,
      });
      expect((await preview("0.500")).json).to.deep.include({ fills: [], rests: 100, queueAhead: 7 });
      expect(await bookOf(marketId, no)).to.deep.equal([`${resting} 0.400 30`]);
      expect((await ann.calls("GET /v3/orders")).json).to.deep.equal({ items: [] });
      await bob.calls("DELETE /v3/orders");
    });

    it("show why they would be refused now, and are refused when they are wrong at any time", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const order = { outcomeId: outcomes[0], price: "0.500", qty: 100, tif: "GTC" };
      const preview = (more: object) => ann.calls("POST /v3/orders/preview", { ...order, ...more });
      expect((await preview({ qty: 1_001 })).json["reject"]).to.equal("POSITION_LIMIT_EXCEEDED");
      expect((await preview({ tif: "FOK" })).json["reject"]).to.equal("NOT_FILLABLE");
      expect((await preview({ currency: "COIN" })).json["reject"]).to.equal("INSUFFICIENT_BALANCE");
      expect(resultOf(await preview({ price: "0.501" }))).to.equal("400 INVALID_PRICE");
      expect(resultOf(await preview({ outcomeId: marketId }))).to.equal("404 OUTCOME_NOT_FOUND");
      const operator = await operatorCalls(stack);
      await operator(`POST /admin/v1/markets/${marketId}/status`, { action: "close" });
      expect((await preview({})).json).to.include({ reject: "MARKET_CLOSED", reserve: "0.00000" });
    });
  });

  describe("in an amendment", () => {
    it("to a smaller quantity keep their place and their id", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const [yes] = outcomes;
      const first = await ann.place(yes, "0.300", 50);
      const second = await bob.place(yes, "0.300", 20);
      await whenOpen(bob, second);
      const amended = await ann.calls(`PATCH /v3/orders/${first}`, { qty: 10 });
      expect(`${amended.status} ${amended.text}`).to.equal(`200 {"orderId":"${first}"}`);
      await until(
        () => ann.calls(`GET /v3/orders/${first}`),
        ({ json }) => json["remaining"] === 10,
      );
      expect(await bookOf(marketId, yes)).to.deep.equal([`${first} 0.300 10`, `${second} 0.300 20`]);
      for (const trader of [ann, bob]) await trader.calls("DELETE /v3/orders");
    });

    it("to a larger quantity or another price are replaced at the back of the queue", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const [yes] = outcomes;
      const first = await ann.place(yes, "0.300", 50);
      const second = await bob.place(yes, "0.300", 20);
      await whenOpen(bob, second);
      const more = await ann.calls(`PATCH /v3/orders/${first}`, { qty: 60 });
      const replaced = String(more.json["orderId"]);
      expect(replaced).to.not.equal(first);
      await whenOpen(ann, replaced);
      expect(await bookOf(marketId, yes)).to.deep.equal([`${second} 0.300 20`, `${replaced} 0.300 60`]);
      expect(await ann.order(first)).to.include({ status: "CANCELED", remaining: 50 });

      const dearer = String(
        (await ann.calls(`PATCH /v3/orders/${replaced}`, { price: "0.350" })).json["orderId"],
      );
      await whenOpen(ann, dearer);
      expect(await bookOf(marketId, yes)).to.deep.equal([`${dearer} 0.350 60`, `${second} 0.300 20`]);
      for (const trader of [ann, bob]) await trader.calls("DELETE /v3/orders");
    });

    it("hand their client id on to the replacement, which names the order that it replaces", async () => {
      const { outcomes } = await newMarket(stack);
      const [yes] = outcomes;
      const clientId = randomUUID();
      const body = { outcomeId: yes, price: "0.300", qty: 50, tif: "GTC", clientId };
      const placed = await ann.calls("POST /v3/orders", body);
      const first = String(placed.json["orderId"]);
      await whenOpen(ann, first);
      expect(await ann.order(first)).to.not.have.property("replaces");
      const amended = await ann.calls(`PATCH /v3/orders/${first}`, { price: "0.350" });
      const second = String(amended.json["orderId"]);
      await whenOpen(ann, second);
      const last = String((await ann.calls(`PATCH /v3/orders/${second}`, { qty: 60 })).json["orderId"]);
      await whenOpen(ann, last);
      const shown = { orderId: last, clientId, replaces: second, status: "OPEN" };
      expect((await ann.calls(`GET /v3/orders?clientId=${clientId}`)).json).to.include(shown);
      expect(await ann.order(last)).to.include(shown);
      expect(await ann.order(second)).to.include({ clientId, replaces: first, status: "CANCELED" });
      const listed = (await ann.calls("GET /v3/orders")).json["items"] as object[];
      expect(listed).to.have.length(1);
      expect(listed[0]).to.include(shown);
      const resting = (await ann.calls("GET /v3/account/orders")).json["open"] as object[];
      expect(resting).to.have.length(1);
      expect(resting[0]).to.include({ orderId: last, clientId });
      const again = await ann.calls("POST /v3/orders", body);
      expect(`${again.status} ${String(again.json["orderId"])}`, "the same placement").to.equal(
        `200 ${first}`,
      );
      const other = await ann.calls("POST /v3/orders", { ...body, price: "0.350", qty: 60 });
      expect(resultOf(other), "a placement like the replacement").to.equal("409 CLIENT_ID_REUSED");
      const late = await ann.calls(`PATCH /v3/orders/${last}`, { price: "0.400", notAfter: 1 });
      await until(
        () => ann.order(String(late.json["orderId"])),
        ({ status }) => status === "REJECTED",
      );
      expect((await ann.calls(`GET /v3/orders?clientId=${clientId}`)).json, "a late one").to.include(shown);
      await ann.calls("DELETE /v3/orders");
    });

    it("stay as they are when the replacement is late", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const [yes] = outcomes;
      const order = await ann.place(yes, "0.300", 50);
      await whenOpen(ann, order);
      const late = await ann.calls(`PATCH /v3/orders/${order}`, { price: "0.350", notAfter: 1 });
      expect(late.status).to.equal(200);
      await until(
        () => ann.order(String(late.json["orderId"])),
        ({ status, reason }) => status === "REJECTED" && reason === "EXPIRED_IN_FLIGHT",
      );
      expect(await bookOf(marketId, yes)).to.deep.equal([`${order} 0.300 50`]);
      await ann.calls("DELETE /v3/orders");
    });

    it("are refused like a placement, and when they are not open, or another trader's", async () => {
      const { marketId, outcomes } = await newMarket(stack);
      const order = await ann.place(outcomes[0], "0.300", 50);
      await whenOpen(ann, order);
      const amend = (body: object) => ann.calls(`PATCH /v3/orders/${order}`, body);
      expect(resultOf(await amend({}))).to.equal("400 INVALID_BODY");
      expect(resultOf(await amend({ qty: 0 }))).to.equal("400 QTY_OUT_OF_RANGE");
      expect(resultOf(await amend({ price: "0.301" }))).to.equal("400 INVALID_PRICE");
      expect(resultOf(await amend({ qty: 1_001 }))).to.equal("422 POSITION_LIMIT_EXCEEDED");
      expect(resultOf(await bob.calls(`PATCH /v3/orders/${order}`, { qty: 1 }))).to.equal(
        "404 ORDER_NOT_FOUND",
      );
      const operator = await operatorCalls(stack);
      await operator(`POST /admin/v1/markets/${marketId}/status`, { action: "pause" });
      expect(resultOf(await amend({ price: "0.350" }))).to.equal("409 MARKET_PAUSED");
      expect(resultOf(await amend({ qty: 60 }))).to.equal("409 MARKET_PAUSED");
      expect(resultOf(await amend({ qty: 40 }))).to.equal("200");
      await ann.calls(`DELETE /v3/orders/${order}`);
      expect(resultOf(await amend({ qty: 1 }))).to.equal("404 ORDER_NOT_FOUND");
    });
  });

  describe("in groups", () => {
    it("end at the limit of the group, are refused until its reset, and are the trader's own", async () => {
      const { outcomes } = await newMarket(stack);
      const [yes, no] = outcomes;
      const bounds = { maxFilledQty: 10, windowMs: 60_000 };
      const made = await ann.calls("POST /v3/safety/groups", bounds);
      expect(made.status, made.text).to.equal(201);
      const groupId = String(made.json["groupId"]);
      const group = { groupId, ...bounds, tripped: false };
      expect(made.json).to.deep.equal(group);
      expect((await ann.calls("GET /v3/safety/groups")).text).to.equal(JSON.stringify([group]));
      expect((await bob.calls("GET /v3/safety/groups")).text).to.equal("[]");
      expect(resultOf(await bob.calls(`POST /v3/safety/groups/${groupId}/reset`))).to.equal(
        "404 GROUP_NOT_FOUND",
      );
      const foreign = { outcomeId: yes, price: "0.500", qty: 1, tif: "GTC", groupId };
      expect(resultOf(await bob.calls("POST /v3/orders", foreign))).to.equal("404 GROUP_NOT_FOUND");

      const filling = await ann.place(yes, "0.500", 20, { groupId });
      const resting = await ann.place(yes, "0.200", 5, { groupId });
      await whenOpen(ann, resting);
      await bob.place(no, "0.500", 15);
      const canceled = await until(
        () => ann.calls(`GET /v3/orders/${resting}`),
        ({ json }) => json["status"] === "CANCELED",
      );
      expect(canceled.json).to.include({ status: "CANCELED", reason: "GROUP_LIMIT" });
      expect(await ann.order(filling)).to.include({ status: "CANCELED", remaining: 5 });

      const again = { outcomeId: yes, price: "0.200", qty: 1, tif: "GTC", groupId };
      expect(resultOf(await ann.calls("POST /v3/orders", again))).to.equal("409 GROUP_LIMIT");
      const reset = await ann.calls(`POST /v3/safety/groups/${groupId}/reset`);
      expect(reset.json).to.deep.equal(group);
      expect(resultOf(await ann.calls("POST /v3/orders", again))).to.equal("201");
      expect((await ann.calls(`DELETE /v3/safety/groups/${groupId}`)).status).to.equal(204);
      expect(resultOf(await ann.calls(`DELETE /v3/safety/groups/${groupId}`))).to.equal(
        "404 GROUP_NOT_FOUND",
      );
      await ann.calls("POST /v3/safety/groups", bounds);
      await ann.calls("POST /v3/safety/groups", bounds);
      expect((await ann.calls("DELETE /v3/safety/groups")).text).to.equal('{"removed":2}');
      await ann.calls("DELETE /v3/orders");
    });

    it("have limits that are in range", async () => {
      for (const bounds of [
        { maxFilledQty: 0, windowMs: 1_000 },
        { maxFilledQty: 1.5, windowMs: 1_000 },
        { maxFilledQty: 1, windowMs: 99 },
        { maxFilledQty: 1 },
        { maxFilledQty: 1, windowMs: 1_000, groupId: "mine" },
      ]) {
        expect(resultOf(await ann.calls("POST /v3/safety/groups", bounds))).to.equal("400 INVALID_BODY");
      }
    });
  });

  it("are all canceled when a heartbeat is not repeated", async () => {
    const { outcomes } = await newMarket(stack);
    expect(resultOf(await ann.calls("POST /v3/safety/heartbeat", { timeoutMs: 4_999 }))).to.equal(
      "400 INVALID_BODY",
    );
    const order = await ann.place(outcomes[0], "0.200", 5);
    expect((await ann.calls("POST /v3/safety/heartbeat", { timeoutMs: 5_000 })).text).to.equal(
      '{"timeoutMs":5000}',
    );
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    expect(await ann.order(order)).to.include({ status: "OPEN" });
    await new Promise((resolve) => setTimeout(resolve, 600));
    const gone = await until(
      () => ann.calls(`GET /v3/orders/${order}`),
      ({ json }) => json["status"] === "CANCELED",
    );
    expect(gone.json).to.include({ status: "CANCELED", reason: "DISCONNECTED" });

    const kept = await ann.place(outcomes[0], "0.200", 5);
    await ann.calls("POST /v3/safety/heartbeat", { timeoutMs: 5_000 });
    await ann.calls("POST /v3/safety/heartbeat", { timeoutMs: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5_300));
    expect(await ann.order(kept)).to.include({ status: "OPEN" });
    await ann.calls("DELETE /v3/orders");
  });

  it("are limited in every wallet", async () => {
    const { outcomes } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.200", qty: 1, tif: "GTC" };
    expect(resultOf(await ann.calls("POST /v3/orders", { ...order, qty: 1_001 }))).to.equal(
      "422 POSITION_LIMIT_EXCEEDED",
    );
    const batch = await ann.calls("POST /v3/orders/batch", { orders: [order, order, order, order, order] });
    expect(batch.status).to.equal(207);
    expect(batch.json["rejected"]).to.have.length(1);
    expect(resultOf(await ann.calls("POST /v3/orders", order))).to.equal("422 OPEN_ORDER_LIMIT_EXCEEDED");
    await ann.calls("DELETE /v3/orders");
  });
});
