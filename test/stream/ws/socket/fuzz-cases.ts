/** Messages for the fuzz of the stream, each with the answer that the contract requires. */

import { randomUUID } from "node:crypto";
import type { Random } from "../../../simulation/machine/random.js";

/** Ids of the exchange that the messages name. */
export interface World {
  readonly marketId: string;
  readonly eventId: string;
  readonly outcomeId: string;
}

/** A message and its one answer: a code, or the key of an acknowledgement. */
export interface Case {
  readonly text: string;
  /** Nonce of the answer, or `undefined` when the answer has none. */
  readonly nonce: number | undefined;
  readonly answer: string;
}

type Verb = readonly [verb: string, payload: unknown];
type Make = (random: Random, world: World) => Verb;

const junk = (random: Random): unknown =>
  random.pick<unknown>([
    null,
    true,
    0,
    -1,
    1.5,
    9_007_199_254_740_991,
    "",
    "x",
    "\u{1f3c0}",
    [],
    [[]],
    {},
    { a: 1 },
  ]);

/** Correct requests, with the key of their acknowledgement. */
const RIGHT: readonly (readonly [answer: string, make: Make])[] = [
  ["subscribed", (random, { marketId }) => ["subscribe", { markets: { [marketId]: channels(random) } }]],
  [
    "subscribed",
    (_, { eventId }) => ["subscribe", { events: { [eventId.toUpperCase()]: "bbo" }, currency: "COIN" }],
  ],
  [
    "subscribed",
    () => ["subscribe", { private: ["orders", "positions"], since: { orders: 0, positions: 99 } }],
  ],
  [
    "subscribed",
    (random, { marketId }) => [
      "subscribe",
      {
        markets: { [marketId]: "book" },
        since: { [`market:${marketId}`]: { book: random.below(99) }, orders: random.below(9) },
      },
    ],
  ],
  ["snapshot", (random, { marketId }) => ["snapshot", { markets: { [marketId]: channels(random) } }]],
  [
    "unsubscribed",
    (_, { marketId, eventId }) => ["unsubscribe", [`market:${marketId}`, `event:${eventId}`, "PRIVATE"]],
  ],
  ["unsubscribed", () => ["unsubscribe", [`market:${randomUUID()}`]]],
  ["status", () => ["status", {}]],
  ["markets", (_, { eventId }) => ["query_markets", { event: eventId, limit: 1 }]],
  ["events", () => ["query_events", { league: ["NFL", "NBA"] }]],
  ["canceled", () => ["cancel", { orderIds: [randomUUID()] }]],
  ["canceled_all", (_, { marketId }) => ["cancel_all", { market: marketId }]],
  ["safety", () => ["safety", { cancelOnDisconnect: false }]],
  ["placed", (_, { outcomeId }) => ["place", { orders: [order(outcomeId)] }]],
];

