/**
 * Builds the AsyncAPI 3 document of the stream (contract section 6) from the shapes that validate requests, and from the
 * shapes against which the tests check frames.
 */

import { z } from "zod";
import * as deltas from "../../stream/ws/market/public-deltas.js";
import * as frames from "../../stream/ws/socket/frames.js";
import { VERBS, type Verb } from "../../stream/ws/socket/protocol.js";
import { CatalogEvent, EventsQuery, Market, MarketsQuery } from "../surface-a/schemas/catalog.js";
import { datedPageOf } from "../request/fields.js";
import { PlaceOrder } from "../surface-a/schemas/orders.js";
import { MAX_BATCH } from "../../actors/limits.js";
import { CONTACT, LICENSE } from "./prose.js";
import { simplify } from "./shapes.js";

type Json = Readonly<Record<string, unknown>>;

/** Summary of each verb, and the frame that answers it. */
const VERB_NOTES: Readonly<Record<Verb, { readonly summary: string; readonly reply: ReplyName }>> = {
  subscribe: {
    summary:
      "Subscribe to markets, events and your own orders and positions; with `since`, resume after the last seqs",
    reply: "Subscribed",
  },
  unsubscribe: {
    summary: "Unsubscribe from subjects: `market:<id>`, `event:<id>` or `PRIVATE`",
    reply: "Unsubscribed",
  },
  snapshot: { summary: "Read the snapshot of a selection without subscribing", reply: "Snapshot" },
  status: { summary: "Read your subscriptions and the tokens left", reply: "Status" },
  query_markets: {
    summary: "Read a page of markets, with the filters of GET /v3/catalog/markets",
    reply: "Markets",
  },
  query_events: {
    summary: "Read a page of events, with the filters of GET /v3/catalog/events",
    reply: "Events",
  },
  place: {
    summary: `Place up to ${MAX_BATCH} orders, with the checks of POST /v3/orders/batch`,
    reply: "Placed",
  },
  cancel: { summary: `Cancel up to ${MAX_BATCH} orders`, reply: "Canceled" },
  cancel_all: { summary: "Cancel all orders of the wallet within a scope", reply: "CanceledAll" },
  safety: {
    summary:
      "Choose whether all orders of the wallet are canceled when this connection closes or its gateway dies",
    reply: "SafetySet",
  },
  fault: {
    summary: "Sandbox only: make this connection lose frames, stall, or receive a storm of lifecycle changes",
    reply: "FaultSet",
  },
};

const REPLIES = {
  Subscribed: frames.Subscribed,
  Unsubscribed: frames.Unsubscribed,
  Snapshot: frames.Snapshot,
  Status: frames.Status,
  Markets: frames.Markets.extend({ markets: datedPageOf(Market) }),
  Events: frames.Events.extend({ events: datedPageOf(CatalogEvent) }),
  Placed: frames.Placed,
  Canceled: frames.Canceled,
  CanceledAll: frames.CanceledAll,
  SafetySet: frames.SafetySet,
  FaultSet: frames.FaultSet,
} as const;
type ReplyName = keyof typeof REPLIES;

/** Frames that a gateway sends without a request. */
const PUSHED = { Delta: frames.Delta, Heartbeat: frames.Heartbeat, Appeared: frames.Appeared } as const;

/** Shapes inside others that get a name of their own. */
const PARTS = {
  MarketBatches: frames.MarketBatches,
  MarketSnapshot: frames.MarketSnapshot,
  LifecycleDelta: deltas.LifecycleDelta,
  TradeDelta: deltas.TradeDelta,
  BboDelta: deltas.BboDelta,
  BookDelta: deltas.BookDelta,
  OrdersDelta: frames.OrdersDelta,
  OrdersBatch: frames.OrdersBatch,
  PositionsBatch: frames.PositionsBatch,
  OpenOrder: frames.OpenOrder,
  Position: frames.Position,
  Market,
  CatalogEvent,
} as const;

