import { expect } from "chai";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { bearerCalls } from "../calls.js";
import { EmmClient, newClient } from "../surface-b/client.js";
import { startOwnServers, type OwnServers } from "../../support/own-servers.js";
import { OPERATOR, PREFIX, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestKey, type TestTrader } from "../../support/traders.js";
import { untilWithin } from "../../support/until.js";

/** Codes of an answer while a server hangs. */
const UNAVAILABLE = new Set(["UNAVAILABLE", "temporarily_unavailable"]);
/** Longest time from a request to its answer, in ms (contract section 9.2). */
const ANSWER_MS = 5_000;
/** Requests of an address that take turns or wait for one. */
const IN_LINE = 400;
/** Time in ms in which a cached value is served without asking Postgres. */
const CACHED_MS = 5_500;

interface Timed {
  readonly name: string;
  readonly status: number;
  readonly code: unknown;
  readonly ms: number;
}

describe("a server that hangs", function () {
  this.timeout(120_000);
  let servers: OwnServers;
  let stack: Stack;
  let trader: TestTrader;
  let emm: EmmClient;
  let emmToken = "";
  let operatorToken = "";
  let requests: Readonly<Record<string, () => Promise<Answer>>> = {};
  let marketId = "";

  before(async () => {
    servers = await startOwnServers();
    stack = await startStack({ servers, metered: true, trustProxy: 1 });
    trader = await newTrader(stack);
    const market = await newMarket(stack);
    marketId = market.marketId;
    emm = new EmmClient(stack.url, await newClient(stack, trader));
    emmToken = await emm.token();
    operatorToken = await stack.operatorToken();
    requests = requestsOf(market.eventId, market.outcomes[0]);
  });
  after(async () => stack.stop());

  /** Returns one request of every class of routes. Each call sends new bytes. */
  function requestsOf(eventId: string, outcomeId: string): Readonly<Record<string, () => Promise<Answer>>> {
    const ask = (key: TestKey, raw: Raw): Promise<Answer> => send(stack.url, signed(key, raw));
    const { trading, management } = trader;
    const onB = bearerCalls(stack.url, emmToken);
    const operator = bearerCalls(stack.url, operatorToken);
    const place = JSON.stringify({ outcomeId, price: "0.500", qty: 1, tif: "GTC" });
    const login = { method: "POST", target: "/v3/session", headers: { "Content-Type": "application/json" } };
    const b = `/${PREFIX}/v2/emm`;
    const nowhere = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
    return {
      place: () => ask(trading, { method: "POST", target: "/v3/orders", body: place }),
      cancel: () => ask(trading, { method: "DELETE", target: `/v3/orders/${nowhere}` }),
      "cancel all": () => ask(trading, { method: "DELETE", target: "/v3/orders" }),
      "open orders": () => ask(trading, { target: "/v3/account/orders" }),
      fills: () => ask(trading, { target: "/v3/portfolio/fills" }),
      market: () => ask(trading, { target: `/v3/catalog/markets/${marketId}` }),
      book: () => ask(trading, { target: `/v3/catalog/markets/${marketId}/book` }),
      markets: () => ask(trading, { target: "/v3/catalog/markets" }),
      keys: () => ask(management, { target: "/v3/keys" }),
      subaccounts: () => ask(management, { target: "/v3/account/subaccounts" }),
      "stream ticket": () => ask(trading, { method: "POST", target: "/v3/ws/tickets" }),
      login: () => send(stack.url, { ...login, body: JSON.stringify(OPERATOR) }),
      "surface B markets": () => onB(`GET ${b}/events/getMarketsByEvent/${eventId}`),
      "surface B place": () =>
        onB(`POST ${b}/orders/place`, [{ marketId, outcomeId, price: 0.5, size: 1, type: "GTC" }]),
      "surface B token": () =>
        send(stack.url, {
          method: "POST",
          target: `/${PREFIX}/v1/auth/emm-token`,
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({
            grant_type: "client_credentials",
            client_id: emm.credentials.clientId,
            client_secret: emm.credentials.clientSecret,
          }),
        }),
      "operator's read": () => operator("GET /admin/v1/money"),
      "operator's write": () => operator("POST /admin/v1/sports", { name: `SPORT ${Date.now()}` }),
      "operator's command": () => operator(`POST /admin/v1/markets/${marketId}/close`),
      "/readyz": () => send(stack.url, { target: "/readyz" }),
      "/healthz": () => send(stack.url, { target: "/healthz" }),
      "/metrics": () => send(stack.url, { target: "/metrics" }),
    };
  }

  /** Sends every request at once, several times, and returns the results with their times. */
  async function sendAll(times: number): Promise<Timed[]> {
    const timed = async ([name, ask]: readonly [string, () => Promise<Answer>]): Promise<Timed> => {
      const began = performance.now();
      const { status, json } = await ask();
      // The token route has the errors of RFC 6749.
      return { name, status, code: json["code"] ?? json["error"], ms: performance.now() - began };
    };
    const all: Promise<Timed>[] = [];
    for (let i = 0; i < times; i += 1) {
      all.push(...Object.entries(requests).map(timed));
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    return Promise.all(all);
  }

  const late = (answers: readonly Timed[]): readonly Timed[] => answers.filter(({ ms }) => ms > ANSWER_MS);
  const unclear = (answers: readonly Timed[]): readonly Timed[] =>
    answers.filter(
      ({ status, code, name }) =>
        status >= 500 && !(status === 503 && (UNAVAILABLE.has(String(code)) || name === "/readyz")),
    );
  const statusOf = (answers: readonly Timed[], name: string): readonly number[] =>
    answers.filter((answer) => answer.name === name).map(({ status }) => status);

  async function isWell(): Promise<void> {
    await untilWithin(5_000, async () => {
      const answers = await sendAll(1);
      expect(answers.filter(({ status }) => status >= 500)).to.deep.equal([]);
      return true;
    });
  }

  for (const server of ["postgres", "redis"] as const) {
    it(`leaves no request to ${server} without an answer for longer than 5 s`, async () => {
      await isWell();
      const wake = servers.hang(server);
      try {
        const first = await sendAll(4);
        await new Promise((resolve) => setTimeout(resolve, CACHED_MS));
        const second = await sendAll(4);
        const answers = [...first, ...second];
        expect(late(answers)).to.deep.equal([]);
        expect(unclear(answers)).to.deep.equal([]);
        expect(new Set(statusOf(second, "/readyz"))).to.deep.equal(new Set([503]));
        expect(new Set(statusOf(answers, "/healthz"))).to.deep.equal(new Set([200]));
        expect(new Set(statusOf(answers, "/metrics"))).to.deep.equal(new Set([200]));
        expect(statusOf(answers, "fills")).to.include(503);
      } finally {
        wake();
      }
      await isWell();
    });
  }

  it("leaves no request in the line of its sender without an answer for longer than 5 s", async () => {
    await isWell();
    const target = "/v3/account/orders";
    const raws = Array.from({ length: IN_LINE }, (): Raw => {
      const { headers } = signed(trader.trading, { target });
      return {
        target,
        headers: { ...(headers as Record<string, string>), "X-Forwarded-For": "203.0.113.9" },
      };
    });
    const ask = async (raw: Raw): Promise<Timed> => {
      const began = performance.now();
      const { status, json } = await send(stack.url, raw);
      return { name: target, status, code: json["code"], ms: performance.now() - began };
    };
    const wake = servers.hang("redis");
    try {
      const answers = await Promise.all(raws.map(ask));
      expect(late(answers)).to.deep.equal([]);
      expect(unclear(answers)).to.deep.equal([]);
    } finally {
      wake();
    }
    await isWell();
  });

  it("answers a signed request that is sent again after the stall with its first run", async () => {
    const { outcomes } = await newMarket(stack);
    const body = JSON.stringify({ outcomeId: outcomes[0], price: "0.400", qty: 3, tif: "GTC" });
    const raw = signed(trader.trading, { method: "POST", target: "/v3/orders", body });
    const first = send(stack.url, raw);
    const wake = servers.hang("redis");
    const began = performance.now();
    try {
      expect([201, 503]).to.include((await first).status);
    } finally {
      wake();
    }
    expect(performance.now() - began).to.be.below(ANSWER_MS);
    const again = await untilWithin(
      10_000,
      () => send(stack.url, raw),
      ({ status }) => status === 201,
    );
    const open = await send(stack.url, signed(trader.trading, { target: "/v3/account/orders" }));
    const placed = (open.json["open"] as { orderId: string; qty: number }[]).filter(({ qty }) => qty === 3);
    expect(placed.map(({ orderId }) => orderId)).to.deep.equal([again.json["orderId"]]);
  });
});
