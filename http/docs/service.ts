/** Paths that are no routes: health, documents, and the token of surface B. The stream is in the AsyncAPI document. */

import { tokenPathOf } from "../surface-b/auth/token-routes.js";
import { TOKEN_SECONDS } from "../surface-b/auth/tokens.js";
import { ref, type Json } from "./json.js";
import { refusalsOf } from "./refusals.js";
import type { Code } from "../request/errors.js";

const HEADERS = { "X-Request-Id": ref("headers", "X-Request-Id") };
const BEFORE_ROUTES: readonly Code[] = ["INVALID_REQUEST", "PAYLOAD_TOO_LARGE", "INTERNAL", "UNAVAILABLE"];
const ANY_OBJECT = { type: "object" };

/** Returns the error answers of an operation, each where it is used. */
function refusals(codes: readonly Code[]): Readonly<Record<string, Json>> {
  const entries = Object.entries(refusalsOf(new Set(codes), "A", HEADERS, false));
  return Object.fromEntries(entries.map(([status, { response }]) => [status, response]));
}

function reading(
  id: string,
  summary: string,
  content: Json,
  more: Readonly<Record<string, Json>> = {},
  parameters: readonly Json[] = [],
): Record<string, unknown> {
  return {
    get: {
      operationId: id,
      tags: ["service"],
      summary,
      description: "Authentication: none.",
      security: [],
      parameters,
      responses: {
        200: { description: "The request succeeded.", headers: HEADERS, content },
        ...refusals(BEFORE_ROUTES),
        ...more,
      },
    },
  };
}

const json = (schema: Json): Json => ({ "application/json": { schema } });
const object = (properties: Readonly<Record<string, Json>>, optional: readonly string[] = []): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const text = { type: "string" };
const uri = { type: "string", format: "uri" };
const texts = { type: "array", items: text };

const READINESS = object({
  ready: { type: "boolean" },
  redis: { type: "boolean" },
  postgres: { type: "boolean" },
  replica: {
    type: ["boolean", "null"],
    description:
      "Whether the replica of Postgres for lists answers; null when there is none. Without it, lists answer 503.",
  },
  ledgers: { type: "integer", description: "Number of ledger shards that answer." },
  projectorLag: {
    type: ["integer", "null"],
    description:
      "Number of log entries that are not in Postgres yet, or that the log has lost and Postgres still has.",
  },
  projecting: { type: "boolean", description: "False while no projector writes to Postgres." },
  reconciled: {
    type: ["integer", "null"],
    description: "Number of repairs of Postgres in the last day, after the log had lost entries.",
  },
  strayRows: {
    type: ["integer", "null"],
    description:
      "Number of rows in Postgres for whose month no partition exists, at most 1,000 of each table.",
  },
  halted: {
    ...texts,
    description: "Ids of the actors that stopped after an error; they leave the service ready.",
  },
  quarantined: {
    type: ["integer", "null"],
    description: "Number of commands on which actors have failed and which had no effect.",
  },
  stopping: { type: "boolean", description: "True while this gateway drains; use another one." },
  unreadable: {
    ...texts,
    description:
      "Ids of the actors of which this gateway cannot read the last entry, such as one of a newer build.",
  },
  room: {
    ...object({
      accepts: {
        enum: ["all", "cancels", "nothing"],
        description: "Commands that are accepted; `cancels`: everything but new orders.",
      },
      reason: { type: ["string", "null"], description: "Why other commands are refused." },
      memoryPercent: {
        type: "number",
        description: "Memory of Redis that is left until new orders are refused, in per cent of its limit.",
      },
      diskPercent: {
        type: ["number", "null"],
        description:
          "Disk of the embedded servers that is left until new orders are refused, in per cent; null for others.",
      },
    }),
    type: ["object", "null"],
  },
  clock: {
    ...object({
      heldMs: {
        type: "integer",
        description: "Engine time less the time of Redis, in ms, while a jump waits for an operator; else 0.",
      },
      hosts: {
        type: "object",
        additionalProperties: { type: "integer" },
        description:
          "Clock of the host less the time of Redis, in ms, of each process for which it is wrong.",
      },
    }),
    type: ["object", "null"],
  },
  processes: {
    type: "object",
    additionalProperties: texts,
    description: "Names of the processes that have reported within the last half minute, by role.",
  },
  format: object({
    active: { type: "integer", description: "Format of the data that is written." },
    announced: {
      type: "object",
      additionalProperties: { type: "integer" },
      description: "Number of live roles by the latest format that each of them reads.",
    },
  }),
});

