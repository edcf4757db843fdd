/**
 * Routes of OAuth 2.0 client credentials (contract section 7.2): the token, the metadata for stock clients, and the
 * withdrawn token route. Refusals have the shape of RFC 6749.
 */

import type { Express, RequestHandler, Response } from "express";
import { statusOnB, type Refused } from "../../request/errors.js";
import { publicUrlOf } from "../../edge/public-url.js";
import { inTime } from "../../request/in-time.js";
import { incomingOf, localsOf, notesOf, REPEATED, type Incoming } from "../../edge/incoming.js";
import { JsonError, readJson } from "../../edge/json.js";
import type { Clients } from "./clients.js";
import { TOKEN_SECONDS } from "./tokens.js";

interface TokenRouteParts {
  readonly clients: Clients;
  /** First segment of the paths of surface B. */
  readonly prefix: string;
  /** URL at which clients reach this service, without a trailing slash; absent: the URL of the request. */
  readonly publicUrl: string | undefined;
}

/** Refusal in the shape of RFC 6749, section 5.2. */
class TokenRefused extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    readonly description: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
  }
}

/** Date on which the older route was withdrawn (specification, Versioning). */
const SUNSET = "Sat, 31 Jan 2026 00:00:00 GMT";
const PRIVATE = { "Cache-Control": "no-store", Pragma: "no-cache" };

const malformed = (description: string): TokenRefused =>
  new TokenRefused(400, "invalid_request", description);
/** Refuses a client. Credentials of a header are answered with the challenge of its scheme (RFC 6749, section 5.2). */
const invalidClient = (description: string, by: Credentials["by"]): TokenRefused =>
  new TokenRefused(
    401,
    "invalid_client",
    description,
    by === "header" ? { "WWW-Authenticate": 'Basic realm="emm"' } : {},
  );

type Fields = Readonly<Partial<Record<"grant_type" | "client_id" | "client_secret", string>>>;
const FIELDS = ["grant_type", "client_id", "client_secret"] as const;

/**
 * Reads the parameters of a JSON or form body. Unknown parameters are ignored, and one without a value counts as left
 * out, as RFC 6749, section 3.2, requires.
 */
function readFields(request: Incoming): Fields {
  const header = request.header("content-type");
  const type = typeof header === "string" ? header.split(";", 1)[0]?.trim().toLowerCase() : undefined;
  if (request.header("content-encoding") !== undefined)
    throw malformed("the body must be sent without Content-Encoding");
  if (type === "application/json") return readJsonFields(request.body);
  if (type === "application/x-www-form-urlencoded") return readFormFields(request.body);
  throw malformed(
    "the body must have the Content-Type application/json or application/x-www-form-urlencoded",
  );
}

function readJsonFields(body: Buffer): Fields {
  let value: unknown;
  try {
    value = readJson(body);
  } catch (error) {
    if (error instanceof JsonError) throw malformed(`the body is not acceptable JSON: ${error.message}`);
    throw error;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw malformed("the body must be a JSON object");
  const given = value as Readonly<Record<string, unknown>>;
  const fields: Partial<Record<(typeof FIELDS)[number], string>> = {};
  for (const name of FIELDS) {
    const field = given[name];
    if (field === undefined) continue;
    if (typeof field !== "string") throw malformed(`${name} must be a string`);
    if (field !== "") fields[name] = field;
  }
  return fields;
}

function readFormFields(body: Buffer): Fields {
  const given = new URLSearchParams(body.toString("utf8"));
  const fields: Partial<Record<(typeof FIELDS)[number], string>> = {};
  for (const name of FIELDS) {
    const [field, ...more] = given.getAll(name);
    if (more.length > 0) throw malformed(`${name} is given more than once`);
    if (field !== undefined && field !== "") fields[name] = field;
  }
  return fields;
}

interface Credentials {
  readonly id: string;
  readonly secret: string;
  /** Part of the request that they came in. */
  readonly by: "header" | "body";
}

/** Reads Basic credentials, whose halves are form-encoded before they are joined (RFC 6749, section 2.3.1). */
function readBasic(header: string): Credentials {
  const encoded = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  const text = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon === -1) throw invalidClient("the Authorization header has no valid Basic credentials", "header");
  const decode = (half: string): string => decodeURIComponent(half.replaceAll("+", "%20"));
  try {
    return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)), by: "header" };
  } catch {
    throw invalidClient("the Basic credentials have a malformed escape", "header");
  }
}