/** Well-formed requests with one mistake that has its own code. */
const REFUSED: readonly (readonly [code: string, make: Make])[] = [
  ["EMPTY_SELECTION", (random) => [random.pick(["subscribe", "snapshot"]), {}]],
  ["EMPTY_SELECTION", () => ["subscribe", { markets: {}, events: {}, private: [], since: { orders: 1 } }]],
  [
    "MARKET_NOT_FOUND",
    (random) => [random.pick(["subscribe", "snapshot"]), { markets: { [randomUUID()]: "book" } }],
  ],
  ["EVENT_NOT_FOUND", () => ["subscribe", { events: { [randomUUID()]: ["book", "trades"] } }]],
  [
    "EMPTY_BATCH",
    (random) => (random.chance(0.5) ? ["place", { orders: [] }] : ["cancel", { orderIds: [] }]),
  ],
  [
    "BATCH_TOO_LARGE",
    (_, { outcomeId }) => ["place", { orders: Array<unknown>(257).fill(order(outcomeId)) }],
  ],
  ["BATCH_TOO_LARGE", () => ["cancel", { orderIds: Array<unknown>(257).fill(randomUUID()) }]],
  [
    "INVALID_BODY",
    (random, { outcomeId }) => [
      "place",
      { orders: [{ ...order(outcomeId), [random.pick(["size", "__proto", "constructor"])]: 1 }] },
    ],
  ],
  [
    "INVALID_BODY",
    (random, { outcomeId }) => [
      "place",
      { orders: [{ ...order(outcomeId), qty: random.pick(["1", null, []]) }] },
    ],
  ],
  ["INVALID_BODY", () => ["place", { orders: [null] }]],
  [
    "INVALID_PRICE",
    (random, { outcomeId }) => [
      "place",
      {
        orders: [
          {
            ...order(outcomeId),
            price: random.pick(["0", "1.000", "0.4001", "-0.400", "0.052", "", "½", "0x1"]),
          },
        ],
      },
    ],
  ],
  [
    "QTY_OUT_OF_RANGE",
    (random, { outcomeId }) => [
      "place",
      { orders: [{ ...order(outcomeId), qty: random.pick([0, -1, 1.5, 2_147_483_648]) }] },
    ],
  ],
  ["TTL_REQUIRED", (_, { outcomeId }) => ["place", { orders: [{ ...order(outcomeId), tif: "GTT" }] }]],
  ["TTL_NOT_ALLOWED", (_, { outcomeId }) => ["place", { orders: [{ ...order(outcomeId), ttl: 5_000 }] }]],
  [
    "TTL_OUT_OF_RANGE",
    (random, { outcomeId }) => [
      "place",
      { orders: [{ ...order(outcomeId), tif: "GTT", ttl: random.pick([999, 2_592_000_001]) }] },
    ],
  ],
  ["OUTCOME_NOT_FOUND", () => ["place", { orders: [order(randomUUID())] }]],
  ["INVALID_QUERY", () => ["query_markets", { colour: "red" }]],
  ["INVALID_QUERY", () => ["query_events", { status: "ASLEEP" }]],
  [
    "INVALID_REQUEST",
    (random) => [random.pick(["query_markets", "query_events"]), { limit: random.pick([0, 5_001, -3]) }],
  ],
];

/** Payloads with a wrong shape for their verb. */
const MISSHAPEN: readonly Make[] = [
  (random) => [
    random.pick(["subscribe", "snapshot", "status", "place", "cancel", "cancel_all", "safety"]),
    random.pick<unknown>([null, 1, "x", [], true]),
  ],
  (random) => [random.pick(["query_markets", "query_events"]), random.pick<unknown>([null, 1, "x", true])],
  (random) => [
    "unsubscribe",
    random.pick<unknown>([{}, [], "PRIVATE", ["market:"], ["order:1"], [randomUUID()], ["private"], [1]]),
  ],
  (random, { marketId }) => [
    "subscribe",
    {
      markets: {
        [marketId]: random.pick<unknown>([
          "orders",
          "",
          [],
          ["book", 1],
          null,
          {},
          ["book", "book", "bbo", "trades", "lifecycle"],
        ]),
      },
    },
  ],
  (random) => [
    "snapshot",
    { markets: { [random.pick(["", "x", "__proto", randomUUID().slice(1)])]: "book" } },
  ],
  (random, { marketId }) => [
    "subscribe",
    { markets: { [marketId]: "book" }, currency: random.pick<unknown>(["EUR", "cash", null, 1]) },
  ],
  (random) => [
    "subscribe",
    { private: random.pick<unknown>(["orders", ["fills"], [1], {}, ["orders", "orders", "orders"]]) },
  ],
  (random, { marketId }) => [
    "subscribe",
    {
      private: ["orders"],
      since: random.pick<unknown>([
        null,
        1,
        [],
        { orders: -1 },
        { orders: "1" },
        { orders: 0.5 },
        { book: 1 },
        { market: {} },
        { [`event:${marketId}`]: { book: 1 } },
        { [`market:${marketId}`]: { books: 1 } },
        { [`market:${marketId}`]: 3 },
      ]),
    },
  ],
  (random) => [
    random.pick(["subscribe", "status", "place", "cancel", "cancel_all", "safety"]),
    { unknown: 1, orders: [], orderIds: [], cancelOnDisconnect: true },
  ],
  (random) => ["safety", { cancelOnDisconnect: random.pick<unknown>([0, "true", null]) }],
  (random) => ["cancel", { orderIds: [random.pick<unknown>(["x", 1, null, "", randomUUID().slice(2)])] }],
  (random) => [
    "cancel_all",
    { [random.pick(["event", "market", "outcome"])]: random.pick<unknown>(["x", 1, null, []]) },
  ],
  (random) => ["place", { orders: random.pick<unknown>([{}, null, "x"]), atomic: false }],
  (random, { outcomeId }) => [
    "place",
    { orders: [order(outcomeId)], atomic: random.pick<unknown>([0, "true", null]) },
  ],
  (random) => [
    random.pick([
      "login",
      "Subscribe",
      "SUBSCRIBE",
      "toString",
      "constructor",
      "hasOwnProperty",
      "valueOf",
      "",
      "\u0000x".slice(1),
    ]),
    junk(random),
  ],
];

