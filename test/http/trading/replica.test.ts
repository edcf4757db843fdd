import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { migrate } from "../../../db/migrate.js";
import { ConfigError } from "../../../scripts/config.js";
import { newClient, EmmClient } from "../surface-b/client.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";
import { ReplicatedPostgres } from "../../support/postgres/replica.js";
import { freshDatabase, freshRedis } from "../../support/servers.js";
import { PREFIX, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const LATE = "503 UNAVAILABLE";

describe("lists from a replica of Postgres", function () {
  this.timeout(120_000);
  let postgres: ReplicatedPostgres;
  let stack: Stack;
  let trader: TestTrader;
  let trade: Calls;
  let manage: Calls;
  let operate: Calls;
  let onB: Calls;
  let market: Awaited<ReturnType<typeof newMarket>>;
  let release: (() => Promise<void>) | undefined;

  before(async () => {
    postgres = await ReplicatedPostgres.start();
    await migrate(postgres.url);
    const database = { url: postgres.url, drop: () => Promise.resolve() };
    stack = await startStack({
      servers: { redis: await freshRedis(), database },
      databaseReadUrl: postgres.readUrl,
    });
    trader = await newTrader(stack);
    trade = callsOf(stack.url, trader.trading);
    manage = callsOf(stack.url, trader.management);
    operate = await operatorCalls(stack);
    onB = bearerCalls(stack.url, await new EmmClient(stack.url, await newClient(stack, trader)).token());
    market = await newMarket(stack);
  });
  afterEach(async () => {
    await release?.();
    release = undefined;
  });
  after(async () => {
    await stack.stop();
    await postgres.stop();
  });

  async function place(): Promise<string> {
    const order = {
      outcomeId: market.outcomes[0],
      price: "0.400",
      qty: 1,
      tif: "GTC",
      clientId: randomUUID(),
    };
    const placed = await trade("POST /v3/orders", order);
    expect(resultOf(placed)).to.equal("201");
    return String(placed.json["orderId"]);
  }

  /** The reads that wait for the replica. */
  function reads(orderId: string): readonly (readonly [Calls, string])[] {
    const b = `/${PREFIX}/v2/emm`;
    return [
      [trade, `GET /v3/orders/${orderId}`],
      [trade, "GET /v3/orders"],
      [trade, "GET /v3/portfolio/fills"],
      [trade, "GET /v3/portfolio/positions"],
      [trade, `GET /v3/catalog/markets/${market.marketId}/trades`],
      [manage, `GET /v3/account/subaccounts/${trader.account.tradingKey.keyId}/transactions`],
      [onB, `GET ${b}/orders/all`],
      [onB, `GET ${b}/fills/all`],
      [onB, `GET ${b}/positions/all`],
      [onB, `GET ${b}/transactions`],
    ];
  }

  async function resultsOf(orderId: string): Promise<string[]> {
    return Promise.all(
      reads(orderId).map(async ([calls, line]) => `${line}: ${resultOf(await calls(line))}`),
    );
  }
  const allOf = (orderId: string, result: string) => reads(orderId).map(([, line]) => `${line}: ${result}`);

  it("have what the caller has just done", async () => {
    for (let round = 0; round < 5; round += 1) {
      const orderId = await place();
      const { json } = await trade("GET /v3/orders");
      expect((json["items"] as { orderId: string }[])[0]?.orderId).to.equal(orderId);
      expect(resultOf(await trade(`GET /v3/orders/${orderId}`))).to.equal("200");
    }
  });

  it("answer 503 while the replica lacks it, and never old rows or 404", async () => {
    const known = await place();
    expect(await resultsOf(known)).to.deep.equal(allOf(known, "200"));
    release = await postgres.hold();
    expect(await resultsOf(known), "the replica has everything").to.deep.equal(allOf(known, "200"));
    const orderId = await place();
    // Another trader's order trades with this one, so that the market goes on too.
    const other = callsOf(stack.url, (await newTrader(stack)).trading);
    const crossing = { outcomeId: market.outcomes[1], price: "0.600", qty: 1, tif: "GTC" };
    expect(resultOf(await other("POST /v3/orders", crossing))).to.equal("201");
    expect(await resultsOf(orderId)).to.deep.equal(allOf(orderId, LATE));
    // Commands and reads of single things of the catalog do not depend on the replica.
    expect(resultOf(await trade(`GET /v3/catalog/markets/${market.marketId}`))).to.equal("200");
    expect(resultOf(await trade(`DELETE /v3/orders/${known}`))).to.be.oneOf(["200", "409 ORDER_NOT_OPEN"]);
    await release();
    release = undefined;
    expect(await resultsOf(orderId)).to.deep.equal(allOf(orderId, "200"));
  });

  it("state the time up to which the replica is complete", async () => {
    const lists = ["GET /v3/catalog/markets", "GET /v3/catalog/events", "GET /v3/history/markets"];
    const times = () =>
      Promise.all(lists.map(async (line) => Number((await trade(line)).json["asOf"] ?? Number.NaN)));
    const beganMs = Date.now();
    await until(times, (all) => all.every((asOf) => asOf >= beganMs));
    release = await postgres.hold();
    const description = `Who scores ${randomUUID()}`;
    const outcomes = [{ name: "Ants" }, { name: "Bees" }];
    const created = { eventId: market.eventId, marketType: "MONEY", description, voids: "PUSH", outcomes };
    expect(resultOf(await operate("POST /admin/v1/markets", created))).to.equal("201");
    const createdMs = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    for (const asOf of await times()) expect(asOf).to.be.within(beganMs, createdMs);
    const page = await trade(`GET /v3/catalog/markets?event=${market.eventId}`);
    expect(JSON.stringify(page.json), "the replica does not have the market yet").not.to.include(description);
    await release();
    release = undefined;
    await until(times, (all) => all.every((asOf) => asOf > createdMs));
    const later = await trade(`GET /v3/catalog/markets?event=${market.eventId}`);
    expect(JSON.stringify(later.json)).to.include(description);
  });

  it("answer 503 while the replica is away, and orders pass", async () => {
    const readyz = async (): Promise<Record<string, unknown>> =>
      (await (await fetch(`${stack.url}/readyz`)).json()) as Record<string, unknown>;
    await until(async () => expect(await readyz()).to.include({ ready: true, replica: true }));
    await postgres.stopReplica();
    const orderId = await place();
    expect(resultOf(await trade("GET /v3/orders"))).to.equal(LATE);
    await until(async () => expect(await readyz()).to.include({ ready: true, replica: false }));
    await postgres.startReplica();
    await until(async () => expect(resultOf(await trade(`GET /v3/orders/${orderId}`))).to.equal("200"));
  });

  it("refuse to start on a database that is no replica of the other one", async () => {
    const foreign = await freshDatabase(migrate);
    const database = { url: postgres.url, drop: () => Promise.resolve() };
    const servers = { redis: await freshRedis(), database };
    const failure = await startStack({ servers, databaseReadUrl: foreign.url }).catch(
      (error: unknown) => error,
    );
    await foreign.drop();
    expect(failure).to.be.instanceOf(ConfigError);
    expect(String(failure)).to.include("DATABASE_READ_URL");
  });
});
