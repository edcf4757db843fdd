import { connect } from "node:net";
import { expect } from "chai";
import { BookCache } from "../../../http/surface-a/market/book-cache.js";
import { send, signed, type Raw } from "../requests.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const MISSING = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

describe("requests", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let outcome = "";
  let marketId = "";
  const lines: string[] = [];

  before(async () => {
    stack = await startStack({ edge: { bodyBytes: 4_096 }, logTo: (line) => lines.push(line) });
    trader = await newTrader(stack);
    const market = await newMarket(stack);
    marketId = market.marketId;
    [outcome] = market.outcomes;
  });
  after(() => stack.stop());

  describe("paths match byte for byte", () => {
    const targets = [
      "/v3/limits/",
      "/v3//limits",
      "//v3/limits",
      "/V3/limits",
      "/v3/Limits",
      "/v3/./limits",
      "/v3/x/../limits",
      "/v3/%6cimits",
      "/v3/limits%2F",
      "/v3%2flimits",
      "/v3/limits;x=1",
      "/v3/limits%00",
      "http://localhost/v3/limits",
      "/\\2,@Ed47#0/v3/limits",
      "/v3/nothing",
      `/v3/orders/${MISSING.toUpperCase()}`,
    ];
    for (const target of targets) {
      it(`${target} is 404, also with a signature`, async () => {
        const answer = await send(stack.url, signed(trader.trading, { target }));
        expect(`${answer.status} ${String(answer.json["code"])}`).to.equal("404 ROUTE_NOT_FOUND");
      });
    }
    it("an id in the path that is not a uuid is 400", async () => {
      const answer = await send(stack.url, signed(trader.trading, { target: "/v3/orders/mine" }));
      expect(`${answer.status} ${String(answer.json["code"])}`).to.equal("400 INVALID_REQUEST");
    });
  });

  describe("queries", () => {
    const refused = [
      ["an unknown parameter", "colour=red", "INVALID_QUERY", /colour/],
      ["a repeated parameter", "league=NFL&league=NBA", "INVALID_QUERY", /more than once/],
      ["a parameter that an escape repeats", "league=NFL&l%65ague=NBA", "INVALID_QUERY", /more than once/],
      ["bytes that are not UTF-8", "league=%ff", "INVALID_QUERY", /UTF-8/],
      ["limit 0", "limit=0", "INVALID_REQUEST", /limit/],
      ["limit 5001", "limit=5001", "INVALID_REQUEST", /limit/],
      ["limit 1e2", "limit=1e2", "INVALID_REQUEST", /limit/],
      ["limit with a sign", "limit=%2B5", "INVALID_REQUEST", /limit/],
      ["an unknown status", "status=OPEN", "INVALID_QUERY", /status/],
      ["a cursor of no list", "after=abc", "INVALID_QUERY", /^after must be a cursor/],
      ["a bound that is not a number", "startsAfter=now", "INVALID_QUERY", /startsAfter/],
    ] as const;
    for (const [name, query, code, message] of refused) {
      it(`refuse ${name}`, async () => {
        const raw = signed(trader.trading, { target: `/v3/catalog/events?${query}` });
        const answer = await send(stack.url, raw);
        expect(`${answer.status} ${String(answer.json["code"])}`).to.equal(`400 ${code}`);
        expect(answer.json["message"]).to.match(message);
      });
    }
    it("keep a plus as a plus", async () => {
      const { json } = await send(
        stack.url,
        signed(trader.trading, { target: "/v3/catalog/events?league=Serie+A" }),
      );
      expect(json["items"]).to.deep.equal([]);
    });
    it("are refused by a route without parameters", async () => {
      const answer = await send(stack.url, signed(trader.trading, { target: "/v3/limits?a=1" }));
      expect(answer.json["code"]).to.equal("INVALID_QUERY");
    });
  });

  describe("bodies", () => {
    const place = (
      body: string | Buffer,
      headers: Record<string, string> = {},
    ): Promise<{ status: number; json: Readonly<Record<string, unknown>> }> =>
      send(stack.url, signed(trader.trading, { method: "POST", target: "/v3/orders", body, headers }));
    const order = (fields: object): string =>
      JSON.stringify({ outcomeId: outcome, price: "0.500", qty: 1, tif: "GTC", ...fields });

    const refused: readonly (readonly [string, () => string | Buffer, string])[] = [
      ["an empty body", () => "", "INVALID_BODY"],
      ["a form", () => "qty=1", "INVALID_BODY"],
      ["an array", () => "[]", "INVALID_BODY"],
      ["null", () => "null", "INVALID_BODY"],
      ["an unknown field", () => order({ colour: "red" }), "INVALID_BODY"],
      ["__proto__", () => order({}).replace("{", '{"__proto__":{"kyc":"VERIFIED"},'), "INVALID_BODY"],
      ["a duplicate key", () => order({}).replace("{", '{"qty":2,'), "INVALID_BODY"],
      ["an exponent", () => order({}).replace('"qty":1', '"qty":1e3'), "INVALID_BODY"],
      ["negative zero", () => order({}).replace('"qty":1', '"qty":-0'), "INVALID_BODY"],
      ["2^53 + 1", () => order({}).replace('"qty":1', '"qty":9007199254740993'), "INVALID_BODY"],
      ["400 digits", () => order({}).replace('"qty":1', `"qty":${"9".repeat(400)}`), "INVALID_BODY"],
      ["bytes that are not UTF-8", () => Buffer.from([0x7b, 0xff, 0x7d]), "INVALID_BODY"],
      ["a nest of arrays", () => "[".repeat(3_000), "INVALID_BODY"],
      ["a price that is a number", () => order({ price: 0.5 }), "INVALID_BODY"],
      ["a price off the grid", () => order({ price: "0.501" }), "INVALID_PRICE"],
      ["a price of four decimals", () => order({ price: "0.5005" }), "INVALID_PRICE"],
      ["a price without the zero before the point", () => order({ price: ".5" }), "INVALID_PRICE"],
      ["null for a required field", () => order({ qty: null }), "INVALID_BODY"],
      ["null for an unknown field", () => order({ colour: null }), "INVALID_BODY"],
      ["a price of 1", () => order({ price: "1.000" }), "INVALID_PRICE"],
      ["a price of 0", () => order({ price: "0.000" }), "INVALID_PRICE"],
      ["a price in Arabic digits", () => order({ price: "0.\u0665\u0660\u0660" }), "INVALID_PRICE"],
      ["a quantity of 0", () => order({ qty: 0 }), "QTY_OUT_OF_RANGE"],
      ["a quantity below 0", () => order({ qty: -1 }), "QTY_OUT_OF_RANGE"],
      ["half a contract", () => order({ qty: 1.5 }), "QTY_OUT_OF_RANGE"],
      ["2^31 contracts", () => order({ qty: 2_147_483_648 }), "QTY_OUT_OF_RANGE"],
      ["a ttl on GTC", () => order({ ttl: 5_000 }), "TTL_NOT_ALLOWED"],
      ["GTT without a ttl", () => order({ tif: "GTT" }), "TTL_REQUIRED"],
      ["a ttl of 999", () => order({ tif: "GTT", ttl: 999 }), "TTL_OUT_OF_RANGE"],
      ["a ttl of 31 days", () => order({ tif: "GTT", ttl: 31 * 86_400_000 }), "TTL_OUT_OF_RANGE"],
      ["an unknown tif", () => order({ tif: "GFD" }), "INVALID_BODY"],
      ["an unknown outcome", () => order({ outcomeId: MISSING }), "OUTCOME_NOT_FOUND"],
      ["a clientId that is not a uuid", () => order({ clientId: "1" }), "INVALID_BODY"],
      ["an order that the wallet cannot pay", () => order({ qty: 1_000_000 }), "INSUFFICIENT_BALANCE"],
    ];
    for (const [name, body, code] of refused) {
      it(`refuse ${name}`, async () => {
        const answer = await place(body());
        expect(answer.json["code"]).to.equal(code);
        expect(answer.status).to.equal(
          code === "OUTCOME_NOT_FOUND" ? 404 : code === "INSUFFICIENT_BALANCE" ? 422 : 400,
        );
        expect(answer.json["message"]).to.be.a("string").that.is.not.empty;
      });
    }

    const NEAREST: readonly (readonly [string, RegExp])[] = [
      ["0.501", /; the nearest prices are 0\.500 and 0\.505$/],
      ["0.051", /; the nearest prices are 0\.050 and 0\.055$/],
      ["0.0004", /; the nearest prices are 0\.001 and 0\.002$/],
      ["-1", /; the nearest prices are 0\.001 and 0\.002$/],
      ["1.000", /; the nearest prices are 0\.998 and 0\.999$/],
      ["half", /; send a price of the table$/],
    ];
    for (const [price, message] of NEAREST) {
      it(`with the price ${price} are refused with the two nearest ticks`, async () => {
        const { json } = await place(order({ price }));
        expect(json["code"]).to.equal("INVALID_PRICE");
        expect(json["message"]).to.match(message);
      });
    }

    it("need Content-Type: application/json and no Content-Encoding", async () => {
      for (const type of ["text/plain", "application/json; charset=latin1", "application/jsonx"]) {
        expect((await place(order({}), { "Content-Type": type })).json["code"], type).to.equal(
          "INVALID_REQUEST",
        );
      }
      expect((await place(order({}), { "Content-Encoding": "gzip" })).json["code"]).to.equal(
        "INVALID_REQUEST",
      );
      expect((await place(order({}), { "Content-Type": "application/json; charset=utf-8" })).status).to.equal(
        201,
      );
    });

    it("are refused by a route without a body", async () => {
      const raw = signed(trader.trading, { method: "DELETE", target: `/v3/orders/${MISSING}`, body: "{}" });
      expect((await send(stack.url, raw)).json["code"]).to.equal("INVALID_BODY");
    });

    it("may be {} in a cancel of everything, and nothing else", async () => {
      const cancelAll = (body: string | undefined) =>
        send(
          stack.url,
          signed(trader.trading, {
            method: "DELETE",
            target: "/v3/orders",
            ...(body === undefined ? {} : { body }),
          }),
        );
      for (const body of [undefined, "{}", " { } "]) expect((await cancelAll(body)).status).to.equal(200);
      for (const body of ["[]", "null", '{"market":null}', `{"market":"${marketId}"}`, "x"]) {
        const { status, json } = await cancelAll(body);
        expect(`${status} ${String(json["code"])}`, body).to.equal("400 INVALID_BODY");
      }
    });

    it("may have null for an optional field, which reads as absent", async () => {
      const absent = { ttl: null, clientId: null, currency: null, selfTrade: null, notAfter: null };
      const one = await place(order({ ...absent, groupId: null, price: "0.0200" }));
      expect(one.status, JSON.stringify(one.json)).to.equal(201);
      expect(one.json).to.have.all.keys("orderId");
      const orders = [JSON.parse(order({ ...absent, price: "0.020" }))] as unknown[];
      const body = JSON.stringify({ orders, atomic: null });
      const batch = signed(trader.trading, { method: "POST", target: "/v3/orders/batch", body });
      expect((await send(stack.url, batch)).status).to.equal(201);
      const { json } = await send(
        stack.url,
        signed(trader.trading, { target: `/v3/orders/${String(one.json["orderId"])}` }),
      );
      expect(json).to.include({ price: "0.020", tif: "GTC" }).and.not.have.any.keys("clientId", "expiresTs");
    });

    for (const scope of ["trading", null]) {
      it(`are refused with the name of a field scope that the route does not have, ${scope ?? "null"}`, async () => {
        const body = JSON.stringify({ name: "x", publicKey: "x", algorithm: "Ed25519", scope });
        const raw = signed(trader.management, { method: "POST", target: "/v3/keys", body });
        const answer = await send(stack.url, raw);
        expect(answer.json).to.deep.equal({
          code: "INVALID_REQUEST",
          message: "scope is not a field of this route; leave it out",
        });
      });
    }
  });

  describe("the edge", () => {
    const expectHtml = async (
      answer: Promise<{ status: number; text: string; headers: ReadonlyMap<string, string> }>,
    ): Promise<void> => {
      const { status, text, headers } = await answer;
      expect(status).to.equal(403);
      expect(headers.get("content-type")).to.match(/^text\/html/);
      expect(text).to.not.match(/"code"/);
    };

    it("refuses a body over its cap with HTML, declared or not", async () => {
      const body = JSON.stringify({ orders: "x".repeat(5_000) });
      const target = "/v3/orders/batch";
      await expectHtml(send(stack.url, signed(trader.trading, { method: "POST", target, body })));
      const chunk = "x".repeat(3_000);
      const chunked = `bb8\r\n${chunk}\r\nbb8\r\n${chunk}\r\n0\r\n\r\n`;
      const { port } = new URL(stack.url);
      const text = await new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), "127.0.0.1");
        let got = "";
        socket.on("data", (data) => (got += data.toString()));
        socket.on("close", () => resolve(got));
        socket.on("error", reject);
        socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`);
      });
      expect(text).to.match(/^HTTP\/1\.1 403 /);
    });

    it("refuses a request with both Content-Length and Transfer-Encoding", async () => {
      const headers = { "Content-Length": "5", "Transfer-Encoding": "chunked" };
      const answer = await send(stack.url, { method: "POST", target: "/v3/session", headers });
      expect(answer.status).to.equal(400);
    });

    it("ignores a forwarding header", async () => {
      lines.length = 0;
      await send(stack.url, {
        target: "/v3/public/types/sports",
        headers: { "X-Forwarded-For": "203.0.113.9" },
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(lines.join("")).to.include('"ip":"127.0.0.1"').and.not.include("203.0.113.9");
    });
  });

  it("get answers with an id of their own, security headers and CORS, and without a trace of Express", async () => {
    const raw: Raw = {
      target: "/v3/public/types/sports",
      headers: { Origin: "https://example.com", "X-Request-Id": "mine" },
    };
    const { headers, status } = await send(stack.url, raw);
    expect(status).to.equal(200);
    expect(headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    expect(headers.get("access-control-allow-origin")).to.equal("*");
    expect(headers.get("access-control-expose-headers")).to.include("X-RateLimit-Remaining");
    expect(headers.get("x-content-type-options")).to.equal("nosniff");
    expect(headers.has("x-powered-by")).to.equal(false);
  });

  it("get answers with their cost when they are metered", async () => {
    const read = await send(stack.url, signed(trader.trading, { target: `/v3/catalog/markets/${marketId}` }));
    expect(read.headers.get("x-ratelimit-bucket")).to.equal("read");
    expect(read.headers.get("x-ratelimit-cost")).to.equal("1");
    const list = await send(stack.url, signed(trader.trading, { target: "/v3/portfolio/fills" }));
    expect(list.headers.get("x-ratelimit-bucket")).to.equal("history");
    expect(list.headers.get("x-ratelimit-cost")).to.equal("8");
  });

  it("get 304 for a book that has not changed", async () => {
    const target = `/v3/public/catalog/markets/${marketId}/book`;
    const first = await send(stack.url, { target });
    expect(first.status).to.equal(200);
    const etag = first.headers.get("etag") ?? "";
    const again = await send(stack.url, { target, headers: { "If-None-Match": etag } });
    expect(`${again.status}${again.text}`).to.equal("304");
    const other = await send(stack.url, {
      target: `${target}?currency=COIN`,
      headers: { "If-None-Match": etag },
    });
    expect(other.status).to.equal(200);
  });

  it("get a part of a book from memory while the book stays the same", async () => {
    const target = `/v3/public/catalog/markets/${marketId}/book?limit=7`;
    const keep = Object.getOwnPropertyDescriptor(BookCache.prototype, "keep")?.value as BookCache["keep"];
    let serialized = 0;
    BookCache.prototype.keep = function (this: BookCache, ...args) {
      serialized += 1;
      keep.apply(this, args);
    };
    try {
      const answers = [await send(stack.url, { target }), await send(stack.url, { target })];
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      expect(answers[1]?.text).to.equal(answers[0]?.text);
    } finally {
      BookCache.prototype.keep = keep;
    }
    expect(serialized).to.equal(1);
  });

  it("get as many price levels of a book as they want", async () => {
    const market = await newMarket(stack);
    const [first, second] = market.outcomes;
    const prices = ["0.010", "0.030", "0.020", "0.030", "0.040"];
    const bids = [
      ...prices.map((price) => ({ outcomeId: first, price, qty: 1, tif: "GTC" })),
      { outcomeId: second, price: "0.010", qty: 1, tif: "GTC" },
    ];
    const batch = JSON.stringify({ orders: bids });
    await send(
      stack.url,
      signed(trader.trading, { method: "POST", target: "/v3/orders/batch", body: batch }),
    );
    const bookOf = async (depth: string, headers = {}) => {
      const target = `/v3/public/catalog/markets/${market.marketId}/book${depth}`;
      const answer = await send(stack.url, { target, headers });
      const orders = (answer.json["orders"] ?? {}) as Record<string, { readonly price: string }[]>;
      return { answer, prices: [first, second].map((id) => (orders[id] ?? []).map(({ price }) => price)) };
    };
    const all = [["0.040", "0.030", "0.030", "0.020", "0.010"], ["0.010"]];
    await until(
      () => bookOf(""),
      ({ prices: [one = [], other = []] }) => one.length + other.length === bids.length,
    );
    expect((await bookOf("")).prices).to.deep.equal(all);
    expect((await bookOf("?depth=1")).prices).to.deep.equal([["0.040"], ["0.010"]]);
    expect((await bookOf("?depth=2")).prices).to.deep.equal([["0.040", "0.030", "0.030"], ["0.010"]]);
    expect((await bookOf("?depth=999")).prices).to.deep.equal(all);
    for (const depth of ["0", "1000", "x"])
      expect((await bookOf(`?depth=${depth}`)).answer.json["code"]).to.equal("INVALID_QUERY");
    const pages: string[][][] = [];
    for (let after: unknown = "0"; typeof after === "string";) {
      const page = await bookOf(`?limit=2&after=${after}`);
      pages.push(page.prices);
      after = page.answer.json["next"];
    }
    expect(pages).to.deep.equal([
      [["0.040", "0.030"], ["0.010"]],
      [["0.030", "0.020"], []],
      [["0.010"], []],
    ]);
    expect((await bookOf("?limit=5")).answer.json).to.not.have.property("next");
    expect((await bookOf(`?after=${(5_000_000).toString(36)}`)).prices).to.deep.equal([[], []]);
    for (const query of [
      "limit=2&after=1",
      "after=zzzzzz",
      "limit=0",
      "limit=5001",
      "after=",
      "after=-1",
      "after=zzzzzzz",
    ])
      expect((await bookOf(`?${query}`)).answer.status, query).to.equal(400);
    const etag = (await bookOf("?depth=1")).answer.headers.get("etag") ?? "";
    expect((await bookOf("?depth=1", { "If-None-Match": etag })).answer.status).to.equal(304);
    expect((await bookOf("?depth=2", { "If-None-Match": etag })).answer.status).to.equal(200);
  });

  it("are logged with their caller and their route, and without secrets", async () => {
    lines.length = 0;
    const password = "canary-password-123";
    await send(stack.url, {
      method: "POST",
      target: "/v3/session?canary-query=1",
      headers: { "Content-Type": "application/json", Authorization: "Bearer canary-token" },
      body: JSON.stringify({ email: "a@example.com", password }),
    });
    const raw = signed(trader.trading, { target: "/v3/limits" });
    await send(stack.url, raw);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const log = lines.join("");
    expect(log).to.include(trader.account.tradingKey.keyId).and.include('"route":"GET /v3/limits"');
    expect(log).to.not.include("canary");
    expect(log).to.not.include((raw.headers as Record<string, string>)[`${stack.brand}-Signature`]);
  });

  it("find the service alive, ready and measured", async () => {
    expect((await send(stack.url, { target: "/healthz" })).json).to.deep.equal({ ok: true });
    const ready = await send(stack.url, { target: "/readyz" });
    expect(ready.json).to.include({
      ready: true,
      redis: true,
      postgres: true,
      ledgers: 16,
      projecting: true,
    });
    const metrics = await send(stack.url, { target: "/metrics" });
    expect(metrics.text).to.include("overround_http_request_seconds");
  });
});

describe("the rate limit of the edge", function () {
  this.timeout(60_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack({ edge: { publicBurst: 5, publicRatePerSecond: 1 } });
  });
  after(() => stack.stop());

  it("is one per address, and a further one for the public routes", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 8; i += 1) {
      statuses.push((await send(stack.url, { target: "/v3/public/types/sports" })).status);
    }
    expect(statuses.slice(0, 5)).to.deep.equal([200, 200, 200, 200, 200]);
    expect(statuses.at(-1)).to.equal(403);
    expect((await send(stack.url, { target: "/healthz" })).status).to.equal(200);
  });
});
