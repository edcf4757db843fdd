import { expect } from "chai";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { startStack, type Stack } from "../../support/stack.js";
import { send, signed, type Answer, type Raw } from "../requests.js";

describe("the buckets of a key, over two gateways", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;

  before(async () => {
    stack = await startStack({ metered: true, gateways: 2 });
  });
  beforeEach(async () => {
    trader = await newTrader(stack);
  });
  after(() => stack.stop());

  const url = (i: number): string => stack.urls[i % stack.urls.length] ?? "";

  it("admit exactly as many of 200 parallel requests as they have tokens", async () => {
    const begin = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        send(url(i), signed(trader.trading, { target: "/v3/types/sports" })),
      ),
    );
    const gained = Math.ceil(((Date.now() - begin) / 1_000) * 16);
    const granted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    expect(granted.length + refused.length).to.equal(200);
    expect(granted.length).to.be.within(64, 64 + gained);
    for (const { headers, json } of refused) {
      expect(json["code"]).to.equal("RATE_LIMIT_EXCEEDED");
      expect(headers.get("retry-after")).to.equal("1");
      expect(headers.get("x-ratelimit-bucket")).to.equal("read");
      expect(headers.get("x-ratelimit-cost")).to.equal("0");
      expect(headers.get("x-ratelimit-remaining")).to.equal("0");
    }
    for (const { headers } of granted) expect(headers.get("x-ratelimit-cost")).to.equal("1");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const later = await send(url(0), signed(trader.trading, { target: "/v3/types/sports" }));
    expect(later.status).to.equal(200);
  });

  const limits = async (): Promise<Record<string, { capacity: number; remaining: number }>> =>
    (await send(url(1), signed(trader.trading, { target: "/v3/limits" }))).json as never;

  it("are shown by /v3/limits, at whichever gateway they were spent", async () => {
    const before = await limits();
    expect(before["history"]).to.deep.equal({ capacity: 512, refillPerSec: 4, remaining: 512 });
    expect(before["maxWatchedMarkets"]).to.equal(2048);
    const fills = await send(url(0), signed(trader.trading, { target: "/v3/portfolio/fills?limit=5000" }));
    expect(fills.status).to.equal(200);
    expect(fills.headers.get("x-ratelimit-cost")).to.equal("8");
    expect(fills.headers.get("x-ratelimit-remaining")).to.equal("504");
    expect((await limits())["history"]?.remaining).to.be.within(504, 512);
  });

  it("charge a batch one token per order, and refuse all of it when they hold too few", async () => {
    const outcomeId = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
    const order = { outcomeId, price: "0.500", qty: 1, tif: "GTC" };
    const batch = (size: number): Promise<Answer> => {
      const body = JSON.stringify({ orders: Array.from({ length: size }, () => order) });
      const raw: Raw = { method: "POST", target: "/v3/orders/batch", body };
      return send(url(size), signed(trader.trading, raw));
    };
    const first = await batch(200);
    expect(first.headers.get("x-ratelimit-cost")).to.equal("200");
    expect(first.headers.get("x-ratelimit-remaining")).to.be.oneOf(["56", "57"]);
    const second = await batch(100);
    expect(second.status).to.equal(429);
    expect(Number(second.headers.get("retry-after"))).to.be.within(4, 6);
  });

  it("limit transfers by a further rate", async () => {
    const { keyId } = trader.account.tradingKey;
    const transfer = (): Promise<Answer> => {
      const body = JSON.stringify({ direction: "defund", amount: "0.01" });
      const target = `/v3/account/subaccounts/${keyId}/transfer`;
      return send(url(0), signed(trader.management, { method: "POST", target, body }));
    };
    const answers: Answer[] = [];
    const begin = Date.now();
    for (let i = 0; i < 12; i += 1) answers.push(await transfer());
    const gained = Math.ceil(((Date.now() - begin) / 1_000) * 5);
    const made = answers.filter(({ status }) => status === 202).length;
    // The set-up has just funded the trader by a transfer.
    expect(made).to.be.within(4, Math.min(12, 5 + gained));
    const refused = answers.find(({ status }) => status === 429);
    if (made < 12) {
      expect(refused?.headers.get("x-ratelimit-bucket")).to.equal("account");
      expect(refused?.headers.get("retry-after")).to.equal("1");
    }
  });
});
