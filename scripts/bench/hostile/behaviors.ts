/** The behaviors of a hostile trader, each within the published limits. */

import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { generateKey } from "../../../http/client/client.js";
import type { Attackers } from "./attackers.js";
import { SignedRequests, type Sent, unsigned } from "./caller.js";

export interface Behavior {
  readonly name: string;
  /** Least share of its requests that a behavior with a rate must send for its figures to count. */
  readonly leastShare?: number;
  /** Misbehaves until the signal. */
  run(attackers: Attackers, stopped: AbortSignal): Promise<void>;
}

/** Most requests of a sender that wait for an answer at once, each on a connection of its own. */
const CONNECTIONS = 256;
/** Connections of a sender for whose waiting requests the exchange has no room. */
const MANY_CONNECTIONS = 1_000;
/**
 * Requests of a flood a second, which is the limit of an address, and the least share of them: the exchange answers a twentieth
 * of them at most, and each connection waits for its answer.
 */
const FLOOD_PER_SECOND = 2_000;
const FLOOD_SHARE = 0.04;
const BATCH = 256;
/** Orders that a wallet may place a second, for ever. */
const PLACES_PER_SECOND = 8;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends requests at a rate, however long their answers take, while a connection is free. */
async function pace(
  attackers: Attackers,
  stopped: AbortSignal,
  perSecond: number,
  requestOf: (n: number) => Sent | Promise<Sent>,
  connections = CONNECTIONS,
): Promise<void> {
  const sender = attackers.caller(connections);
  const began = performance.now();
  const due = (): number => ((performance.now() - began) / 1_000) * perSecond;
  const pending = new Set<Promise<void>>();
  for (let sent = 0; !stopped.aborted;) {
    for (; sent < due() && pending.size < connections; sent += 1) {
      const answered = attackers.send(sender, requestOf(sent)).finally(() => pending.delete(answered));
      pending.add(answered);
    }
    await pause(5);
  }
  attackers.aim(due());
  await Promise.all(pending);
  sender.close();
}

function flood(
  attackers: Attackers,
  stopped: AbortSignal,
  requestOf: (n: number) => Sent | Promise<Sent>,
  connections?: number,
): Promise<void> {
  return pace(attackers, stopped, FLOOD_PER_SECOND, requestOf, connections);
}

/** Reads a path at a rate with each read key of the hostile trader in turn. */
function readByEach(
  attackers: Attackers,
  stopped: AbortSignal,
  perSecond: number,
  { path, body }: { readonly path: string; readonly body?: object },
  { readers, trading }: Pick<Attackers["hostile"], "readers" | "trading"> = attackers.hostile,
): Promise<void> {
  const method = body === undefined ? "GET" : "POST";
  return pace(attackers, stopped, perSecond * readers.length, (n) =>
    (readers[n % readers.length] ?? trading).of(method, path, body),
  );
}

/** Opens sockets of the read keys and lets `use` misbehave on each; closes them at the end. */
async function withSockets(
  attackers: Attackers,
  stopped: AbortSignal,
  use: (socket: WebSocket, n: number) => void,
): Promise<void> {
  const caller = attackers.caller(1);
  const sockets: WebSocket[] = [];
  for (const reader of attackers.hostile.readers) {
    for (let i = 0; i < 4 && !stopped.aborted; i += 1) {
      const socket = await caller.socket((await reader.of("GET", "/v3/ws")).headers);
      attackers.sent();
      attackers.count(socket !== undefined);
      if (socket === undefined) break;
      use(socket, sockets.length);
      sockets.push(socket);
    }
  }
  while (!stopped.aborted) await pause(20);
  for (const socket of sockets) socket.terminate();
  caller.close();
}

