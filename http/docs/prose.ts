/** What the document says in words: about the whole, the price of a route, its parameters, headers and credentials. */

import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { Access } from "../request/access.js";
import { ERRORS, statusOnB, wireCode } from "../request/errors.js";
import type { Metering } from "../request/metering.js";
import { KEY_BUCKETS } from "../request/throttle.js";
import type { Json } from "./json.js";

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The front page of the document. */
export function about(brand: string, prefix: string): string {
  const buckets = Object.entries(KEY_BUCKETS).map(([name, { capacity, refillPerSec }]) => [
    name,
    capacity,
    refillPerSec,
  ]);
  const errors = ERRORS.map(({ code, status, meaning, remedy }) => [
    status,
    statusOnB(code) === status ? "" : statusOnB(code),
    `\`${wireCode(code)}\``,
    meaning,
    remedy,
  ]);
  return `An exchange of contracts on outcomes. Surface A (\`/v3\`) takes signed requests, surface B (\`/${prefix}/v2/emm\`)
bearer tokens of OAuth 2.0 client credentials, and \`/admin/v1\` is for operators. The stream, \`GET /v3/ws\`, is
described by [/asyncapi.json](/asyncapi.json). This page is made of the schemas that requests are read by.

## Signing
Headers \`${brand}-Key-Id\`, \`${brand}-Timestamp\` (Unix ms, at most 30 s off) and \`${brand}-Signature\`: the standard
padded base64 of the signature of six lines, joined by LF without one at the end:

    ${brand.toUpperCase()}-V3
    the timestamp
    the method, upper case
    the path as sent
    the canonical query: pairs re-encoded (A-Z a-z 0-9 - . _ ~ stay), sorted, joined by &
    the lower-case hex SHA-256 of the body's bytes

Ed25519 signs that text; P-256 is ECDSA with SHA-256 in DER. The same signed bytes are the same request: a POST or
PATCH takes effect once, and a repeat gets the first answer with \`X-Replayed: true\`.

## Lists, money, time
\`limit\` and \`after\` (the \`next\` of the page before; absent on the last). Money and prices of surface A are decimal
strings, of surface B numbers. Times of surface A are Unix ms, of surface B ISO 8601.

## Buckets
Per key; a request spends its cost and the bucket refills continuously. Over it: 429, and waiting \`Retry-After\` seconds is
enough.

${table(["Bucket", "Capacity", "Tokens per second"], buckets)}

## Errors
Surface A and the operator's routes answer \`{ code, message }\`, surface B \`{ statusCode, error, message, code }\`; the
message names the field and the remedy where there is more to say than here. The edge answers 403 in HTML, without
a code.

<details><summary>Every code</summary>

${table(["Status", "On B", "Code", "Means", "Remedy"], errors)}

</details>`;
}

/** What a request costs. */
export function costOf(access: Access, metering: Metering): string {
  if (access.kind === "client") return `Rate per client: ${access.rates.map(rateOf).join(", and ")}.`;
  if (access.kind === "public") return "Counted by the edge, per address.";
  return metering.words === "free" ? "Free." : `Bucket and cost: ${metering.words}.`;
}

function rateOf({ capacity, refill, periodMs }: TokenBucket): string {
  const period =
    periodMs === 1_000 ? "a second" : periodMs === 60_000 ? "a minute" : `per ${periodMs / 1_000} s`;
  return capacity === refill ? `${refill} ${period}` : `${refill} ${period} in bursts of ${capacity}`;
}

