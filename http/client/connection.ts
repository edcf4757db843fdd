/** Connections to one origin, with the retries that are safe for each request. Node and browsers send in their own ways. */

import { z } from "zod/mini";
import { checked } from "./wire/values.js";

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
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Body as text; every answer of the exchange is one. */
  readonly body: string;
}

/** Builds a request. Called again for each attempt that may be signed again. */
export type Prepare = () => RawRequest | Promise<RawRequest>;

/** A websocket of the platform. */
export interface PlatformSocket {
  send(text: string): void;
  /** Closes the connection with a farewell. */
  close(): void;
  /** Ends the connection at once; `onEnd` follows. */
  drop(): void;
}

/** Callbacks of a websocket. After `onEnd` none is called. */
export interface PlatformSocketEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  /** Called when the other side has shown that it lives by something else than a text. */
  readonly onAlive: () => void;
  readonly onEnd: (end: SocketEnd) => void;
}

/** End of a websocket, or of the attempt to open one. */
export interface SocketEnd {
  readonly reason: string;
  /** Error code of a refused upgrade, where the platform shows it: as `ApiError.code`. */
  readonly code?: string;
  /** `Retry-After` of a refused upgrade, in ms. */
  readonly retryAfterMs?: number | undefined;
}

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
  /** Time to keep retrying after lost connections, failures and 429, in ms. */
  readonly patienceMs: number;
}

/** Time in which signed bytes are repeated, in ms. The exchange accepts them for 30 s; the rest covers transport. */
const SAME_BYTES_MS = 25_000;
/** Time that a request waits for its answer, in ms. */
export const ATTEMPT_MS = 10_000;
/** Time that a websocket may take to open, in ms. */
export const HANDSHAKE_MS = 5_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

const ErrorBody = z.object({ code: z.string(), message: z.string() });

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Parses a body as JSON. Returns `undefined` when it is not JSON. */
function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Returns a `Retry-After` in ms, if it is one in seconds. */
export function retryAfterMs({ headers }: Pick<RawAnswer, "headers">): number | undefined {
  const seconds = Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

/** Statuses that say nothing of the request: it may have taken effect before the failure of a server or the edge. */
const FAILURES: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Returns true for answers that a retry may change: failures, 429 and `REQUEST_IN_PROGRESS`. */
function isTransient(answer: RawAnswer): boolean {
  if (FAILURES.has(answer.status) || answer.status === 429) return true;
  if (answer.status !== 409) return false;
  const body = ErrorBody.safeParse(parseBody(answer.body));
  return body.success && body.data.code === "REQUEST_IN_PROGRESS";
}

/** Connections to one origin. */
export abstract class Connection {
  readonly url: URL;

  /** Opens no connection yet. `url` is the origin of the exchange, such as `http://127.0.0.1:8080`. */
  constructor(url: string) {
    this.url = new URL(url);
  }

  /** True if an upgrade to a websocket can carry headers, so that it can be signed. Browsers need a ticket instead. */
  abstract readonly signsUpgrades: boolean;

  /** Sends a request once. Rejects when the connection is lost or no answer arrives within 10 s. */
  abstract attempt(request: RawRequest): Promise<RawAnswer>;

  /** Opens a websocket. A connection that cannot send headers ignores them. */
  abstract openSocket(
    target: string,
    headers: Readonly<Record<string, string>>,
    events: PlatformSocketEvents,
  ): PlatformSocket;

  /** Closes idle connections. */
  abstract close(): void;

  /**
   * Sends a request and retries after a lost connection, 500, 502, 503, 504, 429 and `REQUEST_IN_PROGRESS`, honoring
   * `Retry-After`. Returns the first other answer, or the last 429 when no attempt can have taken effect. Throws
   * `UnknownOutcome` when the retry time ends before that.
   */
  async send(prepare: Prepare, options: SendOptions): Promise<RawAnswer> {
    const began = Date.now();
    const until = began + options.patienceMs;
    let request = await prepare();
    let preparedAt = began;
    let pauseMs = FIRST_PAUSE_MS;
    let mayHaveTakenEffect = false;
    for (;;) {
      let answer: RawAnswer | undefined;
      let problem: string;
      let reached = true;
      try {
        answer = await this.attempt(request);
        if (!isTransient(answer)) return answer;
        problem = `the exchange answered ${answer.status}: ${errorOf(answer).message}`;
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
        reached = !(error instanceof Error && "code" in error && error.code === "ECONNREFUSED");
      }
      const wait = (answer && retryAfterMs(answer)) ?? pauseMs;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      const next = Date.now() + wait;
      // A throttled request, or one that reached no server, has no effect. An earlier attempt may have had one.
      if (reached && answer?.status !== 429) mayHaveTakenEffect = true;
      const maySignAgain = options.repeat === "anew" || !mayHaveTakenEffect;
      const exhausted = !maySignAgain && (options.repeat === "never" || next > preparedAt + SAME_BYTES_MS);
      if (next > until || exhausted) {
        if (answer?.status === 429 && !mayHaveTakenEffect) return answer;
        throw new UnknownOutcome(`${request.method} ${request.target} got no final answer: ${problem}`);
      }
      await pause(wait);
      if (maySignAgain) {
        request = await prepare();
        preparedAt = Date.now();
      }
    }
  }
}

/** Returns the validated body of a 2xx answer. Throws `ApiError` for any other status. */
export function readAnswer<T>(answer: RawAnswer, shape: z.core.$ZodType<T>): T {
  if (answer.status >= 200 && answer.status < 300) return checked(shape, parseBody(answer.body));
  throw errorOf(answer);
}

/** Returns the error of an answer that is not 2xx. */
export function errorOf(answer: RawAnswer): ApiError {
  const body = parseBody(answer.body);
  const known = ErrorBody.safeParse(body);
  return known.success
    ? new ApiError(answer.status, known.data.code, known.data.message, body)
    : new ApiError(answer.status, `HTTP_${answer.status}`, answer.body.slice(0, 200), body);
}
