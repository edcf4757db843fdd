/**
 * Connection of the stream client: one websocket that reconnects by itself, matches replies to requests by nonce, and
 * keeps to the request rate of the exchange (contract section 6.2).
 */

import { z } from "zod/mini";
import { pause, type PlatformSocket, type PlatformSocketEvents, type SocketEnd } from "../connection.js";

/** Thrown when the connection was lost before the reply. The request may or may not have taken effect. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Thrown when the exchange refuses a request on the stream, or the connection itself. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    /** Error code (contract section 6.16), or the one of a refused upgrade (contract section 5.19). */
    readonly code: string,
    message: string,
    /** Whole error frame, for errors with more fields than `code` and `message`. */
    readonly frame: unknown,
  ) {
    super(`${code}: ${message}`);
  }
}

/** Opening and callbacks of a socket. */
export interface SocketOptions {
  /**
   * Opens a websocket with a new signature or ticket. A rejection counts as a lost connection, and one with a `code`
   * that is final, as an `ApiError` has it, as a refusal.
   */
  readonly open: (events: PlatformSocketEvents) => Promise<PlatformSocket>;
  /** Called with every frame that replies to no request. */
  readonly onFrame: (frame: unknown) => void;
  /** Called when a connection is open, the first one or a later one. */
  readonly onOpen: () => void;
  /** Called when the connection is lost. */
  readonly onLost: (reason: string) => void;
  /** Called when the exchange refuses a connection; the socket does not connect again. */
  readonly onRefused: (error: StreamError) => void;
}

/** Requests that this client sends in a second; the exchange allows 50. */
const REQUESTS_PER_SECOND = 45;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 3_000;
/** Silence after which a connection counts as dead, in ms. The exchange sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
/** Life after which a connection counts as a good one without a reply, in ms: its end begins with the shortest pause. */
const GOOD_LIFE_MS = 10_000;
const REPLY_MS = 10_000;
const PATIENCE_MS = 60_000;
const OPENING_POLL_MS = 250;

/**
 * Codes of a refused connection that no later attempt changes: the key, the session or the account must change. The page
 * of a proxy has no code of the exchange, and may be gone at the next attempt.
 */
const FINAL_CODES: ReadonlySet<string> = new Set([
  "INVALID_QUERY",
  "INVALID_BODY",
  "UNAUTHENTICATED",
  "INVALID_CREDENTIALS",
  "TOTP_REQUIRED",
  "TOTP_NOT_ENROLLED",
  "SIGNATURE_REJECTED",
  "FORBIDDEN",
  "KEY_NOT_FOUND",
  "NOT_A_SUBACCOUNT_KEY",
  "ACCOUNT_LOCKED",
  "SELF_EXCLUDED",
  "ANONYMIZED_NETWORK",
  "RESTRICTED_NETWORK_REGION",
  "GEOLOCATION_FAILED",
  "INVALID_GEOLOCATION_REGION",
  "RESTRICTED_GEOLOCATION_REGION",
  "GEOLOCATION_EXPIRED",
]);

const ReplyFrame = z.looseObject({ nonce: z.optional(z.int()) });
const ErrorFrame = z.object({ code: z.string(), message: z.string() });