const MARKET = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const EVENT = "0b1d7d3e-5c0f-4b6e-9a53-0d2f7b0f2f11";
const OUTCOME = "9a3d0c52-41a8-4a0e-8f43-3f5b2f2f8f10";
const ORDER = "b8f5f1de-3d1c-4c5b-8a4e-2a0f1b6d7c33";
const EXAMPLES: Readonly<Record<string, readonly Json[]>> = {
  subscribe: [
    {
      nonce: 1,
      subscribe: {
        markets: { [MARKET]: ["book", "trades"] },
        private: ["orders"],
        since: { [`market:${MARKET}`]: { book: 41 }, orders: 7 },
      },
    },
  ],
  place: [
    {
      nonce: 2,
      place: { orders: [{ outcomeId: OUTCOME, price: "0.665", qty: 100, tif: "GTC" }], atomic: false },
    },
  ],
  Delta: [
    {
      ts: 1_700_000_000_000,
      delta: {
        [MARKET]: {
          eventId: EVENT,
          book: {
            seq: 42,
            deltas: [{ kind: "add", orderId: ORDER, outcomeId: OUTCOME, price: "0.665", qty: 100 }],
          },
        },
      },
    },
  ],
  Heartbeat: [
    {
      heartbeat: {
        ts: 1_700_000_015_000,
        orders: 7,
        markets: { [MARKET]: { lifecycle: 1, book: 42, checksum: 2_914_839_012 } },
      },
    },
  ],
  Error: [{ nonce: 2, code: "INVALID_PRICE", message: "price 0.6651 is not on the tick table" }],
};

/** Address of the text of the license; AsyncAPI has no field for its identifier. */
const LICENSE_URL = "https://spdx.org/licenses/MIT.html";

const ABOUT = `Open the stream by an upgrade of \`GET /v3/ws\`. Sign it like any GET, with a key of the scope \`trading\` or
\`trading::read\`, or send a ticket that \`POST /v3/ws/tickets\` returned. It costs 32 tokens of \`stream\`. A refused
upgrade is answered in plain HTTP, with the codes of the other routes: 400 \`INVALID_QUERY\`, 401 \`UNAUTHENTICATED\` or
\`SIGNATURE_REJECTED\`, 403 \`SIGNATURE_REJECTED\`, 423, 429 \`RATE_LIMIT_EXCEEDED\`, 451 or 503 \`UNAVAILABLE\`.

A request is \`{ "nonce": n, "<verb>": payload }\`. Nonces start at 1 and rise. A frame with a nonce answers
the request that had it.

Batches carry a \`seq\`, counted per market, channel and currency, and for private channels per subaccount and channel.
The first batch after a snapshot carries the next \`seq\`, without a gap. Seqs survive restarts and fail-overs.

Messages are text, at most 64 KiB each and at most 50 a second.

The server closes a socket with one of these codes:

- 1008: \`SLOW_CONSUMER\`, \`RATE_LIMIT_EXCEEDED\`, \`KEY_REVOKED\`, \`KEY_EXPIRED\`, \`SESSION_ENDED\`, or the code of an
  account or a location that may not trade
- 1012: the server restarts or lost continuity; reconnect at once
- 1009: the message is too large
- 1003: the message is binary
- 1007: the message is not UTF-8`;

/** Address of the stream. */
export interface StreamAddress {
  /** Host name and port. */
  readonly host: string;
  readonly secure: boolean;
}

/** Returns the document for an address; it has the verb `fault` only in a sandbox. Built at the first request. */
export function asyncApi(options: {
  readonly brand: string;
  readonly sandbox: boolean;
}): (address: StreamAddress) => Json {
  let made: (Json & { readonly info: Json }) | undefined;
  return ({ host, secure }) => {
    made ??= describe(options);
    const { hostname, href: url } = new URL(`${secure ? "https" : "http"}://${host}/docs`);
    // The mailbox of RFC 2142 for the users of a host; AsyncAPI linters require one.
    const contact = { ...CONTACT, url, email: `support@${hostname}` };
    const security = ["signature", "ticket"].map((name) => ({
      $ref: `#/components/securitySchemes/${name}`,
    }));
    return {
      ...made,
      info: { ...made.info, contact },
      servers: { gateway: { host, protocol: secure ? "wss" : "ws", security } },
    };
  };
}

