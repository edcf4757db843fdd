import { crc32 } from "node:zlib";
import { expect } from "chai";
import fc from "fast-check";
import { WebSocket } from "ws";
import { Client, type Json, serve, type TestServer, trader } from "../support/client.js";
import { ids, TestExchange } from "../support/exchange.js";
import { until } from "../../../support/until.js";

const [ann = ""] = ids(1);

describe("a socket of the bridge", () => {
  let exchange: TestExchange;
  let server: TestServer;

  beforeEach(() => {
    exchange = new TestExchange();
    exchange.fund(ann);
  });

  afterEach(async () => {
    await server.close();
  });

  it("needs rising nonces", async () => {
    server = await serve(exchange);
    const client = await server.connect(trader(ann));
    for (const nonce of [5, 5, 4, 6]) client.sendRaw(JSON.stringify({ nonce, status: {} }));
    client.sendRaw(JSON.stringify({ nonce: 7, subscribe: { markets: 1 } }));
    client.sendRaw(JSON.stringify({ nonce: 7, status: {} }));
    await until(() => client.frames.length === 6);
    const stale = client.frames
      .filter((frame) => frame["code"] === "STALE_NONCE")
      .map((frame) => frame["nonce"]);
    expect(stale).to.deep.equal([5, 4, 7]);
    const answered = client.frames
      .filter((frame) => frame["status"] !== undefined)
      .map((frame) => frame["nonce"]);
    expect(answered).to.deep.equal([5, 6]);
  });

  it("answers malformed messages with an error; binary and oversized messages close it", async () => {
    server = await serve(exchange);
    const client = await server.connect(trader(ann));
    for (const message of ["", "{", "[]", "null", '"x"', "{}", '{"nonce":"1","status":{}}'])
      client.sendRaw(message);
    await until(() => client.frames.length === 7);
    for (const frame of client.frames) {
      expect(frame).to.include({ code: "INVALID_REQUEST" }).and.not.have.property("nonce");
    }
    expect(await client.request("status", {})).to.have.property("status");
    client.sendRaw(Buffer.from("{}"));
    expect((await client.closed).code).to.equal(1003);
    const large = await server.connect(trader(ann));
    large.sendRaw("x".repeat(65_537));
    expect((await large.closed).code).to.equal(1009);
    const other = await server.connect(trader(ann));
    expect(await other.request("status", {})).to.have.property("status");
  });

  it("survives any message, and still answers", async () => {
    server = await serve(exchange);
    const { marketId } = exchange.createMarket(2);
    const verbs = [
      "subscribe",
      "unsubscribe",
      "snapshot",
      "status",
      "place",
      "cancel",
      "cancel_all",
      "safety",
      "fault",
    ];
    const message = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .tuple(fc.nat(300), fc.constantFrom(...verbs), fc.jsonValue())
        .map(([nonce, verb, payload]) => JSON.stringify({ nonce, [verb]: payload })),
      fc
        .tuple(
          fc.nat(300),
          fc.constantFrom("subscribe", "snapshot"),
          fc.jsonValue(),
          fc.constantFrom("book", "bbo", "x"),
        )
        .map(([nonce, verb, since, channel]) =>
          JSON.stringify({ nonce, [verb]: { markets: { [marketId]: channel }, private: ["orders"], since } }),
        ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 40 }), async (messages) => {
        const client = await server.connect(trader(ann));
        for (const text of messages) client.sendRaw(text);
        client.sendRaw(JSON.stringify({ nonce: 1_000, status: {} }));
        const last = await client.next((frame) => frame["nonce"] === 1_000);
        expect(last).to.have.property("status");
        const answers = client.frames.filter((frame) => frame["delta"] === undefined);
        expect(answers).to.have.length(messages.length + 1);
        client.socket.terminate();
      }),
      { numRuns: 15 },
    );
    expect(server.errors).to.deep.equal([]);
  });

  it("may send 50 requests a second, and is closed when it keeps sending more", async () => {
    server = await serve(exchange);
    const client = await server.connect(trader(ann));
    for (let i = 0; i < 60; i += 1) client.send("status", {});
    await until(() => client.frames.length === 60);
    const refused = client.frames.filter((frame) => frame["code"] === "RATE_LIMIT_EXCEEDED");
    expect(refused.length).to.be.within(5, 10);
    for (const frame of refused) expect(frame["nonce"]).to.be.above(50);
    for (let i = 0; i < 300; i += 1) client.send("status", {});
    expect(await client.closed).to.deep.equal({ code: 1008, reason: "RATE_LIMIT_EXCEEDED" });
  });

  it("spends the tokens of its key", async () => {
    const tokens = { stream: 8, place: 0 } as Record<string, number>;
    server = await serve(exchange, {
      throttle: {
        charge: (_keyId, bucket, cost) => {
          const granted = (tokens[bucket] ?? 0) >= cost;
          if (granted) tokens[bucket] = (tokens[bucket] ?? 0) - cost;
          return Promise.resolve({ granted, remaining: tokens[bucket] ?? 0, retryAfterS: granted ? 0 : 3 });
        },
      },
    });
    const { marketId } = exchange.createMarket(2);
    const client = await server.connect(trader(ann));
    const expensive = await client.request("subscribe", { markets: { [marketId]: ["book", "bbo"] } });
    expect(expensive).to.include({
      code: "RATE_LIMIT_EXCEEDED",
      message: "the stream bucket is empty; retry after 3 s",
    });
    expect(
      await client.request("subscribe", { markets: { [marketId]: ["lifecycle", "trades"] } }),
    ).to.have.property("subscribed");
    expect(await client.request("place", { orders: [{}] })).to.include({ code: "RATE_LIMIT_EXCEEDED" });
    expect(await client.request("status", {})).to.have.nested.property("status.tokens", 3);
  });

  it("receives the last seq of every watched channel, with a checksum of books", async () => {
    server = await serve(exchange, { heartbeatMs: 40 });
    const { marketId, outcomes } = exchange.createMarket(2);
    const client = await server.connect(trader(ann));
    await client.request("subscribe", { markets: { [marketId]: ["book", "trades"] }, private: ["orders"] });
    const orders = ["0.400", "0.300", "0.400"].map((price, index) => ({
      outcomeId: outcomes[index % 2]?.outcomeId,
      price,
      qty: index + 1,
      tif: "GTC",
    }));
    const { placed } = (await client.request("place", { orders })) as { placed: { orderId: string }[] };
    exchange.commit();
    const [a = "", b = "", c = ""] = placed.map(({ orderId }) => orderId);
    const { heartbeat } = (await client.next(
      (frame) => (frame["heartbeat"] as Json | undefined)?.["orders"] === 3,
    )) as { heartbeat: Json };
    const checksum = crc32(`${a}:0.400:1|${c}:0.400:3|${b}:0.300:2`);
    expect(heartbeat).to.deep.equal({
      ts: heartbeat["ts"],
      orders: 3,
      markets: { [marketId]: { lifecycle: 1, trades: 0, book: 3, checksum } },
    });
    expect(heartbeat["ts"]).to.be.within(Date.now() - 5_000, Date.now());
  });

  it("is dropped when it does not answer pings", async () => {
    server = await serve(exchange, { heartbeatMs: 30 });
    const probe = await server.connect(trader(ann));
    const alive = await server.connect(trader(ann));
    const silent = new Client(new WebSocket(probe.socket.url.replace(/[0-9]+$/, "1"), { autoPong: false }));
    expect((await silent.closed).code).to.equal(1006);
    expect(await alive.request("status", {})).to.have.property("status");
  });

  it("is closed when its caller is expelled", async () => {
    server = await serve(exchange);
    const revoked = await server.connect(trader(ann));
    const other = await server.connect(trader(ann, { keyId: "another" }));
    const keyIds = [...server.bridge.callers()].map(({ keyId }) => keyId);
    expect(keyIds).to.deep.equal([trader(ann).keyId, "another"]);
    server.bridge.expel(({ keyId }) => (keyId === "another" ? undefined : "KEY_REVOKED"));
    expect(await revoked.closed).to.deep.equal({ code: 1008, reason: "KEY_REVOKED" });
    expect(await other.request("status", {})).to.have.property("status");
    await until(() => server.bridge.sockets === 1);
  });

  it("receives its answers and 1012 when the server stops", async () => {
    server = await serve(exchange);
    const { outcomes } = exchange.createMarket(2);
    const client = await server.connect(trader(ann));
    await client.request("safety", { cancelOnDisconnect: true });
    const order = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
    await client.request("place", { orders: [order] });
    await server.bridge.close();
    expect((await client.closed).code).to.equal(1012);
    expect(server.bridge.sockets).to.equal(0);
    expect(exchange.canceledAll).to.deep.equal(["DISCONNECTED"]);
  });
});