interface PendingRequest {
  readonly onReply: (frame: unknown) => void;
  readonly resolve: (frame: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** A websocket for requests and pushed frames that stays connected until it is closed. */
export class RequestSocket {
  readonly #options: SocketOptions;
  readonly #pending = new Map<number, PendingRequest>();
  /** The open connection. */
  #socket: PlatformSocket | undefined;
  #nonce = 0;
  #sentAt: number[] = [];
  /** Error of every request after the end of the socket: it was closed, or the exchange refused it. */
  #end: Error | undefined;
  /** Pause before the next attempt to connect, in ms. */
  #pauseMs = FIRST_PAUSE_MS;
  #silenceTimer: ReturnType<typeof setTimeout> | undefined;
  #opened: Promise<void>;
  #resolveOpened: () => void = () => undefined;
  #rejectOpened: (error: Error) => void = () => undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#opened = this.#nextOpening();
  }

  /** Connects, and reconnects after every loss until `close`. Rejects with `StreamError` when the exchange refuses the key. */
  connect(): Promise<void> {
    void this.#attempt();
    return this.#opened;
  }

  /** Resolves when a connection is open, at once if one is. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** True after `close` and after a refusal: no request is sent any more. */
  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** True when a request would be sent at once, within the rate. */
  get ready(): boolean {
    return this.#socket !== undefined && this.#paceMs() === 0;
  }

  /**
   * Sends one request as soon as a connection is open and the rate allows it. Returns the reply. Throws `StreamError` for
   * a refusal, and `ConnectionLost` when the connection was lost, no reply arrived within 10 s, or no connection was
   * opened within 60 s. Calls `onReply` with the reply before any later frame is handled; the returned promise resolves
   * after that.
   */
  async request(
    body: Readonly<Record<string, unknown>>,
    onReply: (frame: unknown) => void = () => undefined,
  ): Promise<unknown> {
    const until = Date.now() + PATIENCE_MS;
    let socket = this.#liveSocket();
    while (socket === undefined || this.#paceMs() > 0) {
      if (Date.now() > until)
        throw new ConnectionLost(`no connection to the stream within ${PATIENCE_MS} ms`);
      if (socket === undefined) await Promise.race([this.#opened, pause(OPENING_POLL_MS)]);
      else await pause(this.#paceMs());
      socket = this.#liveSocket();
    }
    const connected = socket;
    const nonce = (this.#nonce += 1);
    this.#sentAt.push(Date.now());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(nonce);
        reject(new ConnectionLost(`no reply to request ${nonce} within ${REPLY_MS} ms`));
        connected.drop();
      }, REPLY_MS);
      this.#pending.set(nonce, { onReply, resolve, reject, timer });
      connected.send(JSON.stringify({ nonce, ...body }));
    });
  }

  /** Closes the connection and does not reconnect. */
  close(): void {
    const end = new ConnectionLost("the client was closed");
    this.#end ??= end;
    clearTimeout(this.#silenceTimer);
    this.#socket?.close();
    this.#rejectOpened(end);
    this.#rejectPending(end.message);
  }

  /** Returns the open connection, if there is one. Throws after the end of the socket. */
  #liveSocket(): PlatformSocket | undefined {
    if (this.#end !== undefined) throw this.#end;
    return this.#socket;
  }

  #nextOpening(): Promise<void> {
    const opening = new Promise<void>((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    // A refusal rejects the callers of `connect`; this line keeps it from also being an unhandled rejection.
    opening.catch(() => undefined);
    return opening;
  }

  /** Returns the time until the rate allows the next request, in ms. */
  #paceMs(): number {
    const now = Date.now();
    const recent = this.#sentAt.slice(-REQUESTS_PER_SECOND);
    this.#sentAt = recent;
    const oldest = recent[0];
    if (recent.length < REQUESTS_PER_SECOND || oldest === undefined) return 0;
    return Math.max(0, oldest + 1_000 - now);
  }

  /** Opens a connection, and schedules the next attempt when that fails or when the connection ends. */
  async #attempt(): Promise<void> {
    let socket: PlatformSocket | undefined;
    let openedAt = Infinity;
    let problem: string | undefined;
    const ended = (end: SocketEnd): void => {
      clearTimeout(this.#silenceTimer);
      const reason = problem ?? end.reason;
      if (Date.now() - openedAt >= GOOD_LIFE_MS) this.#pauseMs = FIRST_PAUSE_MS;
      if (socket !== undefined && this.#socket === socket) this.#lose(reason);
      if (this.hasEnded) return;
      if (end.code !== undefined && isFinal(end.code, reason)) this.#refuse(end.code, reason);
      else this.#attemptLater(end.retryAfterMs ?? 0);
    };
    try {
      socket = await this.#options.open({
        onOpen: () => {
          openedAt = Date.now();
          this.#begin(socket);
        },
        onText: (text) => {
          this.#restartSilenceTimer(socket);
          try {
            this.#receive(JSON.parse(text));
          } catch (error) {
            problem = `a frame cannot be read: ${error instanceof Error ? error.message : String(error)}`;
            socket?.drop();
          }
        },
        onAlive: () => this.#restartSilenceTimer(socket),
        onEnd: ended,
      });
      if (this.hasEnded) socket.close();
    } catch (error) {
      ended({ reason: error instanceof Error ? error.message : String(error), ...codeOf(error) });
    }
  }

  #begin(socket: PlatformSocket | undefined): void {
    if (this.hasEnded || socket === undefined) {
      socket?.close();
      return;
    }
    this.#socket = socket;
    this.#nonce = 0;
    this.#sentAt = [];
    this.#restartSilenceTimer(socket);
    this.#resolveOpened();
    this.#options.onOpen();
  }

  #lose(reason: string): void {
    this.#socket = undefined;
    if (!this.hasEnded) this.#opened = this.#nextOpening();
    this.#rejectPending(reason);
    this.#options.onLost(reason);
  }

  #refuse(code: string, reason: string): void {
    const error = new StreamError(code, `the exchange refused the connection: ${reason}`, undefined);
    this.#end = error;
    this.#rejectOpened(error);
    this.#options.onRefused(error);
  }

  #attemptLater(atLeastMs: number): void {
    const jittered = Math.max(this.#pauseMs, atLeastMs) * (0.75 + Math.random() / 2);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    setTimeout(() => {
      if (!this.hasEnded) void this.#attempt();
    }, jittered);
  }

  #restartSilenceTimer(socket: PlatformSocket | undefined): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => socket?.drop(), SILENCE_MS);
  }

  #receive(frame: unknown): void {
    const { nonce } = ReplyFrame.parse(frame);
    const waiting = nonce === undefined ? undefined : this.#pending.get(nonce);
    if (nonce === undefined || waiting === undefined) {
      this.#options.onFrame(frame);
      return;
    }
    this.#pending.delete(nonce);
    clearTimeout(waiting.timer);
    const error = ErrorFrame.safeParse(frame);
    if (error.success) waiting.reject(new StreamError(error.data.code, error.data.message, frame));
    else {
      try {
        waiting.onReply(frame);
        waiting.resolve(frame);
        this.#pauseMs = FIRST_PAUSE_MS;
      } catch (unreadable) {
        waiting.reject(unreadable instanceof Error ? unreadable : new Error(String(unreadable)));
      }
    }
  }

  #rejectPending(reason: string): void {
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new ConnectionLost(reason));
    }
    this.#pending.clear();
  }
}

/** Returns true for a refusal that the next attempt would get too. A clock that is wrong now may be set by then. */
function isFinal(code: string, reason: string): boolean {
  return FINAL_CODES.has(code) && !reason.includes("timestamp too");
}

/** Returns the code of an error, if it has one. */
function codeOf(error: unknown): Pick<SocketEnd, "code"> {
  if (!(error instanceof Error && "code" in error)) return {};
  return typeof error.code === "string" ? { code: error.code } : {};
}