const TOKEN_ERRORS = ["invalid_request", "invalid_client", "unsupported_grant_type", "too_many_requests"];
const TOKEN_FAILURES = ["server_error", "temporarily_unavailable"];

/** Returns an error answer in the shape of RFC 6749, section 5.2. */
function tokenRefusal(description: string, errors: readonly string[], headers: Json = {}): Json {
  return {
    description,
    headers: { ...HEADERS, ...headers },
    content: json(object({ error: { type: "string", enum: errors }, error_description: text })),
  };
}

function tokenPaths(prefix: string): Readonly<Record<string, Json>> {
  const path = tokenPathOf(prefix);
  const tags = ["market makers"];
  const fields = object(
    { grant_type: { const: "client_credentials" }, client_id: text, client_secret: text },
    ["client_id", "client_secret"],
  );
  const form = { ...fields, additionalProperties: text };
  const [malformed = "", unknownClient = "", grant = "", often = ""] = TOKEN_ERRORS;
  const [failed = "", unavailable = ""] = TOKEN_FAILURES;
  const retry = { "Retry-After": ref("headers", "Retry-After") };
  const challenge = { "WWW-Authenticate": ref("headers", "WWW-Authenticate") };
  const example = {
    grant_type: "client_credentials",
    client_id: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0a",
    client_secret: "the secret",
  };
  return {
    [path]: {
      post: {
        operationId: "postEmmToken",
        tags,
        summary: "Create an access token",
        description:
          "Exchanges client credentials for a bearer token that is valid for 30 minutes. Send the credentials as JSON, as a form, or with HTTP Basic as in RFC 6749. Attempts with a wrong secret are limited per client and per address.",
        security: [{}, { client: [] }],
        parameters: [],
        requestBody: {
          required: true,
          content: {
            "application/json": { schema: form, example },
            "application/x-www-form-urlencoded": { schema: form },
          },
        },
        responses: {
          ...refusals([]),
          200: {
            description: "The token is created.",
            headers: HEADERS,
            content: json(
              object({
                access_token: text,
                token_type: { const: "bearer" },
                expires_in: { const: TOKEN_SECONDS },
              }),
            ),
          },
          400: tokenRefusal("The request is malformed, or asks for another grant.", [malformed, grant]),
          401: tokenRefusal("The client is unknown, or the secret is wrong.", [unknownClient], challenge),
          413: tokenRefusal("The body is too large.", [malformed]),
          429: tokenRefusal("Too many tokens were created, or too many secrets were wrong.", [often], retry),
          500: tokenRefusal("The service failed unexpectedly.", [failed]),
          503: tokenRefusal("A part of the exchange cannot be reached.", [unavailable], retry),
        },
      },
    },
    "/.well-known/oauth-authorization-server": reading(
      "getAuthorizationServer",
      "Retrieve the metadata of the authorization server",
      json(
        object({
          issuer: uri,
          token_endpoint: uri,
          grant_types_supported: texts,
          response_types_supported: texts,
          token_endpoint_auth_methods_supported: texts,
        }),
      ),
    ),
  };
}

/** Returns every path that is no route. */
export function servicePaths(prefix: string): Readonly<Record<string, Record<string, unknown>>> {
  const notReady = {
    description: "A dependency does not answer.",
    headers: HEADERS,
    content: json(READINESS),
  };
  const html = { "text/html": { schema: text } };
  // With `OPS_PORT`, another port serves these paths.
  const elsewhere = refusals(["ROUTE_NOT_FOUND"]);
  return {
    "/healthz": reading(
      "getHealth",
      "Check that the process runs",
      json(object({ ok: { const: true } })),
      elsewhere,
    ),
    "/readyz": reading("getReadiness", "Check that the dependencies answer", json(READINESS), {
      ...elsewhere,
      503: notReady,
    }),
    "/metrics": reading(
      "getMetrics",
      "Retrieve the Prometheus metrics",
      { "text/plain": { schema: text } },
      elsewhere,
    ),
    "/openapi.json": reading("getOpenApi", "Retrieve this document", json(ANY_OBJECT)),
    "/asyncapi.json": reading("getAsyncApi", "Retrieve the document of the stream", json(ANY_OBJECT)),
    "/docs": reading("getDocs", "Open this document as a page", html),
    "/docs/{file}": reading("getDocsFile", "Retrieve a file of the page", { "*/*": {} }, {}, [
      { name: "file", in: "path", required: true, schema: text, example: "start.js" },
    ]),
    ...tokenPaths(prefix),
  };
}
