/** A bridge on a real websocket server, a client of it, and a mirror that folds the frames of the client. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { WebSocket, WebSocketServer } from "ws";
import { LongWork } from "../../../../stream/services/long-work.js";
import { type Bridge, bridge, type BridgePorts, WS_OPTIONS } from "../../../../stream/ws/bridge.js";
import type { Tail } from "../../../../stream/log/ports.js";
import { Frame } from "../../../../stream/ws/socket/frames.js";
import type { Caller } from "../../../../stream/ws/ports.js";
import { Replicas } from "../../../../stream/ws/market/replicas.js";
import type { PrivateChannel } from "../../../../stream/ws/channels.js";
import type { WalletFeed } from "../../../../stream/ws/wallet/feed.js";
import { Wallets } from "../../../../stream/ws/wallet/wallets.js";
import { upgradeHeaders, type TestKey } from "../../../support/traders.js";
import type { TestExchange } from "./exchange.js";

export type Json = Record<string, unknown>;

export interface TestServer {
  readonly bridge: Bridge;
  readonly replicas: Replicas;
  readonly wallets: Wallets;
  readonly errors: unknown[];
  /** Charges so far, as `bucket cost`. */
  readonly charges: string[];
  /** Wallets with cancel-on-disconnect armed. */
  readonly armed: readonly string[];
  connect(caller: Caller): Promise<Client>;
  close(): Promise<void>;
}

/** Returns the snapshot of a private channel. */
export function snapshotOf(feed: WalletFeed, channel: PrivateChannel): object {
  return JSON.parse(feed.snapshot(channel)) as object;
}

