/**
 * Checks every answer of the gateways in this process against the OpenAPI document that they serve: status, headers and
 * body. An undeclared part fails the run.
 */

import { subscribe } from "node:diagnostics_channel";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { matchPath, PATHS } from "../../http/console/app/paths.js";
import type { Json, OpenApiDocument, Operation } from "../../http/docs/json.js";
import { ERRORS, wireCode } from "../../http/request/errors.js";

/** An answer as it was sent. */
export interface Sent {
  readonly method: string;
  /** Raw path and query. */
  readonly target: string;
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

interface Documented {
  readonly path: string;
  readonly pattern: RegExp;
  readonly operation: Operation;
}

/** Headers that HTTP, the security headers and CORS add to every answer. */
const EVERYWHERE =
  /^(?:access-control-.*|cache-control|connection|content-.*|cross-origin-.*|date|keep-alive|origin-agent-cluster|pragma|referrer-policy|strict-transport-security|transfer-encoding|vary|x-content-type-options|x-dns-prefetch-control|x-download-options|x-frame-options|x-permitted-cross-domain-policies|x-xss-protection)$/;

/** Answers to requests that reach no route. */
const NO_ROUTE = new Set(["400 INVALID_REQUEST", "404 ROUTE_NOT_FOUND", "413 PAYLOAD_TOO_LARGE"]);
/** The refusals of an upgrade to a websocket, which is in the AsyncAPI document. */
const OF_UPGRADES = new Set(ERRORS.map(({ code, status }) => `${status} ${wireCode(code)}`));
/** Files of the console, which no document describes. */
const CONSOLE_FILES = /^\/(?:assets\/[^/]+|favicon\.svg|release\.json)$/;

/** Returns whether a target is a page of the console, or one of its files. */
function isOfConsole(target: string): boolean {
  const [path = ""] = target.split("?", 1);
  return CONSOLE_FILES.test(path) || PATHS.some((pattern) => matchPath(pattern, path) !== undefined);
}

/** Paths that no document describes, because their routes are withdrawn. */
const WITHDRAWN = /^\/\w+\/v1\/auth\/token$/;

/** OpenAPI document against which answers are checked. */
export class Contract {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true });
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #operations: readonly (Documented & { readonly method: string })[];

  constructor(private readonly document: OpenApiDocument) {
    formats.default(this.#ajv);
    this.#ajv.addFormat("cidrv4", true).addFormat("cidrv6", true);
    this.#ajv.addSchema(document, "document");
    this.#operations = Object.entries(document.paths)
      // A path without parameters takes precedence over one with parameters.
      .toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => {
          const source = path.replaceAll(/[.]/g, "\\.").replaceAll(/\{\w+\}/g, "[^/]+");
          return { method, path, pattern: new RegExp(`^${source}$`), operation };
        }),
      );
  }

  /** Returns the operation of a request. */
  find(method: string, path: string): Documented | undefined {
    const declaredMethod = method === "HEAD" ? "get" : method.toLowerCase();
    return this.#operations.find((one) => one.method === declaredMethod && one.pattern.test(path));
  }

  /** Returns the fault of an answer, or `undefined`. */
  fault(sent: Sent): string | undefined {
    const { method, target, status } = sent;
    const [path = ""] = target.split("?", 1);
    // A target with a fragment is malformed and reaches no route.
    const found = target.includes("#") ? undefined : this.find(method, path);
    const fault = found === undefined ? this.#faultOfNoRoute(sent) : this.#faultOf(found, sent);
    if (fault === undefined) return undefined;
    const shown = sent.body.length < 2_000 ? textOf(sent) : `${sent.body.length} bytes`;
    return `${method} ${target.slice(0, 300)} answered ${status}: ${fault}\n${shown}`;
  }

  #faultOfNoRoute(sent: Sent): string | undefined {
    const { method, status, target } = sent;
    if (method === "OPTIONS" && status === 204) return undefined;
    if (status === 410 && WITHDRAWN.test(target.split("?", 1)[0] ?? "")) return undefined;
    if (status === 403 && typeOf(sent) === "text/html") return undefined;
    // A browser gets a page.
    if (method === "GET" && status === 404 && typeOf(sent) === "text/html") return undefined;
    if (method === "HEAD" && status === 404) return undefined;
    if (method === "GET" && status === 200 && isOfConsole(target)) return undefined;
    const { code } =
      typeOf(sent) === "application/json" ? (JSON.parse(textOf(sent)) as { code?: string }) : {};
    const allowed = /^\/v3\/ws(?:\?|$)/.test(target) ? OF_UPGRADES : NO_ROUTE;
    if (allowed.has(`${status} ${code ?? ""}`)) return undefined;
    return "the document has no such operation";
  }

  #faultOf({ path, operation }: Documented, sent: Sent): string | undefined {
    const { method, status } = sent;
    const declared = operation.responses[String(status)];
    if (declared === undefined) return "the status is not declared";
    const at = ["paths", path, method === "HEAD" ? "get" : method.toLowerCase(), "responses", String(status)];
    const { pointer, value } = this.#deref(at, declared);
    return (
      this.#headerFault(value["headers"] as Json | undefined, sent) ?? this.#bodyFault(pointer, value, sent)
    );
  }

  #deref(at: readonly string[], value: Json): { readonly pointer: readonly string[]; readonly value: Json } {
    const { $ref } = value as { $ref?: string };
    if ($ref === undefined) return { pointer: at, value };
    const pointer = $ref.slice(2).split("/");
    let target: unknown = this.document;
    for (const step of pointer) target = (target as Json)[step];
    return { pointer, value: target as Json };
  }

  #headerFault(declared: Json = {}, { headers }: Sent): string | undefined {
    const names = new Set(Object.keys(declared).map((name) => name.toLowerCase()));
    const stray = Object.keys(headers).find((name) => !names.has(name) && !EVERYWHERE.test(name));
    if (stray !== undefined) return `the header ${stray} is not declared`;
    const missing = Object.entries(declared).find(([name, header]) => {
      const { required } = this.#deref([], header as Json).value as { required?: boolean };
      return required === true && headers[name.toLowerCase()] === undefined;
    });
    return missing === undefined ? undefined : `the header ${missing[0]} is missing`;
  }

  #bodyFault(pointer: readonly string[], { content }: Json, sent: Sent): string | undefined {
    const { method, body } = sent;
    if (method === "HEAD") return undefined;
    if (content === undefined) return body.length === 0 ? undefined : "a body is not declared";
    const types = content as Readonly<Record<string, Json>>;
    if (types["*/*"] !== undefined) return undefined;
    const type = typeOf(sent);
    if (types[type] === undefined) return `the type ${type} is not declared`;
    if (type !== "application/json") return undefined;
    const check = this.#validator([...pointer, "content", type, "schema"]);
    if (check(JSON.parse(textOf(sent)))) return undefined;
    return this.#ajv.errorsText(check.errors);
  }

  #validator(pointer: readonly string[]): ValidateFunction {
    const steps = pointer.map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")));
    const $ref = `document#/${steps.join("/")}`;
    const known = this.#compiled.get($ref) ?? this.#ajv.compile({ $ref });
    this.#compiled.set($ref, known);
    return known;
  }
}

