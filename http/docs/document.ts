/**
 * OpenAPI 3.1 document: one operation per route, derived from its declaration, from the schemas that requests and
 * answers are validated with, and from the table of errors.
 */

import { readFileSync } from "node:fs";
import { z } from "zod";
import { unreachable } from "../../actors/unreachable.js";
import { SCOPES } from "../../db/schema/accounts.js";
import { PERMISSIONS } from "../auth/permissions.js";
import type { Access } from "../request/access.js";
import type { Route } from "../request/route.js";
import { IDS } from "./examples.js";
import { ref, type Json, type OpenApiDocument, type Operation } from "./json.js";
import {
  about,
  CONTACT,
  costOf,
  headerComponents,
  LICENSE,
  PARAMETERS,
  securitySchemes,
  TAGS,
} from "./prose.js";
import { codesOf, refusalsOf, type Refusal } from "./refusals.js";
import { servicePaths } from "./service.js";
import { Shapes } from "./shapes.js";

export interface Described {
  readonly routes: readonly Route[];
  readonly brand: string;
  /** First segment of the paths of surface B. */
  readonly prefix: string;
}

/** Returns the document of the routes, and of the paths that are no routes. */
export function openApi({ routes, brand, prefix }: Described): OpenApiDocument {
  const shapes = new Shapes();
  const shared = new Shared();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = templateOf(route.path);
    paths[path] = { ...paths[path], [route.method]: operationOf(route, prefix, shapes, shared) };
  }
  for (const [path, methods] of Object.entries(servicePaths(prefix))) paths[path] = methods;
  const { schemas, inline } = shapes.resolve();
  return JSON.parse(
    JSON.stringify({
      openapi: "3.1.0",
      info: {
        title: "Overround",
        version: "3",
        description: about(brand, prefix),
        license: LICENSE,
        contact: CONTACT,
      },
      servers: [{ url: "/", description: "This exchange" }],
      tags: TAGS,
      paths: inline(paths),
      components: {
        schemas,
        responses: shared.responses,
        headers: headerComponents(brand),
        securitySchemes: securitySchemes(brand, prefix),
      },
    }).replaceAll("{brand}", brand),
  ) as OpenApiDocument;
}

/** Returns a path in the notation of OpenAPI, such as `/v3/keys/{keyId}`. */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** Error answers that operations share by name. A different answer of the same name stands where it is used. */
class Shared {
  readonly #texts = new Map<string, string>();
  readonly responses: Record<string, Json> = {};

  of({ name, response }: Refusal): Json {
    const text = JSON.stringify(response);
    const known = this.#texts.get(name);
    if (known === undefined) {
      this.#texts.set(name, text);
      this.responses[name] = response;
    } else if (known !== text) return response;
    return ref("responses", name);
  }
}

function operationOf(route: Route, prefix: string, shapes: Shapes, shared: Shared): unknown {
  const { access, docs, metering, method, path } = route;
  const surface = access.kind === "client" ? "B" : "A";
  const refusalHeaders = headersOf(route, hasRawAnswer(route) ? (docs.headers ?? []) : []);
  const codes = codesOf(route, docs.refuses ?? []);
  const successes = successesOf(route, shapes, prefix);
  const refusals = refusalsOf(codes, surface, refusalHeaders, docs.rejected === true);
  return {
    operationId: `${method}${path.replaceAll(/[^A-Za-z0-9]+(\w)/g, (_, first: string) => first.toUpperCase())}`,
    tags: [tagOf(path, prefix)],
    summary: docs.summary,
    description: [docs.description ?? "", reachOf(access), costOf(access, metering)]
      .filter((text) => text !== "")
      .join("\n\n"),
    security: securityOf(access),
    parameters: [...pathParameters(route), ...queryParameters(route, shapes)],
    ...(route.body === undefined && !route.anyBody ? {} : { requestBody: bodyOf(route, shapes) }),
    responses: merge(successes, refusals, (refusal) => shared.of(refusal)),
  } satisfies Operation;
}

