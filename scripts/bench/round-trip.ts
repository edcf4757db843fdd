/**
 * From a placement on one socket to the fill on the maker's private stream, in a whole exchange of processes, at a
 * steady rate of single orders, which are sent whether answers come or not. Beside it, in the same run, a message
 * published through the same Redis, and how late the bench itself was with its orders: timers have whole milliseconds.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Redis } from "ioredis";
import { WebSocket } from "ws";
import { z } from "zod";
import { Signer, type SigningKey } from "../../http/client/signer.js";
import { OrdersDelta } from "../../http/client/wire.js";
import { readRecord } from "../embedded/record.js";
import type { Exchange } from "../replay/exchange.js";
import { gatewayCpuSeconds } from "./gateway-cpu.js";
import { BenchExchange, startBenchExchange } from "./bench-exchange.js";
import { percentile, type Row } from "./table.js";

/** Orders a second; the goal is about the last of them. */
const RATES = [100, 1_000];
const WARM_UP_S = 10;
const SECONDS = 10;
const MARKETS = 4;
const TRADERS = 5;
/** A socket may ask fifty times a second. */
const SOCKETS = 25;
/** Each order has a quantity of its own, by which its fill is known; they come again after so many. */
const QUANTITIES = 20_000;
const MAKER_QTY = 2_000_000_000;
const PING_MS = 10;
const DRAIN_MS = 2_000;

const Fills = z.object({ orders: z.object({ deltas: z.array(OrdersDelta) }) });
const Reply = z.object({ nonce: z.int(), code: z.string().optional() });

