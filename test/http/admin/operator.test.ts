import { randomUUID } from "node:crypto";
import { Queue } from "bullmq";
import { expect } from "chai";
import { marketActor, partitionOf } from "../../../actors/actor.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer } from "../../../http/client/client.js";
import { ApiError } from "../../../http/client/connection.js";
import { connectJobs, JOBS_PREFIX } from "../../../stream/jobs/connection.js";
import { SETTLEMENT_QUEUE } from "../../../stream/jobs/queues.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { send, signed, type Answer } from "../requests.js";
import { bearerCalls } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { addMarket, newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const MISSING = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

describe("the operator's routes", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let other: TestTrader;
  let token = "";

  const call = (method: string, target: string, body?: object): Promise<Answer> =>
    bearerCalls(stack.url, token)(`${method} /admin/v1${target}`, body);
  const said = ({ status, json }: Answer): string => `${status} ${String(json["code"] ?? json["status"])}`;
  const clientOf = ({ trading }: TestTrader): RestClient =>
    new RestClient(stack.connect(), new Signer(trading.key, stack.brand), 5_000);
  const codeOf = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
      return "accepted";
    } catch (error) {
      if (error instanceof ApiError) return `${error.status} ${error.code}`;
      throw error;
    }
  };

  before(async () => {
    stack = await startStack();
    token = await stack.operatorToken();
    trader = await newTrader(stack);
    other = await newTrader(stack);
  });
  after(() => stack.stop());

  it("change the status of an event, and its markets follow", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const rest = clientOf(trader);
    const order = { outcomeId: outcomes[0], price: "0.500", qty: 10, tif: "GTC" } as const;
    const act = async (action: string): Promise<string> =>
      said(await call("POST", `/events/${eventId}/status`, { action }));
    const market = async (): Promise<Readonly<Record<string, unknown>>> =>
      (await call("GET", `/markets/${marketId}`)).json;

    const clientId = randomUUID();
    const resting = await rest.placeOrder({ ...order, clientId });
    expect(await act("golive")).to.equal("200 OPEN_INGAME");
    expect(await market()).to.include({ status: "OPEN", live: true });
    await until(async () => (await rest.order(resting.orderId)).status === "CANCELED");
    expect((await rest.order(resting.orderId)).reason).to.equal("GO_LIVE");
    expect(await codeOf(rest.placeOrder(order))).to.equal("accepted");

    expect(await act("open")).to.equal("409 INVALID_TRANSITION");
    expect(await act("unlive")).to.equal("200 DELAYED");
    expect(await codeOf(rest.placeOrder(order))).to.equal("400 EVENT_NOT_TRADABLE");
    expect(await act("golive")).to.equal("200 OPEN_INGAME");
    expect(said(await call("POST", `/markets/${marketId}/status`, { action: "pause" }))).to.equal("200 OPEN");
    expect(await codeOf(rest.placeOrder(order))).to.equal("409 MARKET_PAUSED");
    expect(said(await call("POST", `/markets/${marketId}/status`, { action: "resume" }))).to.equal(
      "200 OPEN",
    );
    expect(await act("finalise")).to.equal("200 FINAL");
    expect(await market()).to.include({ status: "CLOSED" });
    expect(await codeOf(rest.placeOrder(order))).to.equal("409 MARKET_CLOSED");
    const repeated = await rest.placeOrder({ ...order, clientId });
    expect(repeated.orderId).to.equal(resting.orderId);
    expect(await codeOf(rest.placeOrder({ ...order, clientId, qty: 11 }))).to.equal("409 MARKET_CLOSED");

    expect((await call("POST", `/markets/${marketId}/grade`, { winner: outcomes[1] })).status).to.equal(202);
    await until(async () => (await call("GET", `/events/${eventId}`)).json["status"] === "SETTLED");
    expect(said(await call("POST", `/events/${MISSING}/status`, { action: "open" }))).to.equal(
      "404 EVENT_NOT_FOUND",
    );
  });

  it("take an event from CLOSED_PREGAME into play, and the markets that it has closed with it", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const closed = await addMarket(stack, eventId);
    const close = { action: "close" };
    expect(said(await call("POST", `/markets/${closed.marketId}/status`, close))).to.equal("200 CLOSED");
    expect(said(await call("POST", `/events/${eventId}/status`, close))).to.equal("200 CLOSED_PREGAME");
    const market = async (id: string): Promise<Readonly<Record<string, unknown>>> =>
      (await call("GET", `/markets/${id}`)).json;
    expect(await market(marketId)).to.include({ status: "CLOSED", live: false });
    expect(said(await call("POST", `/events/${eventId}/status`, { action: "golive" }))).to.equal(
      "200 OPEN_INGAME",
    );
    expect(await market(marketId)).to.include({ status: "OPEN", live: true });
    expect(await market(closed.marketId)).to.include({ status: "CLOSED", live: true });
    const order = { outcomeId: outcomes[0], price: "0.500", qty: 1, tif: "GTC" } as const;
    expect(await codeOf(clientOf(trader).placeOrder(order))).to.equal("accepted");
  });

  it("push the markets of a canceled event, which returns every stake", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const [a, b] = [clientOf(trader), clientOf(other)];
    const before = [await a.balance(), await b.balance()].map(({ balance }) => balance);
    await a.placeOrder({ outcomeId: outcomes[0], price: "0.600", qty: 50, tif: "GTC" });
    await b.placeOrder({ outcomeId: outcomes[1], price: "0.400", qty: 50, tif: "GTC" });
    await until(async () => (await b.fills({ market: marketId })).length === 1);
    expect(said(await call("POST", `/events/${eventId}/status`, { action: "cancel" }))).to.equal(
      "200 CANCELED",
    );
    await until(async () => (await call("GET", `/markets/${marketId}`)).json["status"] === "SETTLED");
    await until(async () => (await b.balance()).balance === before[1]);
    expect((await a.balance()).balance).to.equal(before[0]);
    const { outcomes: shown } = (await call("GET", `/markets/${marketId}`)).json as {
      outcomes: { status: string }[];
    };
    expect(shown.map(({ status }) => status)).to.deep.equal(["PUSH", "PUSH"]);
  });

  it("grade a market by fair prices once, and reverse the settlement", async () => {
    const { marketId, outcomes } = await newMarket(stack, "FMV");
    const grade = (body: object): Promise<Answer> => call("POST", `/markets/${marketId}/grade`, body);
    expect(said(await grade({ push: true }))).to.equal("409 VOID_KIND");
    expect(said(await grade({ winner: MISSING }))).to.equal("404 OUTCOME_NOT_FOUND");
    expect(said(await grade({ prices: { [outcomes[0]]: "0.700" } }))).to.equal("400 INVALID_PRICES");
    expect(said(await grade({ prices: { [outcomes[0]]: "0.700", [outcomes[1]]: "0.400" } }))).to.equal(
      "400 INVALID_PRICES",
    );
    expect(said(await grade({ prices: {}, push: true }))).to.equal("400 INVALID_BODY");
    const prices = { prices: { [outcomes[0]]: "0.700", [outcomes[1]]: "0.300" } };
    const graded = await grade(prices);
    expect(graded.status).to.equal(202);
    const progress = (): Promise<Answer> => call("GET", `/markets/${marketId}/settlement`);
    await until(async () => (await progress()).json["status"] === "SETTLED");
    const again = await grade(prices);
    expect(again.json).to.deep.equal({ ...graded.json, status: "SETTLED" });
    expect(said(await grade({ winner: outcomes[0] }))).to.equal("409 ALREADY_GRADED");

    const taken = await call("POST", `/markets/${marketId}/remediate`, { reason: "the wrong prices" });
    expect(taken.status).to.equal(202);
    await until(async () => (await call("GET", `/markets/${marketId}`)).json["status"] === "CLOSED");
    await until(async () => (await grade({ winner: outcomes[0] })).status === 202);
    await until(async () => (await progress()).json["status"] === "SETTLED");
  });

  it("show the progress of a settlement without changing the market", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    const actor = marketActor(marketId);
    const connection = connectJobs(stack.redisUrl, "enqueue");
    const queue = new Queue(SETTLEMENT_QUEUE, { connection, prefix: JOBS_PREFIX });
    const log = await RedisLog.open({ url: stack.redisUrl, logger: silentLogger });
    const seq = async (): Promise<number | undefined> =>
      (await log.heads(partitionOf(actor), [actor]))[0]?.seq;
    try {
      await queue.pause();
      const graded = await call("POST", `/markets/${marketId}/grade`, { winner: outcomes[0] });
      expect(graded.status).to.equal(202);
      const before = await seq();
      for (let i = 0; i < 2; i += 1) {
        const { json } = await call("GET", `/markets/${marketId}/settlement`);
        expect(json).to.deep.include({ marketId, status: "SETTLING", paid: 0, wallets: 0 });
      }
      expect(await seq()).to.equal(before);
    } finally {
      await queue.resume();
      await queue.close();
      connection.disconnect();
      await log.close();
    }
    const progress = (): Promise<Answer> => call("GET", `/markets/${marketId}/settlement`);
    await until(async () => (await progress()).json["status"] === "SETTLED");
  });

  it("change the fee of a market for later orders", async () => {
    const { marketId } = await newMarket(stack);
    const fee = { coefficient: "0.04", makerCredit: "0.25", charged: "ALWAYS" };
    const changed = await call("PATCH", `/markets/${marketId}`, { fee, description: "Who wins it" });
    expect(changed.json).to.deep.include({ fee, description: "Who wins it" });
    expect(said(await call("PATCH", `/markets/${marketId}`, {}))).to.equal("400 INVALID_BODY");
    expect(said(await call("PATCH", `/markets/${MISSING}`, { fee }))).to.equal("404 MARKET_NOT_FOUND");
  });

  it("post transactions of each kind, once per client reference", async () => {
    const { traderId } = trader.account;
    const post = (body: object): Promise<Answer> =>
      call("POST", `/traders/${traderId}/transactions`, { currency: "COIN", reason: "test", ...body });
    const first = await post({ kind: "DEPOSIT", amount: "10", clientRef: "r1" });
    expect(first.status).to.equal(201);
    expect(first.json["balance"]).to.equal("10.00000");
    expect((await post({ kind: "DEPOSIT", amount: "10", clientRef: "r1" })).json).to.deep.equal(first.json);
    expect(said(await post({ kind: "WITHDRAWAL", amount: "10.00001" }))).to.equal("422 INSUFFICIENT_BALANCE");
    expect((await post({ kind: "ADJUSTMENT", amount: "-0.5" })).json["balance"]).to.equal("9.50000");
    expect(said(await post({ kind: "DEPOSIT", amount: "-1" }))).to.equal("400 INVALID_BODY");
    expect((await post({ kind: "WITHDRAWAL", amount: "9.5" })).json["balance"]).to.equal("0.00000");
    const tooMuch = { kind: "DEPOSIT", amount: "90071992547.40991" };
    expect(said(await post(tooMuch))).to.equal("422 AMOUNT_OUT_OF_RANGE");
    expect(said(await post({ ...tooMuch, amount: "90071992547.40992" }))).to.equal("400 INVALID_BODY");
    expect((await post({ kind: "DEPOSIT", amount: "1" })).json["balance"]).to.equal("1.00000");
  });

  it("set the collateral policy of a subaccount, and set it back while the wallet holds enough", async () => {
    const maker = await newTrader(stack, "0.08");
    const { account, trading } = maker;
    const collateral = (policy: string): Promise<Answer> =>
      call("POST", `/traders/${account.traderId}/collateral`, { policy, subaccountKeyId: trading.key.keyId });
    const shown = async (): Promise<unknown> =>
      (await call("GET", `/traders/${account.traderId}`)).json["subaccounts"];
    expect((await collateral("net")).json).to.deep.equal({ policy: "net" });
    expect(await shown()).to.have.nested.property("[0].collateral", "net");
    const client = clientOf(maker);
    const { outcomes } = await newMarket(stack, "FMV");
    await client.placeOrder({ outcomeId: outcomes[0], price: "0.600", qty: 10, tif: "PO" });
    await client.placeOrder({ outcomeId: outcomes[1], price: "0.300", qty: 10, tif: "PO" });
    expect(await client.balance()).to.include({ available: "0.02000", reserved: "0.06000" });
    expect(said(await collateral("hold"))).to.equal("422 INSUFFICIENT_BALANCE");
    expect(said(await collateral("both"))).to.equal("400 INVALID_BODY");
  });

  it("replace the tick table by one that rises and is symmetric, with immediate effect", async () => {
    const before = (await call("GET", "/ticks")).json["prices"] as string[];
    expect(before).to.have.length(279);
    expect(said(await call("PUT", "/ticks", { prices: ["0.400", "0.300"] }))).to.equal("400 INVALID_BODY");
    expect(said(await call("PUT", "/ticks", { prices: ["0.300", "0.600"] }))).to.equal("400 INVALID_BODY");
    const { outcomes } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.250", qty: 1, tif: "GTC" } as const;
    expect((await call("PUT", "/ticks", { prices: ["0.400", "0.500", "0.600"] })).status).to.equal(200);
    expect(await codeOf(clientOf(trader).placeOrder(order))).to.equal("400 INVALID_PRICE");
    for (const path of ["/v3/ticks", "/v3/public/ticks"]) {
      const { json } = await send(stack.url, signed(trader.trading, { target: path }));
      expect(json, path).to.deep.equal({ prices: ["0.400", "0.500", "0.600"] });
    }
    expect((await call("PUT", "/ticks", { prices: before })).status).to.equal(200);
    expect(await codeOf(clientOf(trader).placeOrder(order))).to.equal("accepted");
  });

  it("refuse a tick table without room for the outcomes of a market, and a market without room in the table", async () => {
    const before = (await call("GET", "/ticks")).json["prices"] as string[];
    const { eventId } = await newMarket(stack);
    const names = ["a", "b", "c"];
    const wide = (count: number) => ({
      eventId,
      marketType: "TOTAL",
      description: "wide",
      voids: "PUSH",
      outcomes: names.slice(0, count).map((name) => ({ name })),
    });
    const made = await call("POST", "/markets", wide(3));
    expect(made.status).to.equal(201);
    const high = { prices: ["0.400", "0.500", "0.600"] };
    const refused = await call("PUT", "/ticks", high);
    expect(said(refused)).to.equal("400 INVALID_BODY");
    expect(refused.json["message"]).to.match(/has 3 outcomes, so the lowest of prices is at most 0\.333;/);
    const grade = { winner: (made.json["outcomes"] as { outcomeId: string }[])[0]?.outcomeId };
    expect((await call("POST", `/markets/${String(made.json["marketId"])}/grade`, grade)).status).to.equal(
      202,
    );
    await until(async () => (await call("PUT", "/ticks", high)).status === 200);
    expect(said(await call("POST", "/markets", wide(3)))).to.equal("400 INVALID_BODY");
    expect((await call("POST", "/markets", wide(2))).status).to.equal(201);
    expect((await call("PUT", "/ticks", { prices: before })).status).to.equal(200);
  });

  it("refuse leagues, types and players that do not exist, and accept them once they are created", async () => {
    const event = { sport: "CURLING", type: "Game", description: "x", startsTs: Date.now() + 3_600_000 };
    expect(said(await call("POST", "/events", { ...event, league: "WCT" }))).to.equal("400 INVALID_BODY");
    expect((await call("POST", "/leagues", { name: "WCT", sport: "CURLING" })).status).to.equal(201);
    expect(said(await call("POST", "/leagues", { name: "WCT", sport: "CURLING" }))).to.equal(
      "409 ALREADY_EXISTS",
    );
    const made = await call("POST", "/events", { ...event, league: "WCT" });
    expect(said(made)).to.equal("201 OPEN_PREGAME");
    const market = {
      eventId: made.json["eventId"],
      marketType: "ENDS",
      description: "x",
      voids: "PUSH",
      outcomes: [{ name: "a" }, { name: "b", competitor: "The Bees" }],
    };
    expect(said(await call("POST", "/markets", market))).to.equal("400 INVALID_BODY");
    expect((await call("POST", "/market-types", { name: "ENDS" })).status).to.equal(201);
    expect(said(await call("POST", "/markets", market))).to.equal("201 OPEN");
    expect(said(await call("POST", "/markets", { ...market, eventId: MISSING }))).to.equal(
      "404 EVENT_NOT_FOUND",
    );
    const closed = await call("POST", "/markets", { ...market, open: false });
    expect(closed.json["status"]).to.equal("CLOSED");
  });

  it("leave each order of a batch to be judged by itself, and an atomic batch as one", async () => {
    const { outcomes, marketId } = await newMarket(stack);
    const rest = clientOf(trader);
    const good = { outcomeId: outcomes[0], price: "0.500", qty: 1, tif: "GTC" } as const;
    const bad = { ...good, price: "0.501" };
    const mixed = await rest.placeOrders([good, bad, good]);
    expect(mixed.accepted).to.have.length(2);
    expect(mixed.rejected).to.deep.equal([
      {
        index: 1,
        outcomeId: outcomes[0],
        reason: "price 0.501 is not on the tick table; the nearest prices are 0.500 and 0.505",
      },
    ]);
    expect(await codeOf(rest.placeOrders([good, bad], true))).to.equal("400 INVALID_PRICE");
    expect(await codeOf(rest.placeOrders([], false))).to.equal("400 EMPTY_BATCH");
    const many = Array.from({ length: 257 }, () => good);
    expect(await codeOf(rest.placeOrders(many))).to.equal("400 BATCH_TOO_LARGE");
    await until(async () => (await rest.orders({ market: marketId })).length === 2);
    expect(await rest.cancelAll({ market: marketId })).to.equal(2);
    expect(await codeOf(rest.cancelAll({ market: MISSING }))).to.equal("400 INVALID_QUERY");
  });

  it("record every write in the audit log, newest first", async () => {
    const { json } = await call("GET", "/audit-log?limit=1000");
    const records = json["items"] as {
      auditId: number;
      action: string;
      subject: string;
      operatorId: string;
    }[];
    const actions = new Set(records.map(({ action }) => action));
    expect([...actions]).to.include.members([
      "event.create",
      "event.golive",
      "event.cancel",
      "market.create",
      "market.pause",
      "market.change",
      "market.grade",
      "market.grade refused",
      "market.remediate",
      "trader.kyc",
      "trader.transaction",
      "trader.transaction refused",
      "ticks.publish",
      "league.create",
      "market-type.create",
    ]);
    const ids = records.map(({ auditId }) => auditId);
    expect(ids).to.deep.equal([...ids].sort((a, b) => b - a));
    const { items, next } = (await call("GET", "/audit-log?limit=2")).json as {
      items: unknown[];
      next: string;
    };
    const rest = (await call("GET", `/audit-log?limit=2&after=${next}`)).json["items"] as {
      auditId: number;
    }[];
    expect(items).to.have.length(2);
    expect(rest[0]?.auditId).to.equal(ids[2]);
  });

  it("keep all the money", async () => {
    const report = await stack.operator.money();
    expect(report.agree).to.equal(true);
    expect(report.actors.CASH.difference).to.equal("0.00000");
  });
});