function readCredentials(request: Incoming, fields: Fields): Credentials {
  const header = request.header("authorization");
  if (header === REPEATED) throw malformed("the Authorization header is given more than once");
  const { client_id: id, client_secret: secret } = fields;
  if (header === undefined) {
    if (id === undefined || secret === undefined)
      throw invalidClient("client_id and client_secret are required", "body");
    return { id, secret, by: "body" };
  }
  const basic = readBasic(header);
  if (secret !== undefined || (id !== undefined && id !== basic.id))
    throw malformed("the client authenticates in two ways; use the Authorization header or the body");
  return basic;
}

function tokenRoute({ clients }: TokenRouteParts): RequestHandler {
  const answer = async (request: Incoming): Promise<object> => {
    if (request.target.query !== "")
      throw malformed("the query must be empty; send the parameters in the body");
    const fields = readFields(request);
    if (fields.grant_type === undefined) throw malformed("grant_type is required");
    if (fields.grant_type !== "client_credentials") {
      throw new TokenRefused(400, "unsupported_grant_type", "the grant_type must be client_credentials");
    }
    const { id, secret, by } = readCredentials(request, fields);
    const token = await clients.token(id, secret, request.ip);
    if (token === undefined) throw invalidClient("the client is unknown or its secret is wrong", by);
    return { access_token: token, token_type: "bearer", expires_in: TOKEN_SECONDS };
  };
  return async (req, res) => {
    res.set(PRIVATE);
    try {
      res.json(await inTime(answer(incomingOf(req, res)), localsOf(res).dueMs));
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      refuseToken(res, error);
    }
  };
}

/** Characters that RFC 6749 does not allow in a description. */
const NOT_IN_DESCRIPTIONS = /[^\x20\x21\x23-\x5b\x5d-\x7e]/g;

function refuseToken(res: Response, { status, error, description, headers }: TokenRefused): void {
  notesOf(res).code = error;
  const text = description.replaceAll(NOT_IN_DESCRIPTIONS, "'");
  res.status(status).set(headers).json({ error, error_description: text });
}

/** Errors of a token request that fails outside of its route, by status. */
const FAILURES: Readonly<Partial<Record<number, string>>> = {
  429: "too_many_requests",
  500: "server_error",
  503: "temporarily_unavailable",
};

/** Answers a token request that failed outside of its route, or for which a check of all surfaces refused. */
export function refuseTokenRequest(res: Response, { code, message, headers }: Refused): void {
  const status = statusOnB(code);
  refuseToken(
    res.set(PRIVATE),
    new TokenRefused(status, FAILURES[status] ?? "invalid_request", message, headers),
  );
}

/** Returns the path of the token route; `prefix` is the first segment of the paths of surface B. */
export function tokenPathOf(prefix: string): string {
  return `/${prefix}/v1/auth/emm-token`;
}

/** Mounts the routes. */
export function mountTokenRoutes(app: Express, parts: TokenRouteParts): void {
  const { prefix, publicUrl } = parts;
  const tokenPath = tokenPathOf(prefix);
  const named =
    (route: string, handle: RequestHandler): RequestHandler =>
    (req, res, next) => {
      notesOf(res).route = route;
      return handle(req, res, next);
    };

  app.post(tokenPath, named(`POST ${tokenPath}`, tokenRoute(parts)));

  const metadata = "/.well-known/oauth-authorization-server";
  app.get(
    metadata,
    named(`GET ${metadata}`, (req, res) => {
      const issuer = publicUrlOf(req, publicUrl);
      res.json({
        issuer,
        token_endpoint: `${issuer}${tokenPath}`,
        grant_types_supported: ["client_credentials"],
        response_types_supported: [],
        token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
      });
    }),
  );

  const older = `/${prefix}/v1/auth/token`;
  app.all(
    older,
    named(`POST ${older}`, (_req, res) => {
      const description = `this route is withdrawn; use ${tokenPath}`;
      refuseToken(
        res.set(PRIVATE),
        new TokenRefused(410, "invalid_request", description, {
          Sunset: SUNSET,
          Link: `<${tokenPath}>; rel="successor-version"`,
        }),
      );
    }),
  );
}