/** Texts that are not strict JSON or not a request, so that their answer has no nonce. */
const UNREADABLE: readonly ((random: Random, nonce: number) => string)[] = [
  (random, nonce) => `{"nonce":${nonce},"status":{}}`.slice(0, random.below(20)),
  (_, nonce) => `{"nonce":${nonce},"nonce":${nonce},"status":{}}`,
  (_, nonce) => `{"nonce":${nonce},"status":{},"status":{}}`,
  (_, nonce) => `{"nonce":${nonce},"subscribe":{"__proto__":{}}}`,
  (random, nonce) =>
    `{"nonce":${nonce},"status":${random.pick(["NaN", "Infinity", "1e3", "-0", "01", "undefined", "'x'", "{,}", "[1,]"])}}`,
  (random) =>
    `{"nonce":${random.pick(["9007199254740993", "1e3", "-0", "1e999", "0x1", "1".repeat(400)])},"status":{}}`,
  (random) => `{"nonce":${random.pick(["0", "-1", "1.5", '"1"', "null", "[]", "{}", "true"])},"status":{}}`,
  (_, nonce) => `{"nonce":${nonce},"status":${"[".repeat(40)}${"]".repeat(40)}}`,
  (_, nonce) => `{"nonce":${nonce},"status":{"a":"\\ud800"}}`,
  (_, nonce) => `{"nonce":${nonce},"status":{"a":"\\u0000"}}`,
  (_, nonce) => `\ufeff{"nonce":${nonce},"status":{}}x`,
  (_, nonce) => `{"nonce":${nonce},"status":{}} {}`,
  () => `{"status":{}}`,
  (random) => JSON.stringify(junk(random)),
  (random) =>
    Array.from({ length: random.below(200) }, () => String.fromCodePoint(1 + random.below(0xd7fe))).join(""),
];

function order(outcomeId: string): Record<string, unknown> {
  return { outcomeId, price: "0.400", qty: 1, tif: "GTC" };
}

function channels(random: Random): unknown {
  return random.pick<unknown>([
    "lifecycle",
    "trades",
    "bbo",
    "book",
    ["book", "trades"],
    ["bbo", "bbo", "lifecycle"],
  ]);
}

/** Returns a message after the accepted nonce `last`. Without `mayTrade` the answer to trading verbs is a refusal. */
export function randomCase(random: Random, world: World, last: number, mayTrade: boolean): Case {
  const nonce = last + 1 + (random.chance(0.1) ? random.below(1_000) : 0);
  const caseOf = ([verb, payload]: Verb, answer: string, own = nonce): Case => {
    const trades = ["place", "cancel", "cancel_all", "safety"].includes(verb);
    const refused = trades && !mayTrade && answer !== "INVALID_REQUEST" && answer !== "STALE_NONCE";
    return {
      text: JSON.stringify({ nonce: own, [verb]: payload }),
      nonce: own,
      answer: refused ? "SIGNATURE_REJECTED" : answer,
    };
  };
  const kind = random.below(10);
  if (kind < 3) {
    const [answer, make] = random.pick(RIGHT);
    return caseOf(make(random, world), answer);
  }
  if (kind < 6) {
    const [code, make] = random.pick(REFUSED);
    return caseOf(make(random, world), code);
  }
  if (kind < 8) return caseOf(random.pick(MISSHAPEN)(random, world), "INVALID_REQUEST");
  if (kind < 9)
    return { text: random.pick(UNREADABLE)(random, nonce), nonce: undefined, answer: "INVALID_REQUEST" };
  if (last > 0) {
    const make = random.chance(0.5) ? random.pick(MISSHAPEN) : (): Verb => ["status", {}];
    return caseOf(make(random, world), "STALE_NONCE", 1 + random.below(last));
  }
  const two = { nonce, status: {}, safety: { cancelOnDisconnect: false } };
  return { text: JSON.stringify(random.chance(0.5) ? two : { nonce }), nonce, answer: "INVALID_REQUEST" };
}
