/** One origin over HTTP/1.1 with kept-alive connections: bytes in, bytes out, and what may be tried again. */

import http from "node:http";
import https from "node:https";
import { z } from "zod";

/** The exchange answered with something else than success. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    /** The `code` of the answer, or `HTTP_<status>` when the body carried none (the edge answers in HTML). */
    readonly code: string,
    message: string,
    /** The parsed body, for the fields that some errors carry besides `code` and `message`. */
    readonly body: unknown,
  ) {
    super(`${status} ${code}: ${message}`);
  }
}

/** No answer came before patience ran out. Whether the request took effect is not known. */
export class UnknownOutcome extends Error {
  override readonly name = "UnknownOutcome";
}

/** A request whose bytes are final. */
export interface RawRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Builds the bytes of an attempt. Called anew for each attempt that may carry fresh bytes. */
export type Prepare = () => RawRequest;

/** How a request may be repeated when its answer is lost. */
export type Repeat =
  /** Repeating changes nothing more: reads, cancels, bodies that carry their own idempotency id. */
  | "anew"
  /** Only the same signed bytes are one request. */
  | "same bytes"
  /** A repeat would be a second request. */
  | "never";

export interface SendOptions {
  readonly repeat: Repeat;
  /** How long to go on repeating after lost connections, 503 and 429, ms. */
  readonly patienceMs: number;
}

/** The bytes of a signed request stay good for 30 s at the exchange; the rest is for the way there. */
const SAME_BYTES_MS = 25_000;
const ATTEMPT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const MAX_SOCKETS = 64;

const ErrorBody = z.object({ code: z.string(), message: z.string() });
const NO_BODY = new Uint8Array(0);

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Reads a body as JSON; `undefined` when it is none. */
function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** `Retry-After` in ms, when the answer has one in seconds. */
function retryAfterMs(answer: RawAnswer): number | undefined {
  const seconds = Number(answer.headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

/** Whether the exchange may answer otherwise if asked again: it is busy, cannot reach a part, or still at work. */
function isPassing(answer: RawAnswer): boolean {
  if (answer.status === 503 || answer.status === 429) return true;
  if (answer.status !== 409) return false;
  const body = ErrorBody.safeParse(readJson(answer.body));
  return body.success && body.data.code === "REQUEST_IN_PROGRESS";
}

export class Connection {
  readonly url: URL;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;

  /** `url` is the origin, such as `http://127.0.0.1:8080`. */
  constructor(url: string) {
    this.url = new URL(url);
    const secure = this.url.protocol === "https:";
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, noDelay: true };
    this.#agent = secure ? new https.Agent(options) : new http.Agent(options);
    this.#request = secure ? https.request : http.request;
  }

  /** One attempt. Rejects when the connection is lost or no answer comes in time. */
  attempt(request: RawRequest): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { ...request.headers };
      if (request.body.length > 0) {
        headers["Content-Type"] = "application/json";
        headers["Content-Length"] = request.body.length;
      }
      const outgoing = this.#request({
        agent: this.#agent,
        hostname: this.url.hostname,
        port: this.url.port,
        method: request.method,
        path: request.target,
        headers,
        timeout: ATTEMPT_MS,
      });
      outgoing.on("timeout", () => outgoing.destroy(new Error("no answer in time")));
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.concat(chunks),
          }),
        );
      });
      outgoing.end(request.body.length > 0 ? request.body : NO_BODY);
    });
  }

  /**
   * Repeats until there is an answer that repeating cannot change: after a lost connection, 503, 429 and
   * `REQUEST_IN_PROGRESS`, honouring Retry-After. Throws `UnknownOutcome` when patience runs out before that.
   */
  async send(prepare: Prepare, options: SendOptions): Promise<RawAnswer> {
    const began = Date.now();
    const until = began + options.patienceMs;
    let request = prepare();
    let preparedAt = began;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      let answer: RawAnswer | undefined;
      let trouble: string;
      let arrived = true;
      try {
        answer = await this.attempt(request);
        if (!isPassing(answer)) return answer;
        trouble = `it answered ${answer.status}`;
      } catch (error) {
        trouble = error instanceof Error ? error.message : String(error);
        arrived = !(error instanceof Error && "code" in error && error.code === "ECONNREFUSED");
      }
      const wait = (answer && retryAfterMs(answer)) ?? pauseMs;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      const next = Date.now() + wait;
      // A request that was throttled, or found nobody listening, had no effect: fresh bytes cannot double it.
      const harmless = !arrived || answer?.status === 429;
      const fresh = options.repeat === "anew" || harmless;
      const exhausted = options.repeat === "never" ? !harmless : !fresh && next > preparedAt + SAME_BYTES_MS;
      if (next > until || exhausted) {
        if (answer?.status === 429) return answer;
        throw new UnknownOutcome(`${request.method} ${request.target}: ${trouble}`);
      }
      await pause(wait);
      if (fresh) {
        request = prepare();
        preparedAt = Date.now();
      }
    }
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }
}

/** The body of a successful answer, checked; throws `ApiError` for any other. */
export function readAnswer<T>(answer: RawAnswer, shape: z.core.$ZodType<T>): T {
  if (answer.status >= 200 && answer.status < 300) return z.parse(shape, readJson(answer.body));
  throw errorOf(answer);
}

export function errorOf(answer: RawAnswer): ApiError {
  const body = readJson(answer.body);
  const known = ErrorBody.safeParse(body);
  return known.success
    ? new ApiError(answer.status, known.data.code, known.data.message, body)
    : new ApiError(answer.status, `HTTP_${answer.status}`, answer.body.toString("utf8").slice(0, 200), body);
}
