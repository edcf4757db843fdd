import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { WebSocket } from "ws";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { EmmClient, newClient } from "../surface-b/client.js";
import { holdProjector } from "../../support/postgres/held-projector.js";
import { PREFIX, startStack, type Stack } from "../../support/stack.js";
import { until } from "../../support/until.js";
import { newMarket, newTrader, upgradeHeaders, type TestTrader } from "../../support/traders.js";
import { stopwatch } from "../../support/stopwatch.js";

const LATE = "503 UNAVAILABLE";

describe("reads while the tables are behind", function () {
  this.timeout(120_000);
  let stack: Stack;
  let trader: TestTrader;
  let trade: Calls;
  let manage: Calls;
  let operate: Calls;
  let onB: Calls;
  let market: Awaited<ReturnType<typeof newMarket>>;
  let release: (() => Promise<void>) | undefined;
  let socket: WebSocket;
  let nonce = 0;
  const frames: Record<string, unknown>[] = [];

  before(async () => {
    stack = await startStack();
    trader = await newTrader(stack);
    trade = callsOf(stack.url, trader.trading);
    manage = callsOf(stack.url, trader.management);
    operate = await operatorCalls(stack);
    const emm = new EmmClient(stack.url, await newClient(stack, trader));
    onB = bearerCalls(stack.url, await emm.token());
    market = await newMarket(stack);
    const headers = upgradeHeaders(trader.trading);
    socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, { headers });
    socket.on("message", (data: Buffer) => {
      frames.push(JSON.parse(data.toString("utf8")) as Record<string, unknown>);
    });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  });
  afterEach(async () => {
    await release?.();
    release = undefined;
  });
  after(async () => {
    socket.terminate();
    await stack.stop();
  });

  /** Sends a request of the stream and returns its answer. */
  async function stream(request: object): Promise<Record<string, unknown>> {
    nonce += 1;
    const own = nonce;
    socket.send(JSON.stringify({ nonce: own, ...request }));
    for (;;) {
      const answer = frames.find((frame) => frame["nonce"] === own);
      if (answer !== undefined) return answer;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Places an order that ends at once, because nothing is there to fill it. */
  async function placeEnded(clientId = randomUUID()): Promise<string> {
    const order = { outcomeId: market.outcomes[0], price: "0.400", qty: 1, tif: "IOC", clientId };
    const placed = await trade("POST /v3/orders", order);
    expect(resultOf(placed)).to.equal("201");
    return String(placed.json["orderId"]);
  }

  /** Returns the id of the market that an operator created last, from the record of the action. */
  async function lastCreated(): Promise<string> {
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ subject: string }>(
        "select subject from audit_log where action like 'market.create%' order by audit_id desc limit 1",
      );
      return rows[0]?.subject ?? expect.fail("no market was created");
    } finally {
      await client.end();
    }
  }

  it("of how an order of a socket ended are not needed for a cancel on it", async () => {
    release = await holdProjector(stack.databaseUrl);
    const order = { outcomeId: market.outcomes[0], price: "0.400", qty: 1, tif: "IOC" };
    const { placed } = await stream({ place: { orders: [order] } });
    const [{ orderId } = expect.fail("the order was refused")] = placed as { orderId: string }[];
    const open = async (): Promise<unknown> => (await trade("GET /v3/account/orders")).json["open"];
    await until(open, (items) => (items as unknown[]).length === 0);
    expect(await stream({ cancel: { orderIds: [orderId] } })).to.deep.include({
      canceled: { canceled: [], notCanceled: [{ orderId, reason: "CANCELED" }] },
    });
  });

  it("of an order, of one's own lists and of a cancel answer 503, and never 404", async () => {
    const endedBefore = await placeEnded();
    await until(async () => resultOf(await trade(`GET /v3/orders/${endedBefore}`)) === "200");
    // The gateway follows the ledger of the trader.
    expect(resultOf(await trade(`DELETE /v3/orders/${endedBefore}`))).to.equal("200");
    release = await holdProjector(stack.databaseUrl);
    const clientId = randomUUID();
    const orderId = await placeEnded(clientId);
    const b = `/${PREFIX}/v2/emm`;
    const subaccount = `/v3/account/subaccounts/${trader.account.tradingKey.keyId}`;
    const reads: readonly (readonly [Calls, string, unknown?])[] = [
      [trade, `GET /v3/orders/${orderId}`],
      [trade, `GET /v3/orders?clientId=${clientId}`],
      [trade, "GET /v3/orders"],
      [trade, "GET /v3/portfolio/fills"],
      [trade, "GET /v3/portfolio/positions"],
      [trade, `DELETE /v3/orders/${randomUUID()}`],
      [trade, "DELETE /v3/orders/batch", { orderIds: [orderId, randomUUID()] }],
      [trade, `PATCH /v3/orders/${orderId}`, { qty: 1 }],
      [operate, `GET /admin/v1/orders/${orderId}`],
      [manage, `GET ${subaccount}/transactions`],
      [manage, `GET ${subaccount}/transfers/${randomUUID()}`],
      [onB, `GET ${b}/orders/all`],
      [onB, `GET ${b}/fills/all`],
      [onB, `GET ${b}/positions/all`],
      [onB, `GET ${b}/transactions`],
    ];
    const answers = await Promise.all(
      reads.map(async ([calls, line, body]) => `${line}: ${resultOf(await calls(line, body))}`),
    );
    expect(answers).to.deep.equal(reads.map(([, line]) => `${line}: ${LATE}`));
    expect(await stream({ cancel: { orderIds: [randomUUID()] } })).to.include({ code: "UNAVAILABLE" });
    // Of an order that has just ended the deltas of the ledger tell its status, and of one that ended before, the tables.
    for (const id of [orderId, endedBefore])
      expect((await trade(`DELETE /v3/orders/${id}`)).json).to.deep.equal({
        orderId: id,
        status: "REJECTED",
      });
    // The ledger and the market answer these reads themselves, and are never behind.
    expect(resultOf(await trade("GET /v3/account/orders"))).to.equal("200");
    expect(resultOf(await trade(`GET /v3/catalog/markets/${market.marketId}/book`))).to.equal("200");

    await release();
    expect(resultOf(await trade(`GET /v3/orders/${orderId}`))).to.equal("200");
    expect((await trade(`DELETE /v3/orders/${orderId}`)).json).to.deep.equal({ orderId, status: "REJECTED" });
    expect(await stream({ cancel: { orderIds: [orderId] } })).to.deep.include({
      canceled: { canceled: [], notCanceled: [{ orderId, reason: "CANCELED" }] },
    });
  });

  it("of a market that the tables do not have yet answer 503, and never 404", async () => {
    release = await holdProjector(stack.databaseUrl);
    const created = await operate("POST /admin/v1/markets", {
      eventId: market.eventId,
      marketType: "MONEY",
      description: "Who scores first",
      voids: "PUSH",
      outcomes: [{ name: "Ants" }, { name: "Bees" }],
    });
    expect(resultOf(created)).to.equal(LATE);
    const marketId = await lastCreated();
    const reads: readonly (readonly [Calls, string, unknown?])[] = [
      [trade, `GET /v3/catalog/markets/${marketId}`],
      [trade, `GET /v3/catalog/markets/${marketId}/book`],
      [trade, `GET /v3/catalog/markets/${marketId}/trades`],
      [trade, `DELETE /v3/orders?market=${marketId}`],
      [onB, `GET /${PREFIX}/v2/emm/markets/${marketId}`],
      [onB, `POST /${PREFIX}/v2/emm/strike-requests`, { marketId, strike: 47 }],
      [operate, `POST /admin/v1/markets/${marketId}/grade?preview=true`, { push: true }],
      [operate, `GET /admin/v1/markets/${marketId}/settlement`],
    ];
    const answers = await Promise.all(
      reads.map(async ([calls, line, body]) => `${line}: ${resultOf(await calls(line, body))}`),
    );
    expect(answers).to.deep.equal(reads.map(([, line]) => `${line}: ${LATE}`));
    // The stream reads the log, which is never behind.
    expect(await stream({ subscribe: { markets: { [marketId]: ["book"] } } })).to.have.property("subscribed");

    await release();
    expect(resultOf(await trade(`GET /v3/catalog/markets/${marketId}`))).to.equal("200");
    expect(resultOf(await trade(`GET /v3/catalog/markets/${marketId}/book`))).to.equal("200");
    expect(resultOf(await onB(`GET /${PREFIX}/v2/emm/markets/${marketId}`))).to.equal("200");
  });

  it("of lists of markets and events answer, and state the time up to which they are complete", async () => {
    const lists = [
      () => trade(`GET /v3/catalog/markets?event=${market.eventId}`).then(({ json }) => json),
      () => trade("GET /v3/catalog/events").then(({ json }) => json),
      () => trade("GET /v3/history/markets").then(({ json }) => json),
      () => stream({ query_markets: {} }).then(({ markets }) => markets as Record<string, unknown>),
    ];
    const times = () => Promise.all(lists.map(async (list) => Number((await list())["asOf"])));
    const beganMs = Date.now();
    await until(times, (all) => all.every((asOf) => asOf >= beganMs));
    release = await holdProjector(stack.databaseUrl);
    const heldMs = Date.now();
    await operate("POST /admin/v1/markets", {
      eventId: market.eventId,
      marketType: "MONEY",
      description: "Who scores last",
      voids: "PUSH",
      outcomes: [{ name: "Ants" }, { name: "Bees" }],
    });
    const createdMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const asOf of await times()) expect(asOf).to.be.within(heldMs - 2_000, createdMs);
    await release();
    release = undefined;
    await until(times, (all) => all.every((asOf) => asOf > createdMs));
  });

  it("of a market that does not exist answer 404 at once", async () => {
    release = await holdProjector(stack.databaseUrl);
    const elapsedMs = stopwatch();
    expect(resultOf(await trade(`GET /v3/catalog/markets/${randomUUID()}`))).to.equal("404 MARKET_NOT_FOUND");
    expect(elapsedMs()).to.be.below(900);
  });
});