/** Tags of the operator's routes by their first segment; every other route has the tag of the exchange. */
const OPERATED: Readonly<Record<string, string>> = {
  events: "markets",
  markets: "markets",
  traders: "traders",
  "emm-clients": "market makers",
  "strike-requests": "market makers",
};

function tagOf(path: string, prefix: string): string {
  const [first = "", second = "", third = ""] = path.slice(1).split("/");
  if (first === prefix) return "market makers";
  if (first === "admin") return `operator: ${OPERATED[third] ?? "exchange"}`;
  const known: Readonly<Record<string, string>> = {
    account: third === "subaccounts" ? "subaccounts" : "portfolio",
    echo: "service",
    limits: "service",
    ws: "stream",
    session: "sessions",
    types: "catalog",
    ticks: "catalog",
    history: "catalog",
  };
  return known[second] ?? second;
}

function reachOf(access: Access): string {
  switch (access.kind) {
    case "public":
      return "Authentication: none.";
    case "session":
      return access.role === undefined
        ? "Authentication: a web session."
        : `Authentication: a web session with the role \`${access.role}\`.`;
    case "operator": {
      const roles = PERMISSIONS[access.permission].map((role) => `\`${role}\``).join(", ");
      return `Authentication: a web session of an operator with the permission \`${access.permission}\`, which these roles have: ${roles}.`;
    }
    case "key":
    case "keyOrSession": {
      const either = access.kind === "keyOrSession" ? ", or a web session of a trader" : "";
      const scopes = access.scopes.map((scope) => `\`${scope}\``).join(" or ");
      const key =
        access.scopes.length === SCOPES.length ? "a key of any scope" : `a key with the scope ${scopes}`;
      return `Authentication: ${key}${either}.`;
    }
    case "client":
      return "Authentication: the bearer token of a client.";
    default:
      return unreachable(access);
  }
}

const SIGNED = { keyId: [], timestamp: [], signature: [] };

function securityOf(access: Access): readonly Json[] {
  switch (access.kind) {
    case "public":
      return [];
    case "session":
    case "operator":
      return [{ webSession: [] }];
    case "key":
      return [SIGNED];
    case "keyOrSession":
      return [SIGNED, { webSession: [] }];
    case "client":
      return [{ clientCredentials: [] }];
    default:
      return unreachable(access);
  }
}

function pathParameters({ path, docs: { examplePath = {} } }: Route): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string", ...(examplePath[name] === undefined ? { format: "uuid" } : {}) },
    example: examplePath[name] ?? IDS[name as keyof typeof IDS],
  }));
}

function queryParameters({ query, docs }: Route, shapes: Shapes): Json[] {
  if (query === undefined) return [];
  return shapes.parametersOf(query).map(({ name, shape }) => ({
    name,
    in: "query",
    required: !mayBeAbsent(shape),
    ...(PARAMETERS[name] === undefined ? {} : { description: PARAMETERS[name] }),
    schema: shapes.of(shape),
    ...exampleOfParameter(shape, docs.exampleQuery?.[name]),
  }));
}

/** Returns an example in the type of its parameter: a whole number is text in a query, and a number in the document. */
function exampleOfParameter(shape: z.core.$ZodType, text: string | undefined): Json {
  if (text === undefined) return {};
  const isInteger = z.toJSONSchema(shape, { io: "input" }).type === "integer";
  return { example: isInteger ? Number(text) : text };
}

/** Returns whether a parameter may be left out. */
function mayBeAbsent(shape: z.core.$ZodType): boolean {
  return z.safeParse(shape, undefined).success;
}

function bodyOf({ body, optionalBody, docs: { exampleBody } }: Route, shapes: Shapes): Json {
  const example = exampleBody === undefined ? {} : { example: exampleBody };
  if (body === undefined)
    return { content: { "application/octet-stream": {}, "application/json": { ...example } } };
  const content = { "application/json": { schema: shapes.of(body), ...example } };
  return { required: !optionalBody, content };
}

