/** HTTP/1.1 to one origin over kept-alive connections, with the retries that are safe for each request. */

import http from "node:http";
import https from "node:https";
import { z } from "zod";

/** Thrown when the exchange answers with a status other than 2xx. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    /** Error code (contract section 5.19), or `HTTP_<status>` when the body has none, as the HTML of the edge. */
    readonly code: string,
    message: string,
    /** Parsed body, for errors with more fields than `code` and `message`. */
    readonly body: unknown,
  ) {
    super(`${status} ${code}: ${message}`);
  }
}

/** Thrown when the retry time ended without an answer. The request may or may not have taken effect. */
export class UnknownOutcome extends Error {
  override readonly name = "UnknownOutcome";
}

/** A request as it is sent. */
export interface RawRequest {
  readonly method: string;
  /** Raw path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Builds a request. Called again for each attempt that may be signed again. */
export type Prepare = () => RawRequest;

/** Rule for repeating a request whose answer was lost. */
export type Repeat =
  /** May be signed again: reads, cancels, and bodies with an idempotency id of their own. */
  | "anew"
  /** May be repeated as the same signed bytes, which take effect once (contract section 5.6). */
  | "same bytes"
  /** Must not be repeated: a repeat would be a second request. */
  | "never";

/** Retry options of a request. */
export interface SendOptions {
  readonly repeat: Repeat;
  /** Time to keep retrying after lost connections, 503 and 429, in ms. */
  readonly patienceMs: number;
}

/** Time in which signed bytes are repeated, in ms. The exchange accepts them for 30 s; the rest covers transport. */
const SAME_BYTES_MS = 25_000;
const ATTEMPT_MS = 10_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const MAX_SOCKETS = 64;

const ErrorBody = z.object({ code: z.string(), message: z.string() });
const NO_BODY = new Uint8Array(0);

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Parses a body as JSON. Returns `undefined` when it is not JSON. */
function parseBody(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Returns the `Retry-After` of an answer in ms, if it has one in seconds. */
function retryAfterMs(answer: RawAnswer): number | undefined {
  const seconds = Number(answer.headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

/** Returns true for answers that a retry may change: 503, 429 and `REQUEST_IN_PROGRESS`. */
function isTransient(answer: RawAnswer): boolean {
  if (answer.status === 503 || answer.status === 429) return true;
  if (answer.status !== 409) return false;
  const body = ErrorBody.safeParse(parseBody(answer.body));
  return body.success && body.data.code === "REQUEST_IN_PROGRESS";
}

/** Kept-alive connections to one origin. */
export class Connection {
  readonly url: URL;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;

  /** Opens no connection yet. `url` is the origin of the exchange, such as `http://127.0.0.1:8080`. */
  constructor(url: string) {
    this.url = new URL(url);
    const secure = this.url.protocol === "https:";
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, noDelay: true };
    this.#agent = secure ? new https.Agent(options) : new http.Agent(options);
    this.#request = secure ? https.request : http.request;
  }

  /** Sends a request once. Rejects when the connection is lost or no answer arrives within 10 s. */
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
      outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${ATTEMPT_MS} ms`)));
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
   * Sends a request and retries after a lost connection, 503, 429 and `REQUEST_IN_PROGRESS`, honoring `Retry-After`.
   * Returns the first other answer, or the last 429. Throws `UnknownOutcome` when the retry time ends before that.
   */
  async send(prepare: Prepare, options: SendOptions): Promise<RawAnswer> {
    const began = Date.now();
    const until = began + options.patienceMs;
    let request = prepare();
    let preparedAt = began;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      let answer: RawAnswer | undefined;
      let problem: string;
      let reached = true;
      try {
        answer = await this.attempt(request);
        if (!isTransient(answer)) return answer;
        problem = `the exchange answered ${answer.status}`;
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
        reached = !(error instanceof Error && "code" in error && error.code === "ECONNREFUSED");
      }
      const wait = (answer && retryAfterMs(answer)) ?? pauseMs;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      const next = Date.now() + wait;
      // A throttled request, or one that reached no server, had no effect, so signing it again cannot double it.
      const hadNoEffect = !reached || answer?.status === 429;
      const maySignAgain = options.repeat === "anew" || hadNoEffect;
      const exhausted =
        options.repeat === "never" ? !hadNoEffect : !maySignAgain && next > preparedAt + SAME_BYTES_MS;
      if (next > until || exhausted) {
        if (answer?.status === 429) return answer;
        throw new UnknownOutcome(`${request.method} ${request.target} got no final answer: ${problem}`);
      }
      await pause(wait);
      if (maySignAgain) {
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

/** Returns the validated body of a 2xx answer. Throws `ApiError` for any other status. */
export function readAnswer<T>(answer: RawAnswer, shape: z.core.$ZodType<T>): T {
  if (answer.status >= 200 && answer.status < 300) return z.parse(shape, parseBody(answer.body));
  throw errorOf(answer);
}

/** Returns the error of an answer that is not 2xx. */
export function errorOf(answer: RawAnswer): ApiError {
  const body = parseBody(answer.body);
  const known = ErrorBody.safeParse(body);
  return known.success
    ? new ApiError(answer.status, known.data.code, known.data.message, body)
    : new ApiError(answer.status, `HTTP_${answer.status}`, answer.body.toString("utf8").slice(0, 200), body);
}