/** Returns true for a frame that refuses a request of a socket. */
function isRefusal(frame: Buffer): boolean {
  return /^\{"nonce":\d+,"code"/.test(frame.toString("latin1", 0, 40));
}

/** Sends a request every 30 ms until the socket closes. */
function askOften(attackers: Attackers, socket: WebSocket, requestOf: (nonce: number) => object): void {
  socket.on("message", (data: Buffer) => attackers.count(!isRefusal(data)));
  let nonce = 0;
  const timer = setInterval(() => {
    nonce += 1;
    socket.send(JSON.stringify({ nonce, ...requestOf(nonce) }));
    attackers.sent();
  }, 30);
  socket.once("close", () => clearInterval(timer));
}

const order = (outcomeId: string, price: string, qty: number, tif: string): object => ({
  outcomeId,
  price,
  qty,
  tif,
});

export const BEHAVIORS: readonly Behavior[] = [
  {
    name: "FOK batches that no book can fill",
    async run(attackers, stopped) {
      const orders = (count: number): object => ({
        orders: Array.from({ length: count }, () =>
          order(attackers.facts.outcomes[1], "0.999", 50_000, "FOK"),
        ),
      });
      const { trading } = attackers.accomplice;
      attackers.aim(1);
      await attackers.send(attackers.caller(1), trading.of("POST", "/v3/orders/batch", orders(BATCH)));
      await pace(attackers, stopped, 1, () =>
        trading.of("POST", "/v3/orders/batch", orders(PLACES_PER_SECOND)),
      );
    },
  },
  {
    name: "previews of sweeps through the dust",
    run(attackers, stopped) {
      const body = order(attackers.facts.outcomes[1], "0.999", 50_000, "IOC");
      return readByEach(attackers, stopped, 16, { path: "/v3/orders/preview", body }, attackers.accomplice);
    },
  },
  {
    name: "balances of a wallet with the dust",
    run: (attackers, stopped) =>
      readByEach(attackers, stopped, 8, {
        path: `/v3/account/subaccounts/${attackers.hostile.keyId}/balance`,
      }),
  },
  {
    name: "open orders of a wallet with the dust",
    run: (attackers, stopped) => readByEach(attackers, stopped, 8, { path: "/v3/account/orders" }),
  },
  {
    name: "public books of a deep market",
    run: (attackers, stopped) =>
      pace(attackers, stopped, 50, () =>
        unsigned("GET", `/v3/public/catalog/markets/${attackers.facts.marketId}/book`),
      ),
  },
  {
    name: "public candles of the longest range",
    run(attackers, stopped) {
      const to = Date.now();
      const range = `from=${to - 1_000 * 60_000}&to=${to}`;
      const path = `/v3/public/catalog/markets/${attackers.facts.marketId}/candles`;
      return pace(attackers, stopped, 50, () =>
        unsigned("GET", `${path}?outcome=${attackers.facts.outcomes[0]}&interval=1m&${range}`),
      );
    },
  },
  {
    name: "placements beyond the throttle",
    leastShare: FLOOD_SHARE,
    run: (attackers, stopped) =>
      flood(attackers, stopped, () =>
        attackers.accomplice.trading.of(
          "POST",
          "/v3/orders",
          order(attackers.facts.outcomes[0], "0.002", 1, "GTC"),
        ),
      ),
  },
  {
    name: "one placement sent over and over",
    leastShare: FLOOD_SHARE,
    async run(attackers, stopped) {
      const once = await attackers.accomplice.trading.of(
        "POST",
        "/v3/orders",
        order(attackers.facts.outcomes[0], "0.001", 1, "GTC"),
      );
      await flood(attackers, stopped, () => once);
    },
  },
  {
    name: "unknown keys",
    leastShare: FLOOD_SHARE,
    async run(attackers, stopped) {
      const { privateKey } = await generateKey("Ed25519");
      const known = new SignedRequests(
        { keyId: randomUUID(), algorithm: "Ed25519", privateKey },
        attackers.facts.brand,
      );
      await flood(attackers, stopped, () => known.of("GET", "/v3/limits"));
    },
  },
  {
    name: "sign-ins with a wrong password",
    leastShare: FLOOD_SHARE,
    run: (attackers, stopped) =>
      flood(attackers, stopped, (n) =>
        unsigned("POST", "/v3/session", {
          email: `nobody${n % 50}@hostile.example`,
          password: "a wrong password",
        }),
      ),
  },
  {
    name: "free routes",
    leastShare: FLOOD_SHARE,
    run: (attackers, stopped) =>
      flood(attackers, stopped, (n) =>
        n % 2 === 0
          ? attackers.hostile.trading.of("POST", "/v3/safety/heartbeat", { timeoutMs: 0 })
          : attackers.hostile.trading.of("GET", "/v3/limits"),
      ),
  },
  {
    name: "unknown routes over many connections",
    leastShare: FLOOD_SHARE,
    run: (attackers, stopped) =>
      flood(attackers, stopped, () => unsigned("GET", "/v3/no/such/route"), MANY_CONNECTIONS),
  },
  {
    name: "lists of everything",
    run: (attackers, stopped) => readByEach(attackers, stopped, 4, { path: "/v3/orders?limit=5000" }),
  },
  {
    name: "sockets that ask for snapshots of the book",
    run: (attackers, stopped) =>
      withSockets(attackers, stopped, (socket) => {
        const selection = {
          markets: { [attackers.facts.marketId]: "book" },
          private: ["orders", "positions"],
        };
        askOften(attackers, socket, () => ({ snapshot: selection }));
      }),
  },
  {
    name: "sockets that resume from the first batch",
    run: (attackers, stopped) =>
      withSockets(attackers, stopped, (socket) => {
        const market = `market:${attackers.facts.marketId}`;
        const subscribe = {
          markets: { [attackers.facts.marketId]: ["book", "bbo", "trades"] },
          private: ["orders", "positions"],
          since: { [market]: { book: 1, bbo: 1, trades: 1 }, orders: 1, positions: 1 },
        };
        const unsubscribe = [market, "PRIVATE"];
        askOften(attackers, socket, (nonce) => (nonce % 2 === 1 ? { subscribe } : { unsubscribe }));
      }),
  },
  {
    name: "sockets that read nothing",
    run: (attackers, stopped) =>
      withSockets(attackers, stopped, (socket) => {
        const selection = {
          markets: { [attackers.facts.marketId]: ["book", "bbo", "trades"] },
          private: ["orders"],
        };
        socket.send(JSON.stringify({ nonce: 1, subscribe: selection }));
        attackers.sent();
        socket.pause();
      }),
  },
  {
    name: "sweeps through the dust",
    run: (attackers, stopped) =>
      pace(attackers, stopped, PLACES_PER_SECOND / 4, () =>
        attackers.accomplice.trading.of(
          "POST",
          "/v3/orders",
          order(attackers.facts.outcomes[1], "0.999", 200, "IOC"),
        ),
      ),
  },
  {
    name: "cancels of everything",
    run: (attackers, stopped) =>
      pace(attackers, stopped, 16, () => attackers.hostile.trading.of("DELETE", "/v3/orders")),
  },
];
