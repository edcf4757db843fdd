import { expect } from "chai";
import {
  BOOK,
  CANCEL,
  HISTORY,
  KILL_SWITCH,
  MARKETS_BY_EVENT,
  OPEN_MARKETS,
  ordinary,
  POSITIONS,
} from "../../../http/surface-b/access.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { TokenBuckets, type TokenBucket } from "../../../stream/services/token-buckets.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { EmmClient, newClient, type ClientCredentials, type EmmAnswer } from "./client.js";

const NOWHERE = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

describe("the rates of surface B, over two gateways", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let eventId = "";
  let services: ServiceConnection;
  let buckets: TokenBuckets;
  let credentials: ClientCredentials;
  let clients: EmmClient[];

  before(async () => {
    stack = await startStack({ gateways: 2 });
    trader = await newTrader(stack);
    ({ eventId } = await newMarket(stack));
    services = new ServiceConnection({ url: stack.redisUrl });
    buckets = new TokenBuckets(services);
  });
  beforeEach(async () => {
    credentials = await newClient(stack, trader);
    clients = stack.urls.map((url) => new EmmClient(url, credentials));
    await Promise.all(clients.map((client) => client.token()));
  });
  after(async () => {
    services.close();
    await stack.stop();
  });

  const at = (i: number): EmmClient => {
    const client = clients[i % clients.length];
    if (client === undefined) throw new Error("no client");
    return client;
  };

  /** Leaves `left` tokens in a bucket of the client. */
  const drain = async (bucket: TokenBucket, left: number): Promise<void> => {
    const cost = bucket.capacity - left;
    expect((await buckets.spend(`emm:${credentials.clientId}`, [{ bucket, cost }])).granted).to.equal(true);
  };

  interface Burst {
    readonly granted: readonly EmmAnswer[];
    readonly refused: readonly EmmAnswer[];
    readonly ms: number;
  }

  async function burst(line: string, count: number, body?: unknown): Promise<Burst> {
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: count }, (_, i) => at(i).call(line, body)));
    const ms = performance.now() - began;
    const refused = answers.filter(({ status }) => status === 429);
    return { granted: answers.filter(({ status }) => status !== 429), refused, ms };
  }

  const routes: readonly (readonly [string, () => string, readonly TokenBucket[], unknown?])[] = [
    ["markets by event", () => `GET /events/getMarketsByEvent/${eventId}?currency=CASH`, MARKETS_BY_EVENT],
    ["books", () => `GET /book/${NOWHERE}?currency=CASH`, BOOK],
    ["open markets", () => "GET /markets/open", OPEN_MARKETS],
    ["positions", () => "GET /positions/all", POSITIONS],
    ["ticks", () => "GET /ticks", ordinary("ticks")],
    ["one event", () => `GET /events/${eventId}`, ordinary("event")],
    ["placing", () => "POST /orders/place", ordinary("place"), []],
    ["canceling", () => "POST /orders/cancel", CANCEL, { orderIds: [NOWHERE] }],
    ["fills, in a burst", () => "GET /fills/all", HISTORY.slice(0, 1)],
    ["transactions, over a minute", () => "GET /transactions", HISTORY.slice(1)],
    ["the kill switch", () => "DELETE /orders", KILL_SWITCH],
  ];

  for (const [what, line, rates, body] of routes) {
    const [rate] = rates;
    if (rate === undefined) throw new Error("a route without a rate");
    it(`${what}: ${rate.refill} in ${rate.periodMs / 1_000} s`, async () => {
      // All but a few tokens are taken before, so that a slow machine does not refill the bucket during the test.
      const left = Math.min(5, rate.capacity);
      const began = performance.now();
      await drain(rate, left);
      const { granted, refused } = await burst(line(), 16, body);
      const gained = Math.ceil(((performance.now() - began) / rate.periodMs) * rate.refill);
      expect(granted.length).to.be.within(left, Math.min(16, left + gained));
      for (const { status, headers, body: answer } of refused) {
        expect(status).to.equal(429);
        expect(answer).to.deep.include({
          statusCode: 429,
          error: "Too Many Requests",
          code: "RATE_LIMIT_EXCEEDED",
        });
        expect(headers.get("x-ratelimit-bucket")).to.equal(rate.name);
        expect(headers.get("x-ratelimit-limit")).to.equal(String(rate.capacity));
        expect(headers.get("x-ratelimit-cost")).to.equal("0");
        expect(headers.get("x-ratelimit-remaining")).to.equal("0");
        const waitS = Math.ceil(rate.periodMs / rate.refill / 1_000);
        expect(Number(headers.get("retry-after"))).to.be.within(1, waitS);
      }
      for (const { headers } of granted) {
        expect(headers.get("x-ratelimit-cost")).to.equal("1");
        expect(Number(headers.get("x-ratelimit-remaining"))).to.be.lessThan(rate.capacity);
      }
    });
  }

  it("grant the whole burst of history requests, and no further one", async () => {
    const { granted, refused, ms } = await burst("GET /orders/all", 40);
    expect(granted.length).to.be.within(16, Math.min(40, 16 + Math.ceil((ms / 1_000) * 16)));
    expect(granted.length + refused.length).to.equal(40);
    const [first] = refused;
    if (first === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(first.headers.get("retry-after"))));
    expect((await at(0).call("GET /orders/all")).status).to.equal(200);
  });

  it("belong to a client, whichever its token", async () => {
    await drain(KILL_SWITCH[0] ?? expect.fail(), 1);
    expect((await at(0).call("DELETE /orders")).status).to.equal(200);
    const again = new EmmClient(stack.url, credentials);
    expect((await again.call("DELETE /orders")).status).to.equal(429);
    const sibling = new EmmClient(stack.url, await newClient(stack, trader));
    expect((await sibling.call("DELETE /orders")).status).to.equal(200);
  });

  it("limit the creation of tokens too", async () => {
    await drain(ordinary("token")[0] ?? expect.fail(), 2);
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => new EmmClient(stack.url, credentials).token().then(() => 200, String)),
    );
    const gained = Math.ceil(((performance.now() - began) / 1_000) * 64) + 2;
    const refused = answers.filter((answer) => String(answer).includes("too_many_requests"));
    expect(refused.length).to.be.at.least(20 - gained);
  });
});
