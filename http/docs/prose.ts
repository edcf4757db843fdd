/** Texts of the OpenAPI document: its front page, and the costs, parameters, headers and credentials of routes. */

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

/** License of the service, and whom to ask about it. */
export const LICENSE = { name: "MIT", identifier: "MIT" } as const;
export const CONTACT = { name: "The operator of this exchange" } as const;

/** Returns the front page of the document. */
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
  return `Overround is an exchange for contracts on the outcomes of sports events.

- **Surface A** (\`/v3\`) is for traders and their programs. A key signs each request.
- **Surface B** (\`/${prefix}/v2/emm\`) is for external market makers. It accepts bearer tokens of OAuth 2.0 client
  credentials.
- **Operators** use \`/admin/v1\` with a web session.
- **The stream** (\`GET /v3/ws\`) is a websocket. [/asyncapi.json](/asyncapi.json) describes its messages.

The service validates requests with the schemas that this page shows.

## Signing
Send three headers: \`${brand}-Key-Id\`, \`${brand}-Timestamp\` (Unix ms, within 30 s of the time of the service) and
\`${brand}-Signature\` (standard base64 with padding). The signature is of these six lines, joined by LF, without a LF
at the end:

    ${brand.toUpperCase()}-V3
    the timestamp, as in the header
    the method in upper case
    the path as sent
    the canonical query: pairs re-encoded (A-Z a-z 0-9 - . _ ~ stay), sorted, joined by &
    the SHA-256 of the body in lower-case hex

An Ed25519 key signs the text itself. A P-256 key signs with ECDSA and SHA-256, in DER. The same signed bytes are the
same request: a POST or PATCH takes effect once, and a repeat returns the first answer with \`X-Replayed: true\`.

## Lists, money and times
A list takes \`limit\` and \`after\`, which is the \`next\` of the previous page. The last page has no \`next\`. Surface A
writes money and prices as decimal strings, surface B as numbers. Surface A writes times in Unix ms, surface B in
ISO 8601. In a body, \`null\` for an optional field counts as an absent field.

## Buckets
Each wallet, each trader and each read key has the buckets below: a \`trading\` key pays from the buckets of its wallet, a
\`management\` key and a web session from those of their trader. A request takes its cost out of a bucket, and the bucket
refills continuously. A request for more tokens than the bucket holds is refused with 429; retry after \`Retry-After\`
seconds. A request that costs tokens per row needs its base only; its rows are charged with its answer and may leave a
debt. Of these requests 4 run at the same time.

${table(["Bucket", "Capacity", "Tokens per second"], buckets)}

## Errors
Surface A and the operator's routes answer \`{ code, message }\`, surface B answers
\`{ statusCode, error, message, code }\`. The message of an answer is often more specific than the table below: it names
the field and the remedy. The edge, which limits requests per address, answers 403 in HTML without a code.

<details><summary>Every code</summary>

${table(["Status", "On surface B", "Code", "Meaning", "Remedy"], errors)}

</details>`;
}

/** Returns the sentence about the cost of a route. */
export function costOf(access: Access, metering: Metering): string {
  if (access.kind === "client") {
    const rates = `Rate per client: ${access.rates.map(rateOf).join(" and ")}`;
    return access.perItem === undefined
      ? `${rates}.`
      : `${rates}; each item of \`${access.perItem}\` counts.`;
  }
  if (access.kind === "public") return "Cost: free. The edge limits the requests of each address.";
  return `Cost: ${metering.words}.`;
}

function rateOf({ capacity, refill, periodMs }: TokenBucket): string {
  const period =
    periodMs === 1_000 ? "per second" : periodMs === 60_000 ? "per minute" : `per ${periodMs / 1_000} s`;
  return capacity === refill ? `${refill} ${period}` : `${refill} ${period} in bursts of ${capacity}`;
}

