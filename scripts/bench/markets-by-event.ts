/**
 * Measures markets by event, the busiest route of surface B: one event of 50 markets with 200 resting orders each, at
 * 512 requests per second, the rate that the specification allows a client, with unchanged and with changing books. The
 * reference in the same run is a server in a thread of its own that only sends the same bytes.
 */

import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { Exchange } from "../replay/exchange.js";
import { gatewayCpuSeconds, ONE_GATEWAY } from "./gateway-cpu.js";
import { BenchExchange, startBenchExchange } from "./bench-exchange.js";
import { percentile, type Row } from "./table.js";

const MARKETS = 50;
const ORDERS = 200;
/** Makers who share the orders, because a wallet has a limit of open orders. */
const MAKERS = 4;
const RATE = 512;
const WARM_UP_S = 2;
const SECONDS = 10;
const CONNECTIONS = 32;
/** Changes per second over all books, in the run with changing books. */
const CHANGES = 50;
const BENCH = "markets by event, 512/s";

interface Loaded {
  readonly latenciesMs: readonly number[];
  readonly failures: number;
  readonly bytes: number;
  readonly seconds: number;
}

interface Target {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

function fetchOnce({ url, headers }: Target, agent: Agent): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers, agent }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, bytes }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end();
  });
}

/**
 * Sends requests at a steady rate, independent of the answers, and measures each latency from the time at which the
 * request was due, so that a stall of the server counts for every request that it delays.
 */
async function load(target: Target, seconds: number): Promise<Loaded> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const latenciesMs: number[] = [];
  let failures = 0;
  let bytes = 0;
  const began = performance.now();
  const pending: Promise<void>[] = [];
  for (let sent = 0; sent < seconds * RATE;) {
    const dueNow = Math.min(seconds * RATE, ((performance.now() - began) / 1_000) * RATE);
    for (; sent < dueNow; sent += 1) {
      const dueMs = began + (sent / RATE) * 1_000;
      const answered = fetchOnce(target, agent).then(
        (answer) => {
          latenciesMs.push(performance.now() - dueMs);
          bytes += answer.bytes;
          if (answer.status !== 200) failures += 1;
        },
        () => {
          failures += 1;
        },
      );
      pending.push(answered);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  agent.destroy();
  return { latenciesMs, failures, bytes, seconds: (performance.now() - began) / 1_000 };
}

/** Applies the load, and adds the share of a core that the gateway needs for it, which a busy machine does not affect. */
async function loadGateway(measure: string, target: Target): Promise<Row[]> {
  const before = await gatewayCpuSeconds(target.url.origin);
  const loaded = await load(target, SECONDS);
  const used = (await gatewayCpuSeconds(target.url.origin)) - before;
  const share = (100 * RATE * used) / loaded.latenciesMs.length;
  return [
    ...rowsOf(measure, loaded),
    { bench: BENCH, measure: `${measure}: share of a core at this rate`, figure: share, unit: "%" },
  ];
}

function rowsOf(measure: string, loaded: Loaded): Row[] {
  const { latenciesMs, failures, bytes, seconds } = loaded;
  const row = (name: string, figure: number, unit: string): Row => ({
    bench: BENCH,
    measure: `${measure}: ${name}`,
    figure,
    unit,
  });
  return [
    row("answered", latenciesMs.length / seconds, "per s"),
    row("p50", percentile(latenciesMs, 0.5), "ms"),
    row("p99", percentile(latenciesMs, 0.99), "ms"),
    row("slowest", Math.max(...latenciesMs), "ms"),
    row("sent", bytes / seconds / 1e6, "MB/s"),
    row("failures", failures, ""),
  ];
}

const Created = z.object({ clientId: z.string(), clientSecret: z.string() });
const Token = z.object({ access_token: z.string() });

async function call<T>(
  schema: z.core.$ZodType<T>,
  url: string,
  authorization: string | undefined,
  body: unknown,
): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text.slice(0, 300)}`);
  return z.parse(schema, JSON.parse(text));
}

interface Prepared {
  readonly eventId: string;
  readonly outcomes: readonly string[];
  /** Credentials of the makers: the maker of an outcome is that of its market. */
  readonly bearers: readonly string[];
}

/** Opens the account of a maker, and returns the credentials of a client of surface B. */
async function openMaker(bench: BenchExchange, url: string, name: string): Promise<string> {
  const account = await bench.account(name, "10000");
  const session = await bench.session();
  const made = await session.request("POST", "/admin/v1/emm-clients", Created, {
    body: { subaccountKeyId: account.tradingKey.keyId, name },
  });
  const { access_token: token } = await call(Token, `${url}/svc/v1/auth/emm-token`, undefined, {
    grant_type: "client_credentials",
    client_id: made.clientId,
    client_secret: made.clientSecret,
  });
  return `Bearer ${token}`;
}

/** Creates an event with full books, and the makers who may read and change them. */
async function prepare(exchange: Exchange): Promise<Prepared> {
  const bench = new BenchExchange(exchange);
  const { url } = exchange;
  try {
    const bearers: string[] = [];
    for (let i = 0; i < MAKERS; i += 1) bearers.push(await openMaker(bench, url, `maker-${i}`));
    const eventId = await bench.event();
    const outcomes: string[] = [];
    for (let i = 0; i < MARKETS; i += 1) outcomes.push(...(await bench.market(eventId)));
    const prepared = { eventId, outcomes, bearers };
    for (const [index, outcomeId] of outcomes.entries()) {
      const orders = Array.from({ length: ORDERS / 2 }, (_, i) => orderOf(outcomeId, i));
      await place(url, bearerOf(prepared, index), orders);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return prepared;
  } finally {
    bench.close();
  }
}

/** Returns the credentials of the maker of the outcome at an index. */
function bearerOf({ bearers }: Prepared, index: number): string {
  return bearers[Math.floor(index / 2) % bearers.length] ?? "";
}

/** Returns an order on one of twenty levels below one half, so that no orders cross. */
function orderOf(outcomeId: string, i: number): object {
  return { outcomeId, price: (300 + 5 * (i % 20)) / 1_000, qty: 10 + (i % 7), currency: "CASH" };
}

const Placed = z.object({ accepted: z.array(z.object({ orderId: z.string() })) });

async function place(url: string, bearer: string, orders: readonly object[]): Promise<string[]> {
  const { accepted } = await call(Placed, `${url}/svc/v2/emm/orders/place`, bearer, orders);
  return accepted.map(({ orderId }) => orderId);
}

/** Waits until the route shows every resting order. */
async function untilFull(target: Target): Promise<void> {
  const Markets = z.array(
    z.object({ book: z.object({ outcomeLadders: z.array(z.object({ bids: z.array(z.unknown()) })) }) }),
  );
  for (;;) {
    const markets = Markets.parse(await (await fetch(target.url, { headers: target.headers })).json());
    const resting = markets
      .flatMap(({ book }) => book.outcomeLadders)
      .reduce((sum, { bids }) => sum + bids.length, 0);
    if (resting === MARKETS * ORDERS) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Changes books until the returned function is called: places an order and cancels the one before it. */
function change(url: string, prepared: Prepared): () => Promise<void> {
  let running = true;
  const work = async (): Promise<void> => {
    const began = performance.now();
    let last: { readonly bearer: string; readonly orderIds: readonly string[] } | undefined;
    for (let i = 0; running; i += 1) {
      const index = (7 * i) % prepared.outcomes.length;
      const bearer = bearerOf(prepared, index);
      const orderIds = await place(url, bearer, [orderOf(prepared.outcomes[index] ?? "", i)]);
      if (last !== undefined) {
        await call(z.unknown(), `${url}/svc/v2/emm/orders/cancel`, last.bearer, { orderIds: last.orderIds });
      }
      last = { bearer, orderIds };
      const dueMs = began + ((2 * i) / CHANGES) * 1_000;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    }
  };
  const done = work();
  return () => {
    running = false;
    return done;
  };
}

/** Runs `use` against a server that only sends the same bytes. */
async function withBareServer<T>(bytes: Buffer, use: (url: URL) => Promise<T>): Promise<T> {
  const server = new Worker(new URL("bare-server.js", import.meta.url), { workerData: bytes });
  try {
    const [port] = (await once(server, "message")) as [number];
    return await use(new URL(`http://127.0.0.1:${port}/`));
  } finally {
    await server.terminate();
  }
}

