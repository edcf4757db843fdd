import { expect } from "chai";
import type { AddressInfo } from "node:net";
import { crc32 } from "node:zlib";
import { WebSocketServer, type WebSocket } from "ws";
import { Connection, generateKey, Signer } from "../../../http/client/client.js";
import { StreamError } from "../../../http/client/stream/socket.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import type { OpenOrder } from "../../../http/client/wire/orders.js";
import type { OrdersDelta } from "../../../http/client/wire/stream.js";
import { until } from "../../support/until.js";
import { stopwatch } from "../../support/stopwatch.js";

const KEY = { keyId: "00000000-0000-4000-8000-000000000001", ...(await generateKey()) };
const MARKET = "market-1";
const [A, B] = ["outcome-a", "outcome-b"];

interface Request {
  readonly nonce: number;
  readonly [verb: string]: unknown;
}

type Answer = (request: Request, socket: WebSocket) => void;

function add(orderId: string, outcomeId: string, price: string, qty: number): object {
  return { kind: "add", orderId, outcomeId, price, qty };
}

function bookDelta(seq: number, ...deltas: object[]): object {
  return { ts: 1, delta: { [MARKET]: { eventId: "e", book: { seq, deltas } } } };
}

function bookSnapshot(nonce: number, seq: number, orders: object): object {
  return { ts: 1, nonce, subscribed: {}, snapshot: { [MARKET]: { eventId: "e", book: { seq, orders } } } };
}