/** A plain socket of a key: no client library between the clock and the wire. */
async function open(url: string, key: SigningKey): Promise<WebSocket> {
  const headers = new Signer(key).headers("GET", "/v3/ws", "", new Uint8Array(0));
  const socket = new WebSocket(`${url.replace("http", "ws")}/v3/ws`, { headers, perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}

/** Sends one request and waits for its reply. */
async function ask(socket: WebSocket, nonce: number, request: object): Promise<void> {
  const replied = new Promise<z.infer<typeof Reply>>((resolve) => {
    const hear = (data: Buffer): void => {
      const { success, data: reply } = Reply.safeParse(JSON.parse(data.toString()));
      if (!success || reply.nonce !== nonce) return;
      socket.off("message", hear);
      resolve(reply);
    };
    socket.on("message", hear);
  });
  socket.send(JSON.stringify({ nonce, ...request }));
  const { code } = await replied;
  if (code !== undefined) throw new Error(`the bench was refused: ${code}`);
}

/** Takers on sockets of their own, and when each of their orders was sent. */
class Takers {
  readonly #sockets: readonly WebSocket[];
  readonly #outcomeIds: readonly string[];
  /** By quantity. */
  readonly #sentMs = new Array<number>(QUANTITIES).fill(0);
  #placed = 0;
  /** Codes; a machine that cannot keep up has its requests wait, and refuses when too many do. */
  refused: string[] = [];
  fillsMs: number[] = [];
  repliesMs: number[] = [];
  lateMs: number[] = [];

  constructor(sockets: readonly WebSocket[], outcomeIds: readonly string[]) {
    this.#sockets = sockets;
    this.#outcomeIds = outcomeIds;
    for (const socket of sockets) socket.on("message", (data: Buffer) => this.#hear(data));
  }

  /** The maker heard of a fill. */
  filled(qty: number): void {
    this.fillsMs.push(performance.now() - (this.#sentMs[qty] ?? 0));
  }

  /** Sends at a steady rate, whether answers come or not: a stall is counted against every order that it holds up. */
  async run(perSecond: number, seconds: number): Promise<void> {
    this.refused = [];
    this.fillsMs = [];
    this.repliesMs = [];
    this.lateMs = [];
    const began = performance.now();
    for (let n = 0; n < seconds * perSecond;) {
      const due = Math.min(seconds * perSecond, ((performance.now() - began) / 1_000) * perSecond);
      for (; n < due; n += 1) this.#place(began + (n / perSecond) * 1_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await new Promise((resolve) => setTimeout(resolve, DRAIN_MS));
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  /** The nonces of a socket rise with the number of the order, by which a reply is known too. */
  #place(dueMs: number): void {
    this.#placed += 1;
    const qty = 1 + (this.#placed % (QUANTITIES - 1));
    const sentMs = performance.now();
    this.#sentMs[qty] = sentMs;
    this.lateMs.push(sentMs - dueMs);
    const outcomeId = this.#outcomeIds[this.#placed % this.#outcomeIds.length];
    const order = { outcomeId, price: "0.500", qty, tif: "IOC" };
    this.#sockets[this.#placed % this.#sockets.length]?.send(
      JSON.stringify({ nonce: this.#placed, place: { orders: [order] } }),
    );
  }

  #hear(data: Buffer): void {
    const reply = Reply.safeParse(JSON.parse(data.toString()));
    // A heartbeat has no nonce.
    if (!reply.success) return;
    const { nonce, code } = reply.data;
    if (code !== undefined) this.refused.push(code);
    else this.repliesMs.push(performance.now() - (this.#sentMs[1 + (nonce % (QUANTITIES - 1))] ?? 0));
  }
}

interface Prepared {
  readonly maker: WebSocket;
  readonly takers: Takers;
}

/** Markets with a deep order of one maker, whose own orders are watched, and traders who can take from it. */
async function prepare(exchange: Exchange): Promise<Prepared> {
  const stage = new BenchExchange(exchange);
  const { url } = exchange;
  try {
    const eventId = await stage.event();
    const maker = await open(url, (await stage.account("maker", "100000000")).tradingKey);
    await ask(maker, 1, { subscribe: { private: ["orders"] } });
    const outcomeIds: string[] = [];
    for (let i = 0; i < MARKETS; i += 1) {
      const [made, taken] = await stage.market(eventId);
      outcomeIds.push(taken);
      const order = { outcomeId: made, price: "0.500", qty: MAKER_QTY, tif: "GTC", clientId: randomUUID() };
      await ask(maker, 2 + i, { place: { orders: [order] } });
    }
    const sockets: WebSocket[] = [];
    for (let i = 0; i < TRADERS; i += 1) {
      const { tradingKey } = await stage.account(`taker-${i}`, "50000000");
      for (let j = 0; j < SOCKETS / TRADERS; j += 1) sockets.push(await open(url, tradingKey));
    }
    return { maker, takers: new Takers(sockets, outcomeIds) };
  } finally {
    stage.close();
  }
}

/** What Redis takes by itself meanwhile, ms: a message there and back to a subscriber in this process, and a write. */
async function redisAlone(
  dataDir: string,
  seconds: number,
): Promise<{ readonly published: number; readonly written: number }> {
  const record = readRecord(dataDir, "redis");
  if (record === undefined) throw new Error("the exchange of the bench keeps no record of its Redis");
  const options = { host: "127.0.0.1", port: record.port, password: record.password };
  const [sender, listener] = [new Redis(options), new Redis(options)];
  try {
    await listener.subscribe("bench");
    const published: number[] = [];
    const written: number[] = [];
    for (const until = Date.now() + seconds * 1_000; Date.now() < until;) {
      const heard = once(listener, "message");
      const began = performance.now();
      await sender.publish("bench", "ping");
      await heard;
      published.push(performance.now() - began);
      const next = performance.now();
      await sender.set("bench", "ping", "PX", 60_000);
      written.push(performance.now() - next);
      await new Promise((resolve) => setTimeout(resolve, PING_MS));
    }
    return { published: percentile(published, 0.5), written: percentile(written, 0.5) };
  } finally {
    sender.disconnect();
    listener.disconnect();
  }
}

async function measure(
  { url, dataDir }: Exchange,
  takers: Takers,
  fsync: string,
  perSecond: number,
): Promise<Row[]> {
  const before = await gatewayCpuSeconds(url);
  const [{ published, written }] = await Promise.all([
    redisAlone(dataDir, SECONDS),
    takers.run(perSecond, SECONDS),
  ]);
  const used = (await gatewayCpuSeconds(url)) - before;
  const { fillsMs, repliesMs, lateMs, refused } = takers;
  const bench = `place -> the maker's fill, ${perSecond} orders/s, appendfsync ${fsync}`;
  const p50 = percentile(fillsMs, 0.5);
  const row = (what: string, figure: number, unit: string): Row => ({ bench, what, figure, unit });
  return [
    row("fills that the maker heard of", fillsMs.length / SECONDS, "per s"),
    row("orders refused", refused.length, ""),
    row("an order sent late by the bench, p50", percentile(lateMs, 0.5), "ms"),
    row("the taker's reply, p50", percentile(repliesMs, 0.5), "ms"),
    row("the maker's fill, p50", p50, "ms"),
    row("the maker's fill, p99", percentile(fillsMs, 0.99), "ms"),
    { ...row("a message published through the same Redis, p50", published, "ms"), ratio: p50 / published },
    { ...row("a write to the same Redis, p50", written, "ms"), ratio: p50 / written },
    row("the gateway's time for an order and its fills", (1e6 * used) / fillsMs.length, "µs"),
  ];
}

export async function roundTrip(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const fsync of ["everysec", "always"]) {
    const exchange = await startBenchExchange({ REDIS_FSYNC: fsync });
    try {
      const { maker, takers } = await prepare(exchange);
      maker.on("message", (data: Buffer) => {
        const frame = Fills.safeParse(JSON.parse(data.toString()));
        for (const delta of frame.data?.orders.deltas ?? [])
          if (delta.kind === "fill") takers.filled(delta.qty);
      });
      await takers.run(RATES.at(-1) ?? 1, WARM_UP_S);
      for (const perSecond of RATES) rows.push(...(await measure(exchange, takers, fsync, perSecond)));
      takers.close();
      maker.close();
    } finally {
      await exchange.stop();
    }
  }
  return rows;
}