export async function marketsByEvent(): Promise<Row[]> {
  const exchange = await startBenchExchange(ONE_GATEWAY);
  try {
    const prepared = await prepare(exchange);
    const url = new URL(
      `/svc/v2/emm/events/getMarketsByEvent/${prepared.eventId}?currency=CASH`,
      exchange.url,
    );
    const Authorization = bearerOf(prepared, 0);
    const packed: Target = { url, headers: { Authorization, "Accept-Encoding": "gzip" } };
    const plain: Target = { url, headers: { Authorization } };
    await untilFull(plain);
    const [whole, onWire] = [await bytesOf(plain), await bytesOf(packed)];
    await load(packed, WARM_UP_S);
    const still = await loadGateway("gzip, unchanged books", packed);
    const stop = change(exchange.url, prepared);
    const moving = await loadGateway(`gzip, ${CHANGES} changes/s`, packed);
    await stop();
    const limit = await withBareServer(onWire, (there) => load({ url: there, headers: {} }, SECONDS));
    const unpacked = await loadGateway("plain, unchanged books", plain);
    const unpackedLimit = await withBareServer(whole, (there) => load({ url: there, headers: {} }, SECONDS));
    return [
      { bench: BENCH, measure: "one answer, plain", figure: whole.length / 1e6, unit: "MB" },
      { bench: BENCH, measure: "one answer, gzip", figure: onWire.length / 1e6, unit: "MB" },
      ...still,
      ...moving,
      ...rowsOf("gzip, a bare server", limit),
      ...unpacked,
      ...rowsOf("plain, a bare server", unpackedLimit),
    ];
  } finally {
    await exchange.stop();
  }
}

/** Returns the body as it is sent. */
function bytesOf(target: Target): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    httpRequest(target.url, { headers: target.headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks)));
      response.on("error", reject);
    })
      .on("error", reject)
      .end();
  });
}