describe("client: the stream", () => {
  let server: WebSocketServer;
  let connection: Connection;
  let client: StreamClient;
  let requests: Request[];
  let sockets: WebSocket[];
  let answer: Answer;
  let orders: OrdersDelta[];
  let snapshots: (readonly OpenOrder[])[];
  let gaps: string[];
  let reconnects: number;
  let refusedUpgrades: number;

  function send(frame: object): void {
    sockets.at(-1)?.send(JSON.stringify(frame));
  }

  function refuseUpgrades(status: number, body: string): void {
    server.options.verifyClient = (
      _: unknown,
      decide: (accept: boolean, code: number, message: string) => void,
    ) => {
      refusedUpgrades += 1;
      decide(false, status, body);
    };
  }

  beforeEach(async () => {
    refusedUpgrades = 0;
    [requests, sockets, orders, snapshots, gaps, reconnects] = [[], [], [], [], [], 0];
    server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    server.on("connection", (socket) => {
      sockets.push(socket);
      socket.on("message", (data: Buffer) => {
        const request = JSON.parse(data.toString()) as Request;
        requests.push(request);
        answer(request, socket);
      });
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    connection = new Connection(`http://127.0.0.1:${port}`);
    client = new StreamClient(connection, new Signer(KEY), {
      orders: (deltas) => orders.push(...deltas),
      openOrders: (now) => snapshots.push(now),
      gap: (subject) => gaps.push(subject),
      reconnected: () => (reconnects += 1),
    });
    answer = ({ nonce }) =>
      send(bookSnapshot(nonce, 4, { [A]: [{ orderId: "1", price: "0.400", qty: 10 }], [B]: [] }));
  });

  afterEach(async () => {
    client.close();
    for (const socket of sockets) socket.terminate();
    await new Promise((resolve) => server.close(resolve));
  });

  async function watchBook(): Promise<void> {
    await client.connect();
    await client.subscribe({ markets: { [MARKET]: "book" } });
  }

  it("folds a book from its snapshot and the deltas after it", async () => {
    await watchBook();
    send(bookDelta(5, add("2", A, "0.400", 5), add("3", B, "0.550", 7)));
    send(
      bookDelta(
        6,
        { kind: "update", orderId: "1", remaining: 4 },
        { kind: "remove", orderId: "3", reason: "fill" },
      ),
    );
    await until(() => client.book(MARKET)?.seq === 6);
    expect([...(client.book(MARKET)?.levels(A) ?? [])]).to.deep.equal([["0.400", 9]]);
    expect(client.book(MARKET)?.best(B)).to.equal(undefined);
    expect(client.book(MARKET)?.best(A)).to.deep.equal({ price: "0.400", qty: 9 });
  });

  it("counts its nonces from 1", async () => {
    await watchBook();
    await client.subscribe({ markets: { [MARKET]: "book" } });
    expect(requests.map(({ nonce }) => nonce)).to.deep.equal([1, 2]);
  });

  it("requests a snapshot when a seq is missing, and applies the batches after it", async () => {
    await watchBook();
    answer = ({ nonce }) => {
      // A batch before the snapshot is contained in it, and the next batch may arrive in the same packet.
      send(bookDelta(7, add("7", A, "0.200", 2)));
      send(bookSnapshot(nonce, 7, { [A]: [{ orderId: "7", price: "0.200", qty: 2 }], [B]: [] }));
      send(bookDelta(8, add("8", A, "0.300", 1)));
    };
    send(bookDelta(6, add("6", A, "0.100", 1)));
    await until(() => client.book(MARKET)?.seq === 8);
    expect(gaps).to.deep.equal([MARKET]);
    expect(requests.at(-1)).to.deep.equal({ nonce: 2, snapshot: { markets: { [MARKET]: ["book"] } } });
    expect([...(client.book(MARKET)?.levels(A) ?? [])].sort()).to.deep.equal([
      ["0.200", 2],
      ["0.300", 1],
    ]);
  });

  it("detects by the heartbeat that the last delta was lost", async () => {
    await watchBook();
    const checksum = crc32("1:0.400:10");
    send({ heartbeat: { ts: 1, markets: { [MARKET]: { lifecycle: 1, book: 4, checksum } } } });
    send({ heartbeat: { ts: 1, markets: { [MARKET]: { lifecycle: 1, book: 5, checksum: 7 } } } });
    await until(() => requests.length === 2);
    expect(gaps).to.deep.equal([MARKET]);
  });

  it("keeps books in the order of their checksum, and requests a snapshot when a checksum differs", async () => {
    await watchBook();
    send(bookDelta(5, add("2", B, "0.300", 5), add("3", A, "0.400", 1), add("4", B, "0.550", 7)));
    send(bookDelta(6, { kind: "update", orderId: "1", remaining: 4 }, add("5", A, "0.450", 2)));
    await until(() => client.book(MARKET)?.seq === 6);
    const checksum = crc32("5:0.450:2|1:0.400:4|3:0.400:1|4:0.550:7|2:0.300:5");
    expect(client.book(MARKET)?.checksum()).to.equal(checksum);
    const sendHeartbeat = (sum: number): void =>
      send({ heartbeat: { ts: 1, markets: { [MARKET]: { book: 6, checksum: sum } } } });
    sendHeartbeat(checksum);
    sendHeartbeat(checksum + 1);
    await until(() => client.book(MARKET)?.seq === 4);
    expect(gaps).to.deep.equal([MARKET]);
    expect(requests).to.have.length(2);
  });

  it("reconnects by itself and resumes from its last seqs, or takes a snapshot", async () => {
    await watchBook();
    answer = ({ nonce }) =>
      send(bookSnapshot(nonce, 20, { [A]: [], [B]: [{ orderId: "9", price: "0.500", qty: 3 }] }));
    sockets.at(-1)?.terminate();
    await until(() => client.book(MARKET)?.seq === 20);
    expect(requests.at(-1)).to.deep.equal({
      nonce: 1,
      subscribe: { markets: { [MARKET]: "book" }, since: { [`market:${MARKET}`]: { book: 4 } } },
    });
    expect(client.book(MARKET)?.levels(A).size).to.equal(0);
    expect(client.book(MARKET)?.best(B)?.qty).to.equal(3);
  });

  it("drops and reports a market that is gone on reconnect, and resumes all others", async () => {
    await client.connect();
    await client.subscribe({
      markets: { [MARKET]: "book", gone: "book" },
      events: { e: "bbo", past: "bbo" },
    });
    answer = ({ nonce, subscribe }) => {
      const { markets = {}, events = {} } = subscribe as Record<string, object>;
      if ("gone" in markets) send({ nonce, code: "MARKET_NOT_FOUND", message: "there is no market gone" });
      else if ("past" in events) send({ nonce, code: "EVENT_NOT_FOUND", message: "there is no event past" });
      else if ("e" in events) send(bookSnapshot(nonce, 20, { [A]: [], [B]: [] }));
      else send({ ts: 1, nonce, subscribed: {}, snapshot: {} });
    };
    const reconnect = async (): Promise<void> => {
      requests = [];
      sockets.at(-1)?.terminate();
      await until(() => reconnects > 0);
      reconnects = 0;
    };
    await reconnect();
    expect(client.book(MARKET)?.seq).to.equal(20);
    expect(gaps).to.deep.equal([
      "MARKET_NOT_FOUND: there is no market gone",
      "EVENT_NOT_FOUND: there is no event past",
    ]);
    await reconnect();
    expect(requests).to.have.length(1);
    expect(requests[0]?.["subscribe"]).to.deep.include({
      markets: { [MARKET]: "book" },
      events: { e: "bbo" },
    });
  });

  it("keeps the pieces that resume when another is refused on reconnect", async () => {
    await client.connect();
    await client.subscribe({ markets: { [MARKET]: "book" }, events: { e: "bbo", f: "bbo" } });
    answer = ({ nonce, subscribe }) => {
      const { events = {} } = subscribe as Record<string, object>;
      if ("e" in events) send({ nonce, code: "SUBSCRIPTION_LIMIT_EXCEEDED", message: "too many" });
      else send({ ...bookSnapshot(nonce, 20, {}), snapshot: { other: { eventId: "f" } } });
    };
    sockets.at(-1)?.terminate();
    await until(() => gaps.length === 1);
    expect(gaps).to.deep.equal(["SUBSCRIPTION_LIMIT_EXCEEDED: too many"]);
    expect(client.market("other")).to.have.property("eventId", "f");
    expect(client.market(MARKET)).to.equal(undefined);
  });

  it("resumes without a snapshot when the exchange still has the missed batches", async () => {
    await watchBook();
    answer = ({ nonce }) => {
      send({ ts: 1, nonce, subscribed: {}, snapshot: {}, resumed: { [`market:${MARKET}`]: { book: true } } });
      send(bookDelta(5, add("2", A, "0.400", 5)));
      send(bookDelta(6, add("3", B, "0.550", 7)));
    };
    sockets.at(-1)?.terminate();
    await until(() => client.book(MARKET)?.seq === 6);
    expect([...(client.book(MARKET)?.levels(A) ?? [])]).to.deep.equal([["0.400", 15]]);
    expect(gaps).to.deep.equal([]);
  });

  it("adds a market that opens in a watched event from its first delta", async () => {
    answer = ({ nonce }) => send({ ts: 1, nonce, subscribed: {}, snapshot: {} });
    await client.connect();
    await client.subscribe({ events: { e: ["book", "bbo"] } });
    const open = { seq: 1, deltas: [{ kind: "OPEN", status: "OPEN" }] };
    send({ ts: 1, delta: { other: { eventId: "e", lifecycle: open } } });
    send({ ts: 1, delta: { other: { eventId: "e", book: { seq: 1, deltas: [add("1", A, "0.400", 5)] } } } });
    await until(() => client.book("other")?.size === 1);
    expect(client.market("other")).to.deep.include({ status: "OPEN", eventId: "e" });
    expect(client.market("other")?.seqs).to.deep.equal({ lifecycle: 1, bbo: 0, book: 1 });
    send({
      ts: 1,
      delta: { other: { eventId: "e", bbo: { seq: 2, deltas: [{ outcomeId: A, bbo: null }] } } },
    });
    await until(() => requests.length === 2);
    expect(requests.at(-1)).to.deep.equal({
      nonce: 2,
      snapshot: { markets: { other: ["lifecycle", "bbo", "book"] } },
    });
  });

  it("folds own orders and positions", async () => {
    const resting = { orderId: "o", marketId: MARKET, outcomeId: A, price: "0.400", qty: 3, tif: "GTC" };
    answer = ({ nonce }) =>
      send({
        ts: 1,
        nonce,
        snapshot: {},
        orders: { seq: 1, open: [resting] },
        positions: { seq: 0, positions: [] },
      });
    await client.connect();
    await client.subscribe({ private: ["orders", "positions"] });
    const fill = {
      kind: "fill",
      fillId: "f",
      marketId: MARKET,
      orderId: "o",
      outcomeId: A,
      price: "0.400",
      qty: 1,
      remaining: 2,
    };
    send({
      ts: 1,
      delta: {},
      orders: { seq: 2, deltas: [fill, { kind: "open", ...resting, orderId: "p" }] },
    });
    const held = { marketId: MARKET, outcomeId: A, qty: 1, cost: "0.00400" };
    const coin = { ...held, qty: 5, cost: "0.02000", currency: "COIN" };
    send({ ts: 1, delta: {}, positions: { seq: 1, deltas: [held, coin] } });
    await until(() => client.wallet.positions.size === 2);
    expect([...client.wallet.orders.values()]).to.deep.equal([
      { ...resting, qty: 2 },
      { ...resting, orderId: "p" },
    ]);
    expect([...client.wallet.positions.values()]).to.deep.equal([held, coin]);
    answer = ({ nonce }) => send({ ts: 1, nonce, snapshot: {}, resumed: { orders: true, positions: true } });
    sockets.at(-1)?.terminate();
    await until(() => requests.length === 2);
    expect(requests[1]?.["subscribe"]).to.deep.equal({
      private: ["orders", "positions"],
      since: { orders: 2, positions: 1 },
    });
    send({
      ts: 1,
      delta: {},
      orders: { seq: 3, deltas: [{ kind: "cancel", orderId: "o", marketId: MARKET }] },
    });
    await until(() => client.wallet.orders.size === 1);
  });

  it("splits a large selection into requests that fit the size limit", async () => {
    answer = ({ nonce }) => send({ ts: 1, nonce, snapshot: {} });
    await client.connect();
    const markets = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [`${MARKET} ${i}`, "book" as const]),
    );
    await client.subscribe({ markets, events: { e: "bbo", f: "bbo" }, private: ["orders"] });
    const selections = requests.map(({ subscribe }) => subscribe as Record<string, object>);
    expect(selections.map((one) => Object.keys(one["markets"] ?? {}).length)).to.deep.equal([150, 150, 100]);
    expect(selections.map((one) => Object.keys(one["events"] ?? {}))).to.deep.equal([["e"], ["f"], []]);
    expect(selections.map((one) => one["private"])).to.deep.equal([["orders"], undefined, undefined]);
  });

  it("arms cancel on disconnect again on every connection", async () => {
    answer = ({ nonce }) => send({ nonce, safety: { cancelOnDisconnect: true } });
    await client.connect();
    await client.cancelOnDisconnect(true);
    sockets.at(-1)?.terminate();
    await until(() => requests.length === 2);
    expect(requests).to.deep.equal([1, 1].map((nonce) => ({ nonce, safety: { cancelOnDisconnect: true } })));
  });

  it("passes private deltas on in order, drops repeats, and reports the open orders after a gap", async () => {
    const resting = { orderId: "o", marketId: MARKET, outcomeId: A, price: "0.400", qty: 3, tif: "GTC" };
    answer = ({ nonce }) => send({ ts: 1, nonce, snapshot: {}, orders: { seq: 1, open: [resting] } });
    await client.connect();
    await client.subscribe({ private: ["orders"] });
    const fill = {
      kind: "fill",
      fillId: "f",
      marketId: MARKET,
      orderId: "o",
      outcomeId: A,
      price: "0.400",
      qty: 1,
      remaining: 2,
    };
    send({ ts: 1, delta: {}, orders: { seq: 2, deltas: [fill] } });
    send({ ts: 1, delta: {}, orders: { seq: 2, deltas: [fill] } });
    await until(() => orders.length > 0);
    answer = ({ nonce }) => send({ ts: 1, nonce, snapshot: {}, orders: { seq: 9, open: [] } });
    send({
      ts: 1,
      delta: {},
      orders: { seq: 4, deltas: [{ kind: "cancel", orderId: "o", marketId: MARKET }] },
    });
    await until(() => snapshots.length === 2);
    expect(orders.map(({ kind }) => kind)).to.deep.equal(["fill"]);
    expect(snapshots.map((one) => one.length)).to.deep.equal([1, 0]);
  });

  it("places again after a lost connection when the orders have ids, and throws UnknownOutcome otherwise", async () => {
    await client.connect();
    const order = { outcomeId: A, price: "0.400", qty: 1, tif: "GTC" } as const;
    answer = (request, socket) => {
      if (requests.length === 1) socket.terminate();
      else send({ nonce: request.nonce, placed: [{ orderId: "o", clientId: "c" }] });
    };
    const placed = await client.place([{ ...order, clientId: "c" }]);
    expect(placed.accepted.map(({ orderId }) => orderId)).to.deep.equal(["o"]);
    expect(requests.map(({ place }) => place)).to.have.length(2);
    answer = (_, socket) => socket.terminate();
    const problem = await client.place([order]).catch((error: unknown) => error);
    expect(problem).to.have.property("name", "UnknownOutcome");
  });

  it("places again after UNAVAILABLE only when the orders have ids, because the first may be placed", async () => {
    await client.connect();
    const order = { outcomeId: A, price: "0.400", qty: 1, tif: "GTC" } as const;
    answer = ({ nonce }) => {
      if (nonce % 2 === 1) send({ nonce, code: "UNAVAILABLE", message: "no answer in time" });
      else send({ nonce, placed: [{ orderId: "o" }] });
    };
    const placed = await client.place([{ ...order, clientId: "c" }]);
    expect(placed.accepted.map(({ orderId }) => orderId)).to.deep.equal(["o"]);
    const problem = await client.place([order]).catch((error: unknown) => error);
    expect(problem).to.have.property("name", "UnknownOutcome");
    expect(requests).to.have.length(3);
  });

  it("fails open and later requests at once when it is closed", async () => {
    answer = () => undefined;
    await client.connect();
    const open = client.cancel(["o"]).catch((error: unknown) => error);
    await until(() => requests.length === 1);
    const elapsedMs = stopwatch();
    client.close();
    expect(await open).to.have.property("name", "ConnectionLost");
    expect(await client.cancelAll().catch((error: unknown) => error)).to.have.property(
      "name",
      "ConnectionLost",
    );
    expect(elapsedMs()).to.be.below(1_000);
  });

  it("ends with the refusal when a later connection is refused for good", async () => {
    await client.connect();
    refuseUpgrades(401, JSON.stringify({ code: "SIGNATURE_REJECTED", message: "unknown key" }));
    const refusals: StreamError[] = [];
    const refused = new StreamClient(connection, new Signer(KEY), {
      refused: (error) => refusals.push(error),
    });
    expect(await refused.connect().catch((error: unknown) => error)).to.be.instanceOf(StreamError);
    sockets.at(-1)?.terminate();
    const problem = await client.cancelAll().catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(StreamError).and.include({ code: "SIGNATURE_REJECTED" });
    expect(refusals.map(({ code }) => code)).to.deep.equal(["SIGNATURE_REJECTED"]);
  });

  for (const [status, body] of [
    [403, "<h1>Forbidden</h1>"],
    [401, '{"code":"SIGNATURE_REJECTED","message":"timestamp too old: Svc-Timestamp is off"}'],
    [409, '{"code":"REQUEST_IN_PROGRESS","message":"wait"}'],
  ] as const) {
    it(`tries again after an upgrade that is answered with ${status} ${body.slice(0, 30)}`, async () => {
      refuseUpgrades(status, body);
      const connecting = client.connect();
      await until(() => refusedUpgrades === 2);
      delete server.options.verifyClient;
      await connecting;
    });
  }

  it("waits longer after each connection that ends before a reply", async () => {
    server.on("connection", (socket) => socket.terminate());
    void client.connect();
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(sockets.length).to.be.within(2, 5);
  });

  it("returns refused orders of a batch, and throws other refusals with their code", async () => {
    await client.connect();
    const order = { outcomeId: A, price: "0.400", qty: 1, tif: "GTC", clientId: "c" } as const;
    const rejected = [{ index: 0, outcomeId: A, reason: "no" }];
    answer = ({ nonce }) =>
      send({ nonce, code: "BATCH_PARTIALLY_REJECTED", message: "", accepted: [], rejected });
    expect(await client.place([order])).to.deep.equal({ accepted: [], rejected });
    answer = ({ nonce }) => send({ nonce, code: "EMPTY_SELECTION", message: "name something" });
    const problem = await client.subscribe({}).catch((error: unknown) => error);
    expect(problem).to.be.instanceOf(StreamError).and.include({ code: "EMPTY_SELECTION" });
  });
});