/** Serves the exchange on a loopback port. */
export async function serve(
  exchange: TestExchange,
  options: Partial<BridgePorts & { readonly tail: Tail }> = {},
): Promise<TestServer> {
  const errors: unknown[] = [];
  const charges: string[] = [];
  const armed: string[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const { load } = exchange;
  const { tail = exchange.tail } = options;
  const replicas = new Replicas({ tail, load, onError, warmMs: 50 });
  const wallets = new Wallets({ tail, exchange, catalog: exchange, onError, warmMs: 5_000 });
  const served = bridge({
    replicas,
    wallets,
    trading: exchange,
    disconnects: {
      arm: (wallet) => {
        armed.push(wallet);
        return Promise.resolve(() => {
          armed.splice(armed.indexOf(wallet), 1);
          return Promise.resolve();
        });
      },
    },
    catalog: exchange,
    throttle: {
      charge: (_keyId, bucket, cost) => {
        charges.push(`${bucket} ${cost}`);
        return Promise.resolve({ granted: true, remaining: 100, retryAfterS: 0 });
      },
    },
    longWork: new LongWork(),
    queries: {
      markets: () => Promise.resolve({ ok: true, page: { items: ["a market"], asOf: null } }),
      events: () => Promise.resolve({ ok: false, code: "INVALID_QUERY", message: "no such filter" }),
    },
    readJson: (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as unknown,
    onError,
    ...options,
  });
  const http = createServer();
  const sockets = new WebSocketServer({ server: http, ...WS_OPTIONS });
  const callers = new Map<string, Caller>();
  sockets.on("connection", (socket, request) => {
    const caller = callers.get(request.url?.slice(1) ?? "");
    if (caller !== undefined) served.open(socket, caller, request.socket);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const { port } = http.address() as AddressInfo;
  let connections = 0;
  return {
    bridge: served,
    replicas,
    wallets,
    errors,
    charges,
    armed,
    async connect(caller) {
      const name = String((connections += 1));
      callers.set(name, caller);
      const socket = new WebSocket(`ws://127.0.0.1:${port}/${name}`, { perMessageDeflate: false });
      const client = new Client(socket);
      await once(socket, "open");
      return client;
    },
    async close() {
      await served.close();
      wallets.close();
      await replicas.close();
      sockets.close();
      http.closeAllConnections();
      http.close();
    },
  };
}

export function trader(traderId: string, changes: Partial<Caller> = {}): Caller {
  return {
    keyId: `key-${traderId}`,
    payer: traderId,
    traderId,
    wallet: traderId,
    scope: "trading",
    address: "127.0.0.1",
    ...changes,
  };
}

/** Opens a socket at a gateway of a whole exchange with a trading key. */
export async function openStream(url: string, key: TestKey): Promise<Client> {
  const headers = upgradeHeaders(key);
  const socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws`, { headers, perMessageDeflate: false });
  const client = new Client(socket);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return client;
}

export class Client {
  readonly socket: WebSocket;
  readonly frames: Json[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #nonce = 0;
  #onFrame: (() => void)[] = [];

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer) => {
      this.frames.push(frameOf(data));
      for (const wake of this.#onFrame.splice(0)) wake();
    });
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  sendRaw(message: string | Buffer): void {
    this.socket.send(message);
  }

  /** Sends a request without waiting for its reply. Returns its nonce. */
  send(verb: string, payload: unknown): number {
    this.#nonce += 1;
    this.sendRaw(JSON.stringify({ nonce: this.#nonce, [verb]: payload }));
    return this.#nonce;
  }

  async request(verb: string, payload: unknown): Promise<Json> {
    const nonce = this.send(verb, payload);
    return this.next((frame) => frame["nonce"] === nonce);
  }

  /** Returns the first frame, received already or within the timeout, for which `wanted` is true. */
  async next(wanted: (frame: Json) => boolean, timeoutMs = 10_000): Promise<Json> {
    const until = Date.now() + timeoutMs;
    for (;;) {
      const found = this.frames.find(wanted);
      if (found !== undefined) return found;
      if (Date.now() > until)
        throw new Error(`no frame fits among ${JSON.stringify(this.frames).slice(0, 2_000)}`);
      await Promise.race([
        new Promise<void>((resolve) => this.#onFrame.push(resolve)),
        new Promise((resolve) => setTimeout(resolve, 50)),
      ]);
    }
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }
}

/** Parses a frame. Throws, which fails the running test, when no shape of the AsyncAPI document fits it. */
export function frameOf(data: Buffer): Json {
  const frame = JSON.parse(data.toString()) as Json;
  const { error } = Frame.safeParse(frame);
  if (error !== undefined) throw new Error(`no shape fits the frame: ${data.toString().slice(0, 1_000)}`);
  return frame;
}

interface MirroredMarket {
  readonly seqs: Record<string, number>;
  status: unknown;
  readonly bbo: Map<string, unknown>;
  /** Resting orders by id. The map keeps the queue order within a price. */
  readonly orders: Map<string, { outcomeId: string; price: string; qty: number }>;
}

/** Folds snapshots and deltas of one currency as a client does. Throws on a seq that is not the next one. */
export class Mirror {
  readonly markets = new Map<string, MirroredMarket>();
  readonly orders = new Map<string, Json>();
  readonly positions = new Map<string, Json>();
  readonly seqs: Record<string, number> = {};
  readonly #read = new WeakMap<Client, number>();

  /** Folds those frames of a client that were not folded before. */
  catchUp(client: Client): void {
    for (const frame of client.frames.slice(this.#read.get(client) ?? 0)) this.take(frame);
    this.#read.set(client, client.frames.length);
  }

  take(frame: Json): void {
    if (frame["delta"] !== undefined) this.#takeDelta(frame);
    else if (frame["subscribed"] !== undefined || frame["snapshot"] !== undefined) this.#takeSnapshot(frame);
  }

  /** Returns the orders of each outcome as `orderId:price:qty`: best first, then queue order. */
  book(marketId: string, outcomeIds: readonly string[]): string[][] {
    const { orders } = this.#market(marketId);
    return outcomeIds.map((outcomeId) =>
      [...orders]
        .filter(([, order]) => order.outcomeId === outcomeId)
        .map(([orderId, { price, qty }]) => ({ price, text: `${orderId}:${price}:${qty}` }))
        .sort((a, b) => (a.price < b.price ? 1 : a.price > b.price ? -1 : 0))
        .map(({ text }) => text),
    );
  }

  #takeSnapshot(frame: Json): void {
    for (const [marketId, snapshot] of Object.entries((frame["snapshot"] ?? {}) as Record<string, Json>)) {
      const market = this.#market(marketId);
      const { lifecycle, bbo, book, trades } = snapshot as Record<string, Json | undefined>;
      if (lifecycle !== undefined) {
        market.seqs["lifecycle"] = lifecycle["seq"] as number;
        market.status = lifecycle["status"];
      }
      if (trades !== undefined) market.seqs["trades"] = trades["seq"] as number;
      if (bbo !== undefined) {
        market.seqs["bbo"] = bbo["seq"] as number;
        for (const [outcomeId, level] of Object.entries(bbo["bbo"] as Json)) market.bbo.set(outcomeId, level);
      }
      if (book !== undefined) {
        market.seqs["book"] = book["seq"] as number;
        market.orders.clear();
        for (const [outcomeId, orders] of Object.entries(book["orders"] as Record<string, Json[]>)) {
          for (const order of orders) {
            const { orderId, price, qty } = order as { orderId: string; price: string; qty: number };
            market.orders.set(orderId, { outcomeId, price, qty });
          }
        }
      }
    }
    const { orders, positions } = frame as Record<string, Json | undefined>;
    if (orders !== undefined) {
      this.seqs["orders"] = orders["seq"] as number;
      this.orders.clear();
      for (const order of orders["open"] as Json[]) this.orders.set(order["orderId"] as string, order);
    }
    if (positions !== undefined) {
      this.seqs["positions"] = positions["seq"] as number;
      this.positions.clear();
      for (const position of positions["positions"] as Json[]) this.positions.set(key(position), position);
    }
  }

  #takeDelta(frame: Json): void {
    for (const [marketId, channels] of Object.entries(frame["delta"] as Record<string, Json>)) {
      const market = this.#market(marketId);
      for (const [channel, batch] of Object.entries(channels)) {
        if (channel === "eventId") continue;
        const { seq, deltas } = batch as { seq: number; deltas: Json[] };
        expect(seq, `${channel} of ${marketId}`).to.equal((market.seqs[channel] ?? 0) + 1);
        expect(deltas).to.not.be.empty;
        market.seqs[channel] = seq;
        for (const delta of deltas) takePublic(market, channel, delta);
      }
    }
    for (const channel of ["orders", "positions"]) {
      const batch = frame[channel] as { seq: number; deltas: Json[] } | undefined;
      if (batch === undefined) continue;
      expect(batch.seq, channel).to.equal((this.seqs[channel] ?? 0) + 1);
      this.seqs[channel] = batch.seq;
      for (const delta of batch.deltas) this.#takePrivate(channel, delta);
    }
  }

  #takePrivate(channel: string, delta: Json): void {
    if (channel === "positions") {
      if (delta["qty"] === 0) this.positions.delete(key(delta));
      else this.positions.set(key(delta), delta);
      return;
    }
    const orderId = delta["orderId"] as string;
    const { kind, ...order } = delta;
    const known = this.orders.get(orderId);
    if (kind === "open") this.orders.set(orderId, order);
    else if (kind !== "fill" || delta["remaining"] === 0) this.orders.delete(orderId);
    else if (known !== undefined) this.orders.set(orderId, { ...known, qty: delta["remaining"] });
  }

  #market(marketId: string): MirroredMarket {
    const known = this.markets.get(marketId);
    if (known !== undefined) return known;
    const market: MirroredMarket = { seqs: {}, status: undefined, bbo: new Map(), orders: new Map() };
    this.markets.set(marketId, market);
    return market;
  }
}

function takePublic(market: MirroredMarket, channel: string, delta: Json): void {
  if (channel === "lifecycle") market.status = delta["status"];
  if (channel === "bbo") market.bbo.set(delta["outcomeId"] as string, delta["bbo"]);
  if (channel !== "book") return;
  const orderId = delta["orderId"] as string;
  const known = market.orders.get(orderId);
  if (delta["kind"] === "add") {
    const { outcomeId, price, qty } = delta as { outcomeId: string; price: string; qty: number };
    market.orders.set(orderId, { outcomeId, price, qty });
  } else if (delta["kind"] === "update") {
    if (known !== undefined) known.qty = delta["remaining"] as number;
  } else market.orders.delete(orderId);
}

function key(position: Json): string {
  return [position["marketId"], position["outcomeId"], position["currency"]].join(" ");
}

/** Returns the delta frames that a client received. */
export function deltasOf(client: Client): Json[] {
  return client.frames.filter((frame) => frame["delta"] !== undefined);
}
