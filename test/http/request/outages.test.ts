import { expect } from "chai";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { startProxy, type Proxy } from "../../support/proxy.js";
import { untilWithin } from "../../support/until.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";

describe("an outage", function () {
  this.timeout(60_000);
  let stack: Stack;
  let redis: Proxy | undefined;
  let postgres: Proxy | undefined;
  let trader: TestTrader;
  let marketId = "";
  let outcome = "";

  before(async () => {
    stack = await startStack({
      via: {
        redis: async (url) => (redis = await startProxy(url)).url,
        database: async (url) => (postgres = await startProxy(url)).url,
      },
    });
    trader = await newTrader(stack);
    const market = await newMarket(stack);
    marketId = market.marketId;
    [outcome] = market.outcomes;
  });
  after(async () => {
    redis?.heal();
    postgres?.heal();
    await stack.stop();
    await redis?.close();
    await postgres?.close();
  });

  const ask = (raw: Raw): Promise<Answer> => send(stack.url, signed(trader.trading, raw));
  const place = (): Promise<Answer> => {
    const body = JSON.stringify({ outcomeId: outcome, price: "0.500", qty: 1, tif: "GTC" });
    return ask({ method: "POST", target: "/v3/orders", body });
  };

  async function healthy(): Promise<void> {
    await untilWithin(15_000, async () => (await send(stack.url, { target: "/readyz" })).status === 200);
  }

  it("of Postgres leaves trading as it is, and routes that need Postgres answer 503", async () => {
    // Rows that the projector writes later would drop cached values during the outage.
    await untilWithin(15_000, async () => {
      expect((await send(stack.url, { target: "/readyz" })).json).to.include({ projectorLag: 0 });
    });
    expect((await place()).status).to.equal(201);
    postgres?.cut();
    try {
      // The outage lasts longer than the time to live of the caches, so that they reload.
      await new Promise((resolve) => setTimeout(resolve, 5_500));
      const placed = await place();
      expect(`${placed.status} ${placed.text.slice(0, 60)}`).to.match(/^201 /);
      expect((await ask({ target: `/v3/catalog/markets/${marketId}/book` })).status).to.equal(200);
      const fills = await ask({ target: "/v3/portfolio/fills" });
      expect(`${fills.status} ${String(fills.json["code"])}`).to.equal("503 UNAVAILABLE");
      expect(fills.headers.get("retry-after")).to.match(/^[1-9]/);
      const ready = await send(stack.url, { target: "/readyz" });
      expect(ready.status).to.equal(503);
      expect(ready.json).to.include({ redis: true, postgres: false });
    } finally {
      postgres?.heal();
    }
    await healthy();
    expect((await ask({ target: "/v3/portfolio/fills" })).status).to.equal(200);
  });

  it("of Redis makes a placement answer 503 within seconds, and later placements work", async () => {
    redis?.cut();
    try {
      const began = Date.now();
      const answer = await place();
      expect(`${answer.status} ${String(answer.json["code"])}`).to.equal("503 UNAVAILABLE");
      expect(Date.now() - began).to.be.below(7_000);
      for (const target of [
        "/v3/portfolio/fills",
        "/v3/account/orders",
        `/v3/catalog/markets/${marketId}/book`,
      ]) {
        const read = await ask({ target });
        expect(`${read.status} ${String(read.json["code"])}`, target).to.equal("503 UNAVAILABLE");
      }
      expect((await send(stack.url, { target: "/healthz" })).status).to.equal(200);
    } finally {
      redis?.heal();
    }
    await healthy();
    expect((await place()).status).to.equal(201);
  });
});
