/** Sending process of the stream benches: the bridge, or plain `ws` with the same frames. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { LongWork } from "../../../stream/services/long-work.js";
import { bridge, WS_OPTIONS } from "../../../stream/ws/bridge.js";
import type { Trading } from "../../../stream/ws/ports.js";
import { Replicas } from "../../../stream/ws/market/replicas.js";
import { Wallets } from "../../../stream/ws/wallet/wallets.js";
import { unreachable } from "../../../actors/unreachable.js";
import { MARKET_ID } from "../core/actor.js";
import { OUTCOME_IDS } from "../core/actor.js";
import { TradingMarket } from "./market.js";
import {
  type Contestant,
  type Inspected,
  type Sent,
  type Served,
  serveRequests,
  type ServerRequest,
} from "./messages.js";
import { recordFrames } from "./recorded.js";

const IDENTITY = {
  marketId: MARKET_ID,
  eventId: MARKET_ID,
  outcomes: OUTCOME_IDS.map((outcomeId) => ({ outcomeId, name: outcomeId })),
};

const unused = (): never => {
  throw new Error("no bench uses this function");
};
const trading: Trading = { place: unused, cancel: unused, cancelAll: unused };

const connections = new Set<Socket>();
const closed: Record<string, number> = {};
/** Sends the given number of frames to every socket. */
let send: (frames: number) => void = unused;

function fail(error: unknown): void {
  console.error(error);
  process.exit(1);
}

function bridged(): (socket: WebSocket, connection: Socket) => void {
  const traded = new TradingMarket();
  const { tail, load } = traded;
  const catalog = {
    market: () => Promise.resolve(IDENTITY),
    marketsOf: () => Promise.resolve([MARKET_ID]),
    listed: (marketIds: readonly string[]) => Promise.resolve(new Set(marketIds)),
    onMarket: () => () => undefined,
  };
  const served = bridge({
    replicas: new Replicas({ tail, load, onError: fail }),
    wallets: new Wallets({ tail, exchange: { ledger: unused }, catalog, onError: fail }),
    trading,
    disconnects: { arm: unused },
    catalog,
    throttle: { charge: () => Promise.resolve({ granted: true, remaining: 512, retryAfterS: 0 }) },
    longWork: new LongWork(),
    queries: { markets: unused, events: unused },
    readJson: (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as unknown,
    onError: fail,
  });
  // Readers derive the delay of a frame from `ts`, which therefore has fractions of a millisecond.
  send = (frames) => traded.trade(frames, performance.timeOrigin + performance.now());
  return (socket, connection) => {
    const id = randomUUID();
    const caller = {
      keyId: id,
      payer: id,
      traderId: id,
      wallet: id,
      scope: "trading",
      address: "127.0.0.1",
    } as const;
    served.open(socket, caller, connection);
  };
}

/** Serves plain `ws` with the same frames, prepared before the bench and shared by all sockets. */
function bare(): (socket: WebSocket) => void {
  const recorded = recordFrames(IDENTITY, 20_000);
  const sockets = new Set<WebSocket>();
  let next = 0;
  send = (frames) => {
    for (let i = 0; i < frames; i += 1) {
      const frame = recorded[next % recorded.length] ?? Buffer.alloc(0);
      next += 1;
      for (const socket of sockets) socket.send(frame, { binary: false });
    }
  };
  return (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  };
}

async function serve(as: Contestant): Promise<Served> {
  const open = as === "bridge" ? bridged() : bare();
  const http = createServer();
  const sockets = new WebSocketServer({ server: http, ...WS_OPTIONS });
  sockets.on("connection", (socket, { socket: connection }) => {
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    const close = socket.close.bind(socket);
    // A stalled socket cannot report its close reason, so it is recorded here.
    socket.close = (code, reason) => {
      const closeReason = `${String(code)} ${String(reason)}`;
      closed[closeReason] = (closed[closeReason] ?? 0) + 1;
      close(code, reason);
    };
    socket.on("error", () => undefined);
    open(socket, connection);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return { port: (http.address() as AddressInfo).port };
}

async function untilAccepted(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    let waiting = false;
    for (const { writableLength } of connections) if (writableLength > 0) waiting = true;
    if (!waiting) return;
  }
}

async function measure(work: (until: number) => Promise<number>, seconds: number): Promise<Sent> {
  const before = process.cpuUsage();
  const began = performance.now();
  const frames = await work(began + seconds * 1_000);
  const { user, system } = process.cpuUsage(before);
  return { frames, seconds: (performance.now() - began) / 1_000, cpuSeconds: (user + system) / 1e6 };
}

async function flood(each: number, until: number): Promise<number> {
  let frames = 0;
  while (performance.now() < until) {
    send(each);
    frames += each;
    // The bridge writes at the end of a turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    await untilAccepted();
  }
  return frames;
}

async function pace(each: number, perSecond: number, until: number): Promise<number> {
  let frames = 0;
  for (let due = performance.now(); due < until; due += 1_000 / perSecond) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    send(each);
    frames += each;
  }
  return frames;
}

function inspect(): Inspected {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { inUseBytes: heapUsed + external, rssBytes: rss, sockets: connections.size, closed };
}

serveRequests(async (message) => {
  const request = message as ServerRequest;
  switch (request.kind) {
    case "serve":
      return serve(request.as);
    case "flood":
      return measure((until) => flood(request.frames, until), request.seconds);
    case "pace":
      return measure((until) => pace(request.frames, request.perSecond, until), request.seconds);
    case "inspect":
      return inspect();
    default:
      return unreachable(request);
  }
});