function describe({ brand, sandbox }: Parameters<typeof asyncApi>[0]): Json & { readonly info: Json } {
  const verbs = (Object.keys(VERB_NOTES) as Verb[]).filter((verb) => verb !== "fault" || sandbox);
  const requests = Object.fromEntries(verbs.map((verb) => [verb, requestOf(verb)]));
  const answers = { ...REPLIES, Error: frames.ErrorFrame, ...PUSHED };
  const messages = { ...requests, ...answers };
  const channel = { $ref: "#/channels/stream" };
  const message = (name: string): Json => ({ $ref: `#/channels/stream/messages/${name}` });
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Overround: the stream",
      version: "3",
      description: ABOUT,
      license: { name: LICENSE.name, url: LICENSE_URL },
      tags: [{ name: "stream", description: "Market data, and the orders and positions of a wallet." }],
    },
    defaultContentType: "application/json",
    channels: {
      stream: {
        address: "/v3/ws",
        title: "The stream",
        messages: Object.fromEntries(
          Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: {
          ws: {
            method: "GET",
            query: { type: "object", properties: { ticket: { type: "string" } } },
            bindingVersion: "0.1.0",
          },
        },
      },
    },
    operations: {
      ...Object.fromEntries(
        verbs.map((verb) => [
          verb,
          {
            action: "receive",
            channel,
            description: `${VERB_NOTES[verb].summary}.`,
            messages: [message(verb)],
            reply: { channel, messages: [message(VERB_NOTES[verb].reply), message("Error")] },
          },
        ]),
      ),
      sendDeltas: {
        action: "send",
        channel,
        description: "Deltas of your subscriptions, and snapshots of new markets in subscribed events.",
        messages: [message("Delta"), message("Appeared")],
      },
      sendHeartbeats: {
        action: "send",
        channel,
        description: "Every 15 s: the last seq of every subscribed channel, with checksums of books.",
        messages: [message("Heartbeat")],
      },
    },
    components: {
      messages: Object.fromEntries(
        Object.keys(messages).map((name) => [
          name,
          {
            name,
            payload: { $ref: `#/components/schemas/${name}` },
            ...(EXAMPLES[name] && { examples: EXAMPLES[name].map((payload) => ({ payload })) }),
          },
        ]),
      ),
      schemas: { ...jsonSchemas(requests, "input"), ...jsonSchemas({ ...answers, ...PARTS }, "output") },
      securitySchemes: {
        signature: {
          type: "httpApiKey",
          in: "header",
          name: `${brand}-Signature`,
          description: `Signature of the upgrade, with ${brand}-Key-Id and ${brand}-Timestamp, as of any signed GET`,
        },
        ticket: {
          type: "httpApiKey",
          in: "query",
          name: "ticket",
          description: "For browsers: a ticket from POST /v3/ws/tickets, valid once and for 30 s",
        },
      },
    },
  };
}

/** Returns the shape of a request. Parts that the REST routes validate have the shapes of those routes. */
function requestOf(verb: Verb): z.ZodType {
  const payloads: Partial<Record<Verb, z.ZodType>> = {
    place: VERBS.place.extend({ orders: z.array(PlaceOrder).min(1).max(MAX_BATCH) }),
    query_markets: filtersOf(MarketsQuery),
    query_events: filtersOf(EventsQuery),
  };
  return z.strictObject({ nonce: z.int().min(1), [verb]: payloads[verb] ?? VERBS[verb] });
}

/** Returns the shape of query parameters in JSON, where numbers may be numbers and lists may be arrays. */
function filtersOf(query: z.ZodObject): z.ZodType {
  const value = z.union([z.string(), z.number(), z.array(z.string())]).optional();
  return z.strictObject(Object.fromEntries(Object.keys(query.shape).map((name) => [name, value])));
}

function jsonSchemas(shapes: Readonly<Record<string, z.ZodType>>, io: "input" | "output"): Json {
  const named = z.registry<{ id: string }>();
  for (const [id, shape] of Object.entries(shapes)) named.add(shape, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const override = ({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void =>
    simplify(jsonSchema);
  const { schemas } = z.toJSONSchema(named, { target: "draft-7", io, uri, override });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _schema, $id: _id, ...schema }]) => [id, schema]),
  );
}
