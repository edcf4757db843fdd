import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { until } from "../../support/until.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { askToken, EmmClient, newClient, operate } from "./client.js";

describe("the hot routes of surface B", function () {
  this.timeout(60_000);
  let stack: Stack;
  let database: Proxy;
  let emm: EmmClient;
  let eventId: string;
  let outcomeId: string;

  before(async () => {
    stack = await startStack({ via: { database: async (url) => (database = await startProxy(url)).url } });
    emm = new EmmClient(stack.url, await newClient(stack, await newTrader(stack)));
    const market = await newMarket(stack);
    ({ eventId } = market);
    outcomeId = market.outcomes[0];
  });
  after(async () => {
    database.heal();
    await stack.stop();
    await database.close();
  });

  it("answer without Postgres, with every change of the books", async () => {
    const hot = [`/events/getMarketsByEvent/${eventId}?currency=CASH`, "/markets/open"];
    const before = await Promise.all(hot.map((path) => emm.read<unknown[]>(path)));
    expect(before.map((markets) => markets.length)).to.deep.equal([1, 1]);
    const order = { outcomeId, price: 0.5, qty: 7, currency: "CASH" };
    expect((await emm.call("POST /orders/place", [order])).status).to.equal(201);
    database.cut();
    for (let i = 0; i < 20; i += 1) {
      for (const path of hot) expect((await emm.call(`GET ${path}`)).status, path).to.equal(200);
    }
    expect((await emm.call("POST /orders/place", [{ ...order, qty: 8 }])).status).to.equal(201);
    await until(async () => {
      const text = JSON.stringify((await emm.call(`GET ${hot[0] ?? ""}`)).body);
      expect(text).to.contain('"qty":7').and.to.contain('"qty":8');
    });
    const stranger = { clientId: randomUUID(), clientSecret: "a secret" };
    const token = await askToken(stack.url, stranger);
    expect(token.status).to.equal(503);
    expect(token.body).to.include({ error: "temporarily_unavailable" });
    expect(token.headers.has("retry-after")).to.equal(true);
    const cold = await emm.call("GET /fills/all");
    expect(cold.status).to.equal(503);
    expect(cold.body).to.include({ statusCode: 503, code: "UNAVAILABLE" });
  });
});

describe("market types flagged qaOnly", function () {
  this.timeout(60_000);

  for (const exchangeEnv of ["dev", "qa", "production"] as const) {
    const exists = exchangeEnv === "qa";
    it(`${exists ? "exist" : "do not exist"} where EXCHANGE_ENV is ${exchangeEnv}`, async () => {
      const stack = await startStack({ exchangeEnv, operatorsNeedTotp: false });
      try {
        const created = await operate(stack, "POST /market-types", { name: "WINGSPAN", qaOnly: true });
        expect(created.status).to.equal(201);
        const { eventId } = await newMarket(stack);
        const market = {
          eventId,
          marketType: "WINGSPAN",
          description: "Over 3.5 cm",
          voids: "PUSH",
          outcomes: [{ name: "Over 3.5" }, { name: "Under 3.5" }],
        };
        const made = await operate(stack, "POST /markets", market);
        expect(made.status).to.equal(exists ? 201 : 400);
        const named = await fetch(`${stack.url}/v3/public/types/markets`);
        const names = (await named.json()) as string[];
        expect(names).to.include("TEAM_TOTAL_CORNERS");
        expect(names.includes("WINGSPAN")).to.equal(exists);
        const emm = new EmmClient(stack.url, await newClient(stack, await newTrader(stack)));
        const open = await emm.read<{ type: string }[]>("/markets/open?marketTypes=WINGSPAN");
        expect(open.map(({ type }) => type)).to.deep.equal(exists ? ["WINGSPAN"] : []);
      } finally {
        await stack.stop();
      }
    });
  }
});