/** Descriptions of query parameters: a name has one meaning, on whichever route it appears. */
export const PARAMETERS: Readonly<Record<string, string>> = {
  limit: "Maximum number of rows.",
  after: "Cursor that the previous page returned.",
  offset: "Number of rows to skip.",
  startsAfter:
    "Exclusive lower bound in Unix ms: of the event's start in the catalog, of the row's time elsewhere.",
  startsBefore:
    "Exclusive upper bound in Unix ms: of the event's start in the catalog, of the row's time elsewhere.",
  before: "Exclusive upper bound of the row's time, in ISO 8601.",
  league: "Names of leagues, separated by commas.",
  leagues: "Names of leagues, separated by commas.",
  marketType: "Names of market types, separated by commas.",
  marketTypes: "Names of market types, separated by commas.",
  status: "Statuses, separated by commas.",
  eventStatus: "Statuses of events, separated by commas.",
  type: "Event types, separated by commas.",
  subaccount:
    "A key of the subaccount whose wallet is read. A web session has to name one; a trading key may name its own.",
  event: "Id of an event; returns or changes only what belongs to it.",
  market: "Id of a market; returns or changes only what belongs to it.",
  outcome: "Id of an outcome; returns or changes only what belongs to it.",
  order: "Id of an order; returns only its fills.",
  outcomeIds: "Ids of outcomes, separated by commas. An empty value matches nothing.",
  currency: "Currency of the book and the wallet: `CASH` or `COIN`.",
  clientId: "Client id of an order. The answer is that order instead of a page.",
  kind: "Kind of transaction.",
  depth: "Number of price levels of each outcome; all levels without it.",
  view: "`ladder` returns every resting order, `simple` the price levels with implied asks.",
  from: "Start of the range in Unix ms, inclusive.",
  to: "End of the range in Unix ms, exclusive.",
  interval: "Length of a candle.",
  preview: "With `true` the request changes nothing and returns what it would pay or take back.",
  email: "E-mail address of an account.",
  subject: "Id that the records are about.",
};

const text = (description: string): Json => ({ description, schema: { type: "string" } });
const whole = (description: string): Json => ({ description, schema: { type: "integer" } });

/** Returns the headers of answers. */
export function headerComponents(brand: string): Json {
  return {
    "X-Request-Id": { ...text("Identifies the request in the logs of the service."), required: true },
    "X-Replayed": text("`true` when this is the first answer to the same signed bytes, sent again."),
    "X-RateLimit-Bucket": text("Bucket that was charged; on surface B the rate with the fewest tokens left."),
    "X-RateLimit-Cost": whole("Tokens that were charged."),
    "X-RateLimit-Remaining": whole("Tokens that are left."),
    "X-RateLimit-Limit": whole("Capacity of the bucket, in tokens."),
    "Retry-After": { ...whole("Seconds to wait before the next attempt."), required: true },
    "WWW-Authenticate": text("Scheme to authenticate with."),
    ETag: text("Version of the answer; send it back in `If-None-Match`."),
    Link: text('Address of the next page, with `rel="next"`.'),
    "X-Next-Cursor": text("Cursor of the next page; send it as `after`."),
    Canonical: text(
      `Canonical text that the service built from the request, in base64; sent for \`${brand}-Debug: canonical\`.`,
    ),
  };
}

/** Returns the ways to authenticate. */
export function securitySchemes(brand: string, prefix: string): Json {
  const header = (name: string, description: string): Json => ({
    type: "apiKey",
    in: "header",
    name,
    description,
  });
  return {
    keyId: header(`${brand}-Key-Id`, "UUID of the key"),
    timestamp: header(`${brand}-Timestamp`, "Time of signing, in Unix ms"),
    signature: header(`${brand}-Signature`, "Signature in base64; see Signing"),
    webSession: {
      type: "http",
      scheme: "bearer",
      bearerFormat: "JWT",
      description: "Token that `POST /v3/session` returned",
    },
    clientCredentials: {
      type: "oauth2",
      flows: { clientCredentials: { tokenUrl: `/${prefix}/v1/auth/emm-token`, scopes: {} } },
    },
    client: { type: "http", scheme: "basic", description: "Client id and secret of a market maker" },
  };
}

const tag = (name: string, description: string): Json => ({ name, description });
/** Groups of routes, in the order of the page. */
export const TAGS: readonly Json[] = [
  tag("service", "Limits, the echo for signers, health checks and these documents."),
  tag("sessions", "Accounts of traders, web sessions and device check-ins."),
  tag("keys", "Keys that sign requests."),
  tag("subaccounts", "Wallets with their keys, balances, transfers and transactions."),
  tag("catalog", "Events, markets, books, trades and candles."),
  tag("public", "The catalog and the changelog, without credentials."),
  tag("orders", "Placing, previewing, changing, canceling and reading orders."),
  tag("portfolio", "Open orders, positions and fills of a wallet."),
  tag("safety", "The dead-man switch and order groups."),
  tag(
    "stream",
    "Tickets for the websocket `GET /v3/ws`, which has market data and the orders of a wallet; [/asyncapi.json](/asyncapi.json) describes it.",
  ),
  tag("market makers", "Surface B: markets, books, orders and history for external market makers."),
  tag("operator: markets", "Events and markets, their life cycle and their settlement."),
  tag("operator: traders", "Identity, state and money of traders."),
  tag("operator: market makers", "Clients of surface B and their strike requests."),
  tag("operator: exchange", "Ticks, leagues, regions, maintenance, the audit log and the money report."),
];
