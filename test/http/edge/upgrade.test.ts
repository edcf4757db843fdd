import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { expect } from "chai";
import { connect } from "node:net";
import { WebSocket } from "ws";
import { operatorCalls } from "../calls.js";
import { H2C, send, signed, type Raw } from "../requests.js";
import { frameOf } from "../../stream/ws/support/client.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import {
  addMarket,
  newMarket,
  newTrader,
  upgradeHeaders,
  type TestKey,
  type TestTrader,
} from "../../support/traders.js";
import { until } from "../../support/until.js";

const UPGRADE = {
  Upgrade: "websocket",
  Connection: "Upgrade",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

interface Frame {
  readonly nonce?: number;
  readonly placed?: { readonly orderId: string }[];
  readonly canceled?: { readonly canceled: string[]; readonly notCanceled: unknown[] };
  readonly canceled_all?: number;
  readonly markets?: { readonly items: { readonly marketId: string }[] };
  readonly code?: string;
  readonly message?: string;
}

/** Client of the stream that matches replies to requests by their nonce. */
class Client {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  private nonce = 0;
  private readonly waiting = new Map<number, (frame: Frame) => void>();

  constructor(url: string, key: TestKey) {
    const { headers } = signed(key, { target: "/v3/ws" });
    this.socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws`, {
      headers: headers as Record<string, string>,
    });
    this.closed = new Promise((resolve) => this.socket.once("close", resolve));
    this.socket.on("message", (data: Buffer) => {
      const frame = frameOf(data) as Frame;
      if (frame.nonce !== undefined) this.waiting.get(frame.nonce)?.(frame);
    });
  }

  async open(): Promise<this> {
    await new Promise((resolve, reject) => {
      this.socket.once("open", resolve);
      this.socket.once("error", reject);
    });
    return this;
  }

  ask(verb: object): Promise<Frame> {
    this.nonce += 1;
    const { nonce } = this;
    this.socket.send(JSON.stringify({ nonce, ...verb }));
    return new Promise((resolve) => this.waiting.set(nonce, resolve));
  }
}

describe("the upgrade to a websocket", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  const lines: string[] = [];

  before(async () => {
    stack = await startStack({ logTo: (line) => lines.push(line) });
    trader = await newTrader(stack);
  });
  after(() => stack.stop());

  async function refused(raw: Raw): Promise<string> {
    const headers = { ...(raw.headers as Record<string, string>), ...UPGRADE };
    const { status, json } = await send(stack.url, { ...raw, headers });
    return `${status} ${String(json["code"])}`;
  }

  it("is refused in plain HTTP before there is a socket", async () => {
    const target = "/v3/ws";
    expect(await refused({ target })).to.equal("401 SIGNATURE_REJECTED");
    expect(await refused(signed(trader.management, { target }))).to.equal("403 SIGNATURE_REJECTED");
    expect(await refused(signed(trader.trading, { target: "/v3/ws?x=1" }))).to.equal("400 INVALID_QUERY");
    expect(await refused(signed(trader.trading, { target: "/v3/ws/" }))).to.equal("404 ROUTE_NOT_FOUND");
    expect(await refused(signed(trader.trading, { target: "/v3/limits" }))).to.equal("404 ROUTE_NOT_FOUND");
  });

  it("opens one socket for one signature", async () => {
    const raw = signed(trader.trading, { target: "/v3/ws" });
    const headers = raw.headers as Record<string, string>;
    const socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, { headers });
    await new Promise((resolve) => socket.once("open", resolve));
    expect(await refused(raw)).to.equal("401 UNAUTHENTICATED");
    socket.close();
  });

  it("opens a socket for a signature that was refused before its caller was admitted", async () => {
    const locked = await newTrader(stack);
    const bearer = await stack.operatorToken();
    const setState = async (state: string): Promise<void> => {
      const { status } = await send(stack.url, {
        method: "POST",
        target: `/admin/v1/traders/${locked.account.traderId}/state`,
        headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
        body: JSON.stringify({ state, reason: "test" }),
      });
      expect(status).to.equal(200);
    };
    const raw = signed(locked.trading, { target: "/v3/ws" });
    const headers = raw.headers as Record<string, string>;
    await setState("LOCKED");
    await until(async () => (await refused(raw)) === "423 ACCOUNT_LOCKED");
    await setState("ACTIVE");
    const limits = () => send(stack.url, signed(locked.trading, { target: "/v3/limits" }));
    await until(async () => (await limits()).status === 200);
    const socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, { headers });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    socket.close();
  });

  it("passes the edge like any other request: with an id, the tokens left, a line in the log and a metric", async () => {
    const raw = signed(trader.trading, { target: "/v3/ws" });
    const socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, {
      headers: raw.headers as Record<string, string>,
    });
    const { headers } = await new Promise<IncomingMessage>((resolve) => socket.once("upgrade", resolve));
    socket.close();
    expect(headers["x-request-id"]).to.match(/^[0-9a-f-]{36}$/);
    expect(headers).to.include({ "x-ratelimit-bucket": "stream", "x-ratelimit-cost": "32" });
    expect(Number(headers["x-ratelimit-remaining"])).to.be.below(1_000_000);
    const unsigned = await send(stack.url, { target: "/v3/ws", headers: UPGRADE });
    expect(unsigned.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    expect(unsigned.headers.get("connection")).to.equal("close");
    const metrics = await (await fetch(`${stack.url}/metrics`)).text();
    for (const status of ["101", "401"])
      expect(metrics).to.match(new RegExp(`route="GET /v3/ws",status="${status}"`));
    const logged = (requestId: unknown): unknown[] =>
      lines
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
        .filter((line) => line["requestId"] === requestId)
        .map(({ route, status }) => `${String(route)} ${String(status)}`);
    await until(() => {
      expect(logged(headers["x-request-id"])).to.deep.equal(["GET /v3/ws 101"]);
      expect(logged(unsigned.headers.get("x-request-id"))).to.deep.equal(["GET /v3/ws 401"]);
    });
  });

  it("opens a socket for a signature of a page of any origin, and none for a cookie", async () => {
    const Cookie = `token=${await login(stack.url, trader.account)}`;
    expect(await refused({ target: "/v3/ws", headers: { Cookie } })).to.equal("401 SIGNATURE_REJECTED");
    for (const origin of ["https://elsewhere.example.com", "null"]) {
      const headers = upgradeHeaders(trader.trading);
      const socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, { headers, origin });
      await once(socket, "open");
      socket.terminate();
    }
  });

  it("to another protocol is not asked for: the request is served by HTTP/1.1, with its body", async () => {
    const body = JSON.stringify("x".repeat(50_000));
    const echo = signed(trader.trading, { method: "POST", target: "/v3/echo", body });
    const echoed = await send(stack.url, {
      ...echo,
      headers: { ...(echo.headers as Record<string, string>), ...H2C },
    });
    expect([echoed.status, echoed.text]).to.deep.equal([200, body]);
    const limits = signed(trader.trading, { target: "/v3/limits" });
    const read = await send(stack.url, {
      ...limits,
      headers: { ...(limits.headers as Record<string, string>), ...H2C },
    });
    expect(read.status).to.equal(200);
  });

  it("serves trading with the checks of the REST routes", async () => {
    const { eventId, outcomes, marketId } = await newMarket(stack);
    const client = await new Client(stack.url, trader.trading).open();
    const order = { outcomeId: outcomes[0], price: "0.500", qty: 1, tif: "GTC" };
    const placed = await client.ask({ place: { orders: [order, order] } });
    expect(placed.placed).to.have.length(2);
    const off = await client.ask({ place: { orders: [{ ...order, price: "0.501" }] } });
    expect(off.code).to.equal("INVALID_PRICE");
    const odd = await client.ask({ place: { orders: [{ ...order, colour: "red" }] } });
    expect(odd).to.include({
      code: "INVALID_BODY",
      message: "orders[0].colour is not a field of this route; leave it out",
    });
    const page = await client.ask({ query_markets: { league: ["NFL"], limit: 10 } });
    expect(page.markets?.items.map((market) => market.marketId)).to.deep.equal([marketId]);
    const closed = await addMarket(stack, eventId);
    await (
      await operatorCalls(stack)
    )(`POST /admin/v1/markets/${closed.marketId}/status`, { action: "close" });
    const named = async (filters: object) =>
      (await client.ask({ query_markets: { event: eventId, ...filters } })).markets?.items.map(
        (market) => market.marketId,
      );
    await until(
      () => named({ eventStatus: ["OPEN_PREGAME"] }),
      (found) => found?.length === 2,
    );
    expect(await named({ eventStatus: ["OPEN_PREGAME"] })).to.have.members([marketId, closed.marketId]);
    expect(await named({}), "without a status").to.deep.equal([marketId]);
    const ids = placed.placed?.map(({ orderId }) => orderId) ?? [];
    const canceled = await client.ask({ cancel: { orderIds: ids } });
    expect(canceled.canceled).to.deep.equal({ canceled: ids, notCanceled: [] });
    client.socket.close();
    expect(await client.closed).to.equal(1005);
  });

  it("places an order once for a client id, by REST or the stream, and cancels by market, outcome or event", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    const client = await new Client(stack.url, trader.trading).open();
    const clientId = randomUUID();
    const anew = { outcomeId: outcomes[0], price: "0.400", qty: 2, tif: "GTC" };
    const order = { ...anew, clientId };
    const first = (await client.ask({ place: { orders: [order] } })).placed;
    expect((await client.ask({ place: { orders: [order] } })).placed).to.deep.equal(first);
    const body = JSON.stringify(order);
    const again = await send(
      stack.url,
      signed(trader.trading, { method: "POST", target: "/v3/orders", body }),
    );
    expect([again.status, again.json]).to.deep.equal([200, first?.[0]]);
    const other = await client.ask({ place: { orders: [{ ...order, qty: 3 }] } });
    expect(other.code).to.equal("CLIENT_ID_REUSED");
    await client.ask({ place: { orders: [anew, { ...anew, outcomeId: outcomes[1] }, anew] } });
    const canceled = async (filter: object): Promise<number | undefined> =>
      (await client.ask({ cancel_all: filter })).canceled_all;
    expect(await canceled({ market: marketId, outcome: outcomes[1] })).to.equal(1);
    expect(await canceled({ event: eventId, market: marketId, outcome: outcomes[0] })).to.equal(3);
    client.socket.close();
  });

  it("does not compress, even when the client offers it", async () => {
    const raw = signed(trader.trading, { target: "/v3/ws" });
    const socket = new WebSocket(`${stack.url.replace("http", "ws")}/v3/ws`, {
      headers: raw.headers as Record<string, string>,
      perMessageDeflate: true,
    });
    const answer = await new Promise<IncomingMessage>((resolve) => socket.once("upgrade", resolve));
    expect(answer.headers).to.not.have.property("sec-websocket-extensions");
    socket.terminate();
  });

  it("refuses a malformed handshake", async () => {
    const raw = signed(trader.trading, { target: "/v3/ws" });
    const headers = { ...(raw.headers as Record<string, string>), ...UPGRADE, "Sec-WebSocket-Version": "7" };
    const refused = await send(stack.url, { ...raw, headers });
    expect(refused.status).to.equal(400);
    expect(refused.json).to.deep.equal({
      code: "INVALID_REQUEST",
      message: "Missing or invalid Sec-WebSocket-Version header",
    });
    expect(refused.headers.get("sec-websocket-version")).to.equal("13");
  });

  it("reads a request that arrives in one packet with the handshake", async () => {
    const raw = signed(trader.trading, { target: "/v3/ws" });
    const headers = { Host: "localhost", ...(raw.headers as Record<string, string>), ...UPGRADE };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = Buffer.from(JSON.stringify({ nonce: 1, status: {} }));
    const masked = Buffer.concat([Buffer.of(0x81, 0x80 | request.length, 0, 0, 0, 0), request]);
    const socket = connect(Number(new URL(stack.url).port), "127.0.0.1");
    const head = Buffer.from(`GET /v3/ws HTTP/1.1\r\n${lines.join("")}\r\n`);
    socket.write(Buffer.concat([head, masked]));
    let received = "";
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => reject(new Error(`closed after ${received}`)));
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
        if (received.includes('{"nonce":1,"status":')) resolve();
      });
    });
    socket.destroy();
    expect(received).to.match(/^HTTP\/1.1 101 /);
  });

  it("survives a frame that is too large", async () => {
    const large = await new Client(stack.url, trader.trading).open();
    large.socket.on("error", () => undefined);
    large.socket.send("x".repeat(70_000));
    expect(await large.closed).to.equal(1009);
    const next = await new Client(stack.url, trader.trading).open();
    expect(await next.ask({ status: {} })).to.have.property("status");
    next.socket.close();
  });

  it("to another protocol, over and over on one connection, leave nothing behind on it", async () => {
    const { hostname, port } = new URL(stack.url);
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", onWarning);
    const socket = connect(Number(port), hostname);
    const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    for (let i = 0; i < 30; i += 1) {
      socket.write(request);
      const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
      expect(answer.toString()).to.match(/^HTTP\/1\.1 200 /);
    }
    socket.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings).to.deep.equal([]);
  });

  it("ends its sockets with the key, and with the gateway", async () => {
    const other = await newTrader(stack);
    const own = await new Client(stack.url, other.trading).open();
    const target = `/v3/keys/${other.account.tradingKey.keyId}`;
    await send(stack.url, signed(other.management, { method: "DELETE", target }));
    expect(await own.closed).to.equal(1008);
    const last = await new Client(stack.url, trader.trading).open();
    const began = Date.now();
    await stack.stop();
    expect(await last.closed).to.equal(1012);
    expect(Date.now() - began).to.be.below(5_000);
  });
});

describe("the rate of the edge", function () {
  this.timeout(30_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ edge: { burst: 3, ratePerSecond: 100 } });
  });
  after(() => stack.stop());

  it("refuses upgrades as it refuses other requests: in HTML, without a look at their credentials", async () => {
    const upgrades = await until(
      () =>
        Promise.all(Array.from({ length: 8 }, () => send(stack.url, { target: "/v3/ws", headers: UPGRADE }))),
      (answers) => answers.some(({ status }) => status === 403),
    );
    const shapes = upgrades.map(({ status, headers }) => `${status} ${headers.get("content-type") ?? ""}`);
    expect([...new Set(shapes)].sort()).to.deep.equal([
      "401 application/json; charset=utf-8",
      "403 text/html; charset=utf-8",
    ]);
  });
});