/** What query parameters mean, wherever they appear. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  limit: "How many rows at most.",
  after: "The cursor of the page before.",
  offset: "How many rows to leave out.",
  startsAfter: "Only later ones than this, Unix ms.",
  startsBefore: "Only earlier ones than this, Unix ms.",
  before: "Only earlier ones than this, ISO 8601.",
  league: "Names of leagues, comma-separated.",
  leagues: "Names of leagues, comma-separated.",
  marketType: "Names of market types, comma-separated.",
  marketTypes: "Names of market types, comma-separated.",
  status: "Statuses, comma-separated.",
  eventStatus: "Statuses of the event, comma-separated.",
  type: "Event types, comma-separated.",
  event: "Only of this event.",
  market: "Only of this market.",
  outcome: "Only of this outcome.",
  order: "Only of this order.",
  outcomeIds: "Only of these outcomes, comma-separated; empty: of none.",
  currency: "The book, and the balance: CASH or COIN.",
  clientId: "The order of this clientId.",
  kind: "Only of this kind.",
  view: "Order by order, or levels with implied asks.",
  from: "From then on, Unix ms.",
  to: "Before then, Unix ms.",
  interval: "The length of a candle.",
  preview: "Only show what would happen.",
  email: "Only the account of this address.",
  subject: "Only of this id.",
};

const text = (description: string): Json => ({ description, schema: { type: "string" } });
const whole = (description: string): Json => ({ description, schema: { type: "integer" } });

/** The headers of answers. */
export function headerComponents(brand: string): Json {
  return {
    "X-Request-Id": { ...text("Names the request in the logs."), required: true },
    "X-Replayed": text("`true`: the first answer to these signed bytes, again."),
    "X-RateLimit-Bucket": text("The bucket that was charged; on surface B the rate that has the least left."),
    "X-RateLimit-Cost": whole("What was charged."),
    "X-RateLimit-Remaining": whole("What is left."),
    "X-RateLimit-Limit": whole("What the bucket holds."),
    "Retry-After": { ...whole("Seconds to wait."), required: true },
    "WWW-Authenticate": text("How to authenticate."),
    ETag: text("Names this state of the answer, for If-None-Match."),
    Link: text('The next page, `rel="next"`.'),
    "X-Next-Cursor": text("The next page's `after`."),
    "Sec-WebSocket-Version": text(
      "The version of RFC 6455 that is spoken, when a handshake was for another.",
    ),
    Sunset: text("When the route ended."),
    Canonical: text(
      `The text that the server built of the request, base64, for \`${brand}-Debug: canonical\`.`,
    ),
  };
}

/** The ways to authenticate. */
export function securitySchemes(brand: string, prefix: string): Json {
  const header = (name: string, description: string): Json => ({
    type: "apiKey",
    in: "header",
    name,
    description,
  });
  return {
    keyId: header(`${brand}-Key-Id`, "The key's uuid"),
    timestamp: header(`${brand}-Timestamp`, "Unix ms"),
    signature: header(`${brand}-Signature`, "Base64; see Signing"),
    webSession: {
      type: "http",
      scheme: "bearer",
      bearerFormat: "JWT",
      description: "The token of POST /v3/session",
    },
    clientCredentials: {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: `/${prefix}/v1/auth/emm-token`, scopes: {} } },
    },
    client: { type: "http", scheme: "basic", description: "Client id and secret" },
  };
}

const tag = (name: string, description: string): Json => ({ name, description });
/** In the order of the page. */
export const TAGS: readonly Json[] = [
  tag("service", "Limits, echo, health and documents"),
  tag("sessions", "Accounts, logins and device check-ins"),
  tag("keys", "Keys that sign"),
  tag("subaccounts", "Wallets, their keys, transfers and transactions"),
  tag("catalog", "Events, markets, books, trades and candles"),
  tag("public", "The catalog without credentials"),
  tag("orders", "Placing, changing, canceling and reading orders"),
  tag("portfolio", "Open orders, positions and fills"),
  tag("safety", "The dead-man switch and order groups"),
  tag("stream", "The websocket"),
  tag("market makers", "Surface B"),
  tag("operator: markets", "Events, markets and their settlement"),
  tag("operator: traders", "Verification, states and money of traders"),
  tag("operator: market makers", "Clients of surface B and their strike requests"),
  tag("operator: exchange", "Ticks, leagues, locations, maintenance, the audit log and the money report"),
];