function typeOf({ headers }: Sent): string {
  return String(headers["content-type"] ?? "").split(";", 1)[0] ?? "";
}

function textOf({ headers, body }: Sent): string {
  return (headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8");
}

const contracts = new Map<number, Contract>();
const byText = new Map<string, Contract>();
const faults: string[] = [];

/** Starts to check the answers of the gateway on this port against the document that it serves. */
export async function checkAgainstDocument(port: number): Promise<void> {
  const text = await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).text();
  const contract = byText.get(text) ?? new Contract(JSON.parse(text) as OpenApiDocument);
  byText.set(text, contract);
  contracts.set(port, contract);
}

/** Ends the checks of a gateway that has stopped, whose port another server may receive. */
export function forgetDocument(port: number): void {
  contracts.delete(port);
}

/** Checks an answer without a `ServerResponse`, such as that to an upgrade, against the document. */
export function checkAnswer(url: string, sent: Sent): void {
  const fault = contracts.get(Number(new URL(url).port))?.fault(sent);
  if (fault !== undefined) faults.push(fault);
}

/** Returns the faults since the last call. */
export function takeFaults(): string[] {
  return faults.splice(0);
}

subscribe("http.server.request.start", (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const contract = contracts.get(request.socket.localPort ?? 0);
  if (contract !== undefined) watch(contract, request, response);
});

function watch(contract: Contract, request: IncomingMessage, response: ServerResponse): void {
  // Express removes the prefix of a mounted router from the URL, so the target is read first.
  const target = request.url ?? "";
  // Node itself answers a request without a host.
  if (request.headers.host === undefined) return;
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown): void => {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const write = response.write.bind(response) as (...args: unknown[]) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
  response.write = (...args: unknown[]) => {
    keep(args[0]);
    return write(...args);
  };
  response.end = (...args: unknown[]) => {
    keep(args[0]);
    const fault = contract.fault({
      method: request.method ?? "",
      target,
      status: response.statusCode,
      headers: response.getHeaders(),
      body: Buffer.concat(chunks),
    });
    if (fault !== undefined) faults.push(fault);
    return end(...args);
  };
}

const SHOWN = 30;
const found: string[] = [];

/** Fails the run at its end with every fault; a hook that fails earlier would keep later tests from running. */
export const mochaHooks = {
  afterEach(this: Mocha.Context): void {
    found.push(...takeFaults().map((fault) => `${this.currentTest?.fullTitle() ?? ""}: ${fault}`));
  },
  afterAll(): void {
    found.push(...takeFaults());
    if (found.length === 0) return;
    const shown = found.slice(0, SHOWN).join("\n\n");
    throw new Error(`${found.length} answers differ from /openapi.json:\n\n${shown}`);
  },
};
