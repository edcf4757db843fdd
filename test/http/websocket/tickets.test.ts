import { expect } from "chai";
import { WebSocket } from "ws";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer } from "../../../http/client/client.js";
import { makeKey } from "../keys.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { send, signed, type Answer, type Raw } from "../requests.js";

describe("tickets for the stream", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let bearer: string;
  const sockets: WebSocket[] = [];

  before(async () => {
    stack = await startStack({ gateways: 2 });
    trader = await newTrader(stack);
    bearer = await login(stack.url, trader.account);
  });

  after(async () => {
    for (const socket of sockets) socket.terminate();
    await stack.stop();
  });

  const ticketRequest: Raw = { method: "POST", target: "/v3/ws/tickets" };
  const bySession = (body: object | undefined, token = bearer): Promise<Answer> => {
    const Authorization = `Bearer ${token}`;
    if (body === undefined) return send(stack.url, { ...ticketRequest, headers: { Authorization } });
    const headers = { Authorization, "Content-Type": "application/json" };
    return send(stack.url, { ...ticketRequest, headers, body: JSON.stringify(body) });
  };
  const statusAndCode = ({ status, json }: Answer): string => `${status} ${String(json["code"])}`;

  /** Opens a socket. Returns 101, or the status and the code of the refusal. */
  function openSocket(ticket: unknown, options: { url?: string; origin?: string } = {}): Promise<string> {
    const { url = stack.url, ...rest } = options;
    const socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws?ticket=${String(ticket)}`, rest);
    sockets.push(socket);
    return new Promise((resolve, reject) => {
      socket.on("open", () => resolve("101"));
      socket.on("unexpected-response", (_, answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () => {
          const { code } = JSON.parse(Buffer.concat(chunks).toString()) as { code: string };
          resolve(`${answer.statusCode ?? 0} ${code}`);
        });
      });
      socket.on("error", reject);
    });
  }

  async function ask(socket: WebSocket | undefined, request: object): Promise<Record<string, unknown>> {
    if (socket === undefined) throw new Error("there is no socket");
    socket.send(JSON.stringify(request));
    return new Promise((resolve) => {
      socket.once("message", (data: Buffer) =>
        resolve(JSON.parse(data.toString()) as Record<string, unknown>),
      );
    });
  }

  it("are issued to trading keys for themselves, with a body or without", async () => {
    const began = Date.now();
    const { status, json, headers } = await send(stack.url, signed(trader.trading, ticketRequest));
    expect(status).to.equal(200);
    expect(json).to.have.keys("ticket", "expiresAt");
    expect(json["expiresAt"]).to.be.closeTo(began + 30_000, 5_000);
    expect(headers.get("cache-control")).to.equal("no-store");
    expect(await openSocket(json["ticket"])).to.equal("101");
    const { keyId } = trader.trading.key;
    const empty = await send(stack.url, signed(trader.trading, { ...ticketRequest, body: "{}" }));
    const named = await send(
      stack.url,
      signed(trader.trading, { ...ticketRequest, body: JSON.stringify({ keyId }) }),
    );
    for (const { json: made } of [empty, named]) expect(await openSocket(made["ticket"])).to.equal("101");
    const other = JSON.stringify({ keyId: trader.management.key.keyId });
    expect(
      statusAndCode(await send(stack.url, signed(trader.trading, { ...ticketRequest, body: other }))),
    ).to.equal("400 INVALID_BODY");
    expect(statusAndCode(await send(stack.url, signed(trader.management, ticketRequest)))).to.equal(
      "403 SIGNATURE_REJECTED",
    );
  });

  it("are issued to keys that only read, and open sockets that only read", async () => {
    const reading = makeKey();
    const { publicKey, algorithm } = reading;
    const manager = new RestClient(stack.connect(), new Signer(trader.management.key, stack.brand));
    const { keyId } = await manager.issueKey(trader.trading.key.keyId, {
      name: "page",
      publicKey,
      algorithm,
      scope: "trading::read",
    });
    const key = { key: { ...reading, keyId }, brand: stack.brand };
    const { status, json } = await send(stack.url, signed(key, ticketRequest));
    expect(status).to.equal(200);
    expect(await openSocket(json["ticket"])).to.equal("101");
    expect(await ask(sockets.at(-1), { nonce: 1, subscribe: { private: ["orders"] } })).to.have.property(
      "subscribed",
    );
    expect(await ask(sockets.at(-1), { nonce: 2, cancel_all: {} })).to.include({
      code: "SIGNATURE_REJECTED",
    });
  });

  it("open one socket, across gateways", async () => {
    const { json } = await bySession(undefined);
    const tries = [0, 1, 0, 1, 0, 1].map((gateway) =>
      openSocket(json["ticket"], { url: stack.urls[gateway] ?? "" }),
    );
    expect((await Promise.all(tries)).sort()).to.deep.equal([
      "101",
      ...Array<string>(5).fill("401 UNAUTHENTICATED"),
    ]);
    for (const wrong of ["", "x", "A".repeat(43)])
      expect(await openSocket(wrong)).to.equal("401 UNAUTHENTICATED");
    expect(await openSocket(`${"A".repeat(43)}&x=1`)).to.equal("400 INVALID_QUERY");
  });

  it("let a web session read the subaccount of the key that it names, and not trade", async () => {
    const { outcomes } = await newMarket(stack);
    const { keyId } = trader.trading.key;
    const order = { outcomeId: outcomes[0], price: "0.500", qty: 1, tif: "GTC" };
    const body = JSON.stringify(order);
    const placed = await send(
      stack.url,
      signed(trader.trading, { method: "POST", target: "/v3/orders", body }),
    );
    expect(await openSocket((await bySession({ keyId })).json["ticket"])).to.equal("101");
    const requests = [
      { place: { orders: [order] } },
      { cancel: { orderIds: [placed.json["orderId"]] } },
      { cancel_all: {} },
      { safety: { cancelOnDisconnect: true } },
    ];
    for (const [index, request] of requests.entries())
      expect(await ask(sockets.at(-1), { nonce: index + 1, ...request })).to.include({
        code: "SIGNATURE_REJECTED",
      });
    const { orders } = (await ask(sockets.at(-1), { nonce: 9, snapshot: { private: ["orders"] } })) as {
      orders?: { open: { orderId: string }[] };
    };
    expect(orders?.open.map(({ orderId }) => orderId)).to.deep.equal([placed.json["orderId"]]);
    const reading = makeKey();
    const manager = new RestClient(stack.connect(), new Signer(trader.management.key, stack.brand));
    const { keyId: readId } = await manager.issueKey(keyId, {
      name: "reader",
      publicKey: reading.publicKey,
      algorithm: "Ed25519",
      scope: "trading::read",
    });
    expect(await openSocket((await bySession({ keyId: readId })).json["ticket"])).to.equal("101");
    expect(await ask(sockets.at(-1), { nonce: 1, place: { orders: [order] } })).to.include({
      code: "SIGNATURE_REJECTED",
    });
  });

  it("need a key of the same trader that reaches a subaccount", async () => {
    const other = await newTrader(stack);
    expect(statusAndCode(await bySession({ keyId: other.trading.key.keyId }))).to.equal("404 KEY_NOT_FOUND");
    expect(statusAndCode(await bySession({ keyId: trader.management.key.keyId }))).to.equal(
      "400 NOT_A_SUBACCOUNT_KEY",
    );
    expect(statusAndCode(await bySession({ keyId: "me" }))).to.equal("400 INVALID_BODY");
    expect(statusAndCode(await bySession({ key: "me" }))).to.equal("400 INVALID_BODY");
    const manager = new RestClient(stack.connect(), new Signer(other.management.key, stack.brand));
    await manager.openSubaccount("second", makeKey().publicKey, "Ed25519");
    const token = await login(stack.url, other.account);
    expect(statusAndCode(await bySession({}, token))).to.equal("400 INVALID_BODY");
    expect((await bySession({ keyId: other.trading.key.keyId }, token)).status).to.equal(200);
    expect(statusAndCode(await bySession({}, await stack.operatorToken()))).to.equal("403 FORBIDDEN");
  });

  it("become invalid with the key and with the session", async () => {
    const other = await newTrader(stack);
    const token = await login(stack.url, other.account);
    const [byKey, byPage] = [
      await send(stack.url, signed(other.trading, ticketRequest)),
      await bySession({}, token),
    ];
    await send(stack.url, {
      method: "DELETE",
      target: "/v3/session",
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(await openSocket(byPage.json["ticket"])).to.equal("401 UNAUTHENTICATED");
    const target = `/v3/keys/${other.trading.key.keyId}`;
    await send(stack.url, signed(other.management, { method: "DELETE", target }));
    expect(await openSocket(byKey.json["ticket"])).to.equal("401 UNAUTHENTICATED");
  });

  it("open sockets from pages of any origin", async () => {
    for (const origin of [stack.url, "https://elsewhere.example.com", "null"]) {
      const { json } = await bySession({});
      expect(await openSocket(json["ticket"], { origin }), origin).to.equal("101");
    }
  });
});
