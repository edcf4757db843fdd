/**
 * Measures the time from a placement on one socket to the fill on the maker's private stream, in a whole exchange of
 * processes, at a steady rate of single orders, independent of the answers. References in the same run: a message
 * published through the same Redis, and the delay of the bench itself, whose timers have whole milliseconds.
 */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Redis } from "ioredis";
import type { WebSocket } from "ws";
import { z } from "zod";
import { OrdersDelta } from "../../http/client/wire/stream.js";
import { readRecord } from "../embedded/record.js";
import type { Exchange } from "../replay/exchange.js";
import { gatewayCpuSeconds, ONE_GATEWAY } from "./gateway-cpu.js";
import { BenchExchange, openSocket, startBenchExchange } from "./bench-exchange.js";
import { percentile, type Row } from "./table.js";

/** Orders per second; the goal applies to the last rate. */
const RATES = [100, 1_000];
const WARM_UP_S = 10;
const SECONDS = 10;
const MARKETS = 4;
const TRADERS = 5;
/** Enough sockets for the rates, because a socket may send fifty requests per second. */
const SOCKETS = 25;
/** Number of different quantities, each of which identifies the fill of its order until the quantities repeat. */
const QUANTITIES = 20_000;
const MAKER_QTY = 2_000_000_000;
const PING_MS = 10;
const DRAIN_MS = 2_000;

const Fills = z.object({ orders: z.object({ deltas: z.array(OrdersDelta) }) });
const Reply = z.object({ nonce: z.int(), code: z.string().optional() });

/** Sends one request and waits for its reply. */
async function ask(socket: WebSocket, nonce: number, request: object): Promise<void> {
  const replied = new Promise<z.infer<typeof Reply>>((resolve) => {
    const onMessage = (data: Buffer): void => {
      const { success, data: reply } = Reply.safeParse(JSON.parse(data.toString()));
      if (!success || reply.nonce !== nonce) return;
      socket.off("message", onMessage);
      resolve(reply);
    };
    socket.on("message", onMessage);
  });
  socket.send(JSON.stringify({ nonce, ...request }));
  const { code } = await replied;
  if (code !== undefined) throw new Error(`the exchange refused a request of the bench: ${code}`);
}

/** Takers on sockets of their own, with the time at which each order was sent. */
class Takers {
  readonly #sockets: readonly WebSocket[];
  readonly #outcomeIds: readonly string[];
  /** Times by quantity. */
  readonly #sentMs = new Array<number>(QUANTITIES).fill(0);
  #placed = 0;
  /** Codes of refused orders; a machine that cannot keep up refuses when too many requests wait. */
  refused: string[] = [];
  fillsMs: number[] = [];
  repliesMs: number[] = [];
  lateMs: number[] = [];

  constructor(sockets: readonly WebSocket[], outcomeIds: readonly string[]) {
    this.#sockets = sockets;
    this.#outcomeIds = outcomeIds;
    for (const socket of sockets) socket.on("message", (data: Buffer) => this.#onReply(data));
  }

  /** Records a fill that the maker has received. */
  filled(qty: number): void {
    this.fillsMs.push(performance.now() - (this.#sentMs[qty] ?? 0));
  }

  /** Sends at a steady rate, independent of the answers, so that a stall counts for every order that it delays. */
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

  /** Places an order; its number is its nonce, which rises on every socket and identifies the reply. */
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

  #onReply(data: Buffer): void {
    const reply = Reply.safeParse(JSON.parse(data.toString()));
    // Heartbeats have no nonce.
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

/** Creates markets with a large order of one maker, who watches its own orders, and takers with money. */
async function prepare(exchange: Exchange): Promise<Prepared> {
  const bench = new BenchExchange(exchange);
  const { url } = exchange;
  try {
    const eventId = await bench.event();
    const maker = await openSocket(url, (await bench.account("maker", "100000000")).tradingKey);
    await ask(maker, 1, { subscribe: { private: ["orders"] } });
    const outcomeIds: string[] = [];
    for (let i = 0; i < MARKETS; i += 1) {
      const [made, taken] = await bench.market(eventId);
      outcomeIds.push(taken);
      const order = { outcomeId: made, price: "0.500", qty: MAKER_QTY, tif: "GTC", clientId: randomUUID() };
      await ask(maker, 2 + i, { place: { orders: [order] } });
    }
    const sockets: WebSocket[] = [];
    for (let i = 0; i < TRADERS; i += 1) {
      const { tradingKey } = await bench.account(`taker-${i}`, "50000000");
      for (let j = 0; j < SOCKETS / TRADERS; j += 1) sockets.push(await openSocket(url, tradingKey));
    }
    return { maker, takers: new Takers(sockets, outcomeIds) };
  } finally {
    bench.close();
  }
}

/** Returns the time of Redis alone during the run, in ms: of a message to a subscriber in this process, and of a write. */
async function redisAlone(
  dataDir: string,
  seconds: number,
): Promise<{ readonly published: number; readonly written: number }> {
  const record = readRecord(dataDir, "redis");
  if (record === undefined) throw new Error("the data directory of the bench has no record of its Redis");
  const options = { host: "127.0.0.1", port: record.port, password: record.password };
  const [sender, listener] = [new Redis(options), new Redis(options)];
  try {
    await listener.subscribe("bench");
    const published: number[] = [];
    const written: number[] = [];
    for (const endMs = Date.now() + seconds * 1_000; Date.now() < endMs;) {
      const received = once(listener, "message");
      const began = performance.now();
      await sender.publish("bench", "ping");
      await received;
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
  const row = (measure: string, figure: number, unit: string): Row => ({ bench, measure, figure, unit });
  return [
    row("fills that the maker received", fillsMs.length / SECONDS, "per s"),
    row("orders refused", refused.length, ""),
    row("delay of an order by the bench, p50", percentile(lateMs, 0.5), "ms"),
    row("the taker's reply, p50", percentile(repliesMs, 0.5), "ms"),
    row("the maker's fill, p50", p50, "ms"),
    row("the maker's fill, p99", percentile(fillsMs, 0.99), "ms"),
    { ...row("a message published through the same Redis, p50", published, "ms"), ratio: p50 / published },
    { ...row("a write to the same Redis, p50", written, "ms"), ratio: p50 / written },
    row("CPU time of the gateway for an order and its fills", (1e6 * used) / fillsMs.length, "µs"),
  ];
}

export async function roundTrip(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const fsync of ["everysec", "always"]) {
    const exchange = await startBenchExchange({ ...ONE_GATEWAY, REDIS_FSYNC: fsync });
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