/** Returns the headers of every answer of a route, by name. */
function headersOf({ access, metering, method }: Route, more: readonly string[]): Json {
  const client = access.kind === "client";
  const names = [
    "X-Request-Id",
    ...(client || (metering.words !== "free" && metering.rate === undefined)
      ? ["X-RateLimit-Bucket", "X-RateLimit-Cost", "X-RateLimit-Remaining"]
      : []),
    ...(client ? ["X-RateLimit-Limit"] : []),
    ...((access.kind === "key" || access.kind === "keyOrSession") && (method === "post" || method === "patch")
      ? ["X-Replayed"]
      : []),
    ...more,
  ];
  return Object.fromEntries(
    names.map((name) => [name === "Canonical" ? "{brand}-Canonical" : name, ref("headers", name)]),
  );
}

/** Returns whether the answer is any bytes instead of JSON. */
function hasRawAnswer({ anyBody, answer }: Route): boolean {
  return anyBody && answer === undefined;
}

/** Answers to the examples by operation and status, as a test recorded them. */
const ANSWERS = JSON.parse(readFileSync(`${import.meta.dirname}/answers.json`, "utf8")) as Readonly<
  Record<string, Json>
>;

function exampleOf({ method, path }: Route, status: string, prefix: string): { readonly example?: unknown } {
  const known = path.startsWith(`/${prefix}/`) ? path.replace(prefix, "svc") : path;
  const example = ANSWERS[`${method.toUpperCase()} ${templateOf(known)}`]?.[status];
  return example === undefined ? {} : { example };
}

function successesOf(route: Route, shapes: Shapes, prefix: string): Readonly<Record<string, Json>> {
  const { answer, docs } = route;
  const also = docs.also ?? {};
  const headers = headersOf(route, [...(docs.headers ?? []), ...(also[304] === undefined ? [] : ["ETag"])]);
  const contentOf = (status: string): Json => {
    if (status === "304") return {};
    if (hasRawAnswer(route)) return { content: { "*/*": exampleOf(route, status, prefix) } };
    if (answer === undefined) return {};
    const shape = { schema: shapes.of(answer), ...exampleOf(route, status, prefix) };
    return { content: { "application/json": shape } };
  };
  const described = { [route.status]: FIRST[route.status] ?? "The request succeeded.", ...also };
  return Object.fromEntries(
    Object.entries(described).map(([status, description]) => [
      status,
      { description, headers, ...contentOf(status) },
    ]),
  );
}

const FIRST: Readonly<Record<number, string>> = {
  201: "The resource is created.",
  202: "The request is accepted; the work goes on in the background.",
  204: "The request succeeded. The answer has no body.",
};

/** Merges the answers by status: a status that is both a success and a refusal has either body. */
function merge(
  successes: Readonly<Record<string, Json>>,
  refusals: Readonly<Record<string, Refusal>>,
  share: (refusal: Refusal) => Json,
): Readonly<Record<string, Json>> {
  const merged: Record<string, Json> = { ...successes };
  for (const [status, refusal] of Object.entries(refusals)) {
    const success = successes[status];
    merged[status] = success === undefined ? share(refusal) : eitherOf(success, refusal.response);
  }
  return merged;
}

/** Returns the description of a status that is both a success and a refusal. */
function eitherOf(success: Json, refusal: Json): Json {
  return {
    description: `${String(success["description"])}\n\n${String(refusal["description"])}`,
    headers: { ...(success["headers"] as Json), ...(refusal["headers"] as Json) },
    content: { "application/json": { schema: { anyOf: [schemaIn(success), schemaIn(refusal)] } } },
  };
}

function schemaIn(response: Json): unknown {
  const content = response["content"] as { "application/json": { schema: unknown } };
  return content["application/json"].schema;
}
