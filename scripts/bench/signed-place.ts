/**
 * Measures signed placements on one gateway, from the socket to the ledger's acceptance and back, in turns with an
 * Express server that only verifies the signature of the same requests. The whole exchange shares the machine with both,
 * so the rates depend on the machine; the CPU time of the gateway per request does not.
 */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { REMEMBER_MS } from "../../http/auth/signatures.js";
import { Signer } from "../../http/client/client.js";
import type { Exchange } from "../replay/exchange.js";
import { flood } from "./flood.js";
import { gatewayCpuSeconds, ONE_GATEWAY } from "./gateway-cpu.js";
import { BenchExchange, startBenchExchange } from "./bench-exchange.js";
import { median, type Row } from "./table.js";

/** Connections, so many that neither server waits for its clients or for the disk. */
const LANES = 256;
const REQUESTS = 4_000;
const WARM_UP = 2_000;
const TURNS = 5;
const BENCH = "signed place on one gateway";
const UNLIMITED = "1000000";
/**
 * Time in ms after which the gateways of a new exchange keep no answers to placements any more: the format rises ten
 * seconds after the start, and bytes from before it can be repeated for `REMEMBER_MS`.
 */
const SETTLES_MS = 15_000 + REMEMBER_MS;

interface Contestant {
  readonly url: string;
  cpuSeconds(): Promise<number>;
}

interface Turn {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

/** Source of signed orders, no two alike, because the same signed bytes would be one request. */
class Orders {
  #made = 0;

  constructor(
    private readonly signer: Signer,
    private readonly outcomeId: string,
  ) {}

  take(count: number): Promise<Buffer[]> {
    const orders = Array.from({ length: count }, async () => {
      this.#made += 1;
      const qty = 1 + (this.#made % 1_000_000);
      const body = JSON.stringify({ outcomeId: this.outcomeId, price: "0.010", qty, tif: "IOC" });
      const headers = await this.signer.headers("POST", "/v3/orders", "", Buffer.from(body));
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const type = "Content-Type: application/json\r\n";
      return Buffer.from(
        `POST /v3/orders HTTP/1.1\r\nHost: localhost\r\n${type}${lines.join("")}Content-Length: ${body.length}\r\n\r\n${body}`,
      );
    });
    return Promise.all(orders);
  }
}

async function turnOf(contestant: Contestant, orders: Orders, count: number): Promise<Turn> {
  const requests = await orders.take(count);
  const before = await contestant.cpuSeconds();
  const began = performance.now();
  await flood({
    url: contestant.url,
    lanes: LANES,
    requests,
    check: (_index, { status, text }) => {
      if (status !== 201) throw new Error(`the answer to a placement was ${status} ${text}`);
    },
  });
  const seconds = (performance.now() - began) / 1_000;
  const used = (await contestant.cpuSeconds()) - before;
  return { perSecond: count / seconds, cpuMicroseconds: (1e6 * used) / count };
}

/** Creates a trader with money and an outcome without other bids, so that every order is accepted and canceled at once. */
async function prepare(exchange: Exchange) {
  const bench = new BenchExchange(exchange);
  try {
    const { tradingKey } = await bench.account("maker", "1000000000");
    const [outcomeId] = await bench.market(await bench.event());
    return { tradingKey, orders: new Orders(new Signer(tradingKey, exchange.brand), outcomeId) };
  } finally {
    bench.close();
  }
}

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

/** Starts the process that only verifies. */
async function startBare(brand: string, privateKey: string): Promise<Contestant & { stop(): void }> {
  const entry = fileURLToPath(new URL("bare-verifier.js", import.meta.url));
  const child = fork(entry, [brand, privateKey]);
  const { port } = await answerOf<{ port: number }>(child);
  return {
    url: `http://127.0.0.1:${port}`,
    cpuSeconds: async () => {
      const answer = answerOf<{ cpuSeconds: number }>(child);
      child.send("cpu");
      return (await answer).cpuSeconds;
    },
    stop: () => child.disconnect(),
  };
}

export async function signedPlace(): Promise<Row[]> {
  const exchange = await startBenchExchange({
    ...ONE_GATEWAY,
    EDGE_RATE: UNLIMITED,
    EDGE_BURST: UNLIMITED,
  });
  try {
    const { tradingKey, orders } = await prepare(exchange);
    await sleep(SETTLES_MS);
    const gateway: Contestant = { url: exchange.url, cpuSeconds: () => gatewayCpuSeconds(exchange.url) };
    const bare = await startBare(exchange.brand, tradingKey.privateKey);
    const ours: Turn[] = [];
    const theirs: Turn[] = [];
    try {
      for (const contestant of [gateway, bare]) await turnOf(contestant, orders, WARM_UP);
      for (let turn = 0; turn < TURNS; turn += 1) {
        ours.push(await turnOf(gateway, orders, REQUESTS));
        theirs.push(await turnOf(bare, orders, REQUESTS));
      }
    } finally {
      bare.stop();
    }
    const rate = (turns: readonly Turn[]): number => median(turns.map(({ perSecond }) => perSecond));
    const cpu = (turns: readonly Turn[]): number =>
      median(turns.map(({ cpuMicroseconds }) => cpuMicroseconds));
    return [
      { bench: BENCH, measure: "the gateway, in a whole exchange", figure: rate(ours), unit: "per s" },
      {
        bench: BENCH,
        measure: "Express that only verifies",
        figure: rate(theirs),
        unit: "per s",
        ratio: rate(ours) / rate(theirs),
      },
      { bench: BENCH, measure: "the gateway: CPU time per request", figure: cpu(ours), unit: "µs" },
      {
        bench: BENCH,
        measure: "Express that only verifies: CPU time per request",
        figure: cpu(theirs),
        unit: "µs",
        ratio: cpu(theirs) / cpu(ours),
      },
    ];
  } finally {
    await exchange.stop();
  }
}
