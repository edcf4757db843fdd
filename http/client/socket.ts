/**
 * Connection of the stream client: one signed websocket that reconnects by itself, matches replies to requests by nonce,
 * and keeps to the request rate of the exchange (contract section 6.2).
 */

import { WebSocket } from "ws";
import { z } from "zod";
import { pause } from "./connection.js";

/** Thrown when the connection was lost before the reply. The request may or may not have taken effect. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Thrown when the exchange refuses a request on the stream, or the connection itself. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    /** Error code (contract section 6.16), or `HTTP_<status>` when the connection was refused. */
    readonly code: string,
    message: string,
    /** Whole error frame, for errors with more fields than `code` and `message`. */
    readonly frame: unknown,
  ) {
    super(`${code}: ${message}`);
  }
}

/** Address, headers and callbacks of a socket. */
export interface SocketOptions {
  /** Address of the stream, `ws:` or `wss:`. */
  readonly url: URL;
  /** Returns new headers for each attempt to connect. */
  readonly headers: () => Record<string, string>;
  /** Called with every frame that replies to no request. */
  readonly onFrame: (frame: unknown) => void;
  /** Called when a connection is open, the first one or a later one. */
  readonly onOpen: () => void;
  /** Called when the connection is lost. */
  readonly onLost: (reason: string) => void;
}

/** Requests that this client sends in a second; the exchange allows 50. */
const REQUESTS_PER_SECOND = 45;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 3_000;
const HANDSHAKE_MS = 5_000;
/** Silence after which a connection counts as dead, in ms. The exchange sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
const REPLY_MS = 10_000;
const PATIENCE_MS = 60_000;
const OPENING_POLL_MS = 250;

const ReplyFrame = z.looseObject({ nonce: z.number().int().optional() });
const ErrorFrame = z.object({ code: z.string(), message: z.string() });

interface PendingRequest {
  readonly onReply: (frame: unknown) => void;
  readonly resolve: (frame: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** A websocket for requests and pushed frames that stays connected until it is closed. */
export class RequestSocket {
  readonly #options: SocketOptions;
  readonly #pending = new Map<number, PendingRequest>();
  #socket: WebSocket | undefined;
  #nonce = 0;
  #sentAt: number[] = [];
  #closed = false;
  #silenceTimer: NodeJS.Timeout | undefined;
  #opened: Promise<void>;
  #resolveOpened: () => void = () => undefined;
  #rejectOpened: (error: Error) => void = () => undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#opened = this.#nextOpening();
  }

  /** Connects, and reconnects after every loss until `close`. Rejects with `StreamError` when the exchange refuses the key. */
  connect(): Promise<void> {
    this.#attempt(FIRST_PAUSE_MS);
    return this.#opened;
  }

  /** Resolves when a connection is open, at once if one is. */
  opened(): Promise<void> {
    return this.#opened;
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
    let socket = this.#socket;
    while (socket === undefined || this.#paceMs() > 0) {
      if (Date.now() > until)
        throw new ConnectionLost(`no connection to the stream within ${PATIENCE_MS} ms`);
      if (socket === undefined) await Promise.race([this.#opened, pause(OPENING_POLL_MS)]);
      else await pause(this.#paceMs());
      socket = this.#socket;
    }
    const connected = socket;
    const nonce = (this.#nonce += 1);
    this.#sentAt.push(Date.now());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(nonce);
        reject(new ConnectionLost(`no reply to request ${nonce} within ${REPLY_MS} ms`));
        connected.terminate();
      }, REPLY_MS);
      this.#pending.set(nonce, { onReply, resolve, reject, timer });
      connected.send(JSON.stringify({ nonce, ...body }));
    });
  }

  /** Closes the connection and does not reconnect. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#silenceTimer);
    this.#socket?.close(1000);
    this.#rejectOpened(new ConnectionLost("the client was closed"));
    this.#rejectPending("the client was closed");
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

  #attempt(pauseMs: number): void {
    const socket = new WebSocket(this.#options.url, {
      headers: this.#options.headers(),
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
    });
    let problem = "the connection was closed";
    let nextPauseMs = pauseMs;
    socket.on("error", (error) => (problem = error.message));
    socket.on("unexpected-response", (_, answer) => {
      const status = answer.statusCode ?? 0;
      problem = `the exchange answered ${status}`;
      if (status >= 400 && status < 500 && status !== 429) {
        this.#closed = true;
        this.#rejectOpened(
          new StreamError(
            `HTTP_${status}`,
            `the exchange refused the connection with status ${status}`,
            undefined,
          ),
        );
      }
      const retryAfter = Number(answer.headers["retry-after"]);
      if (Number.isFinite(retryAfter)) nextPauseMs = Math.max(nextPauseMs, retryAfter * 1_000);
      answer.resume();
      socket.terminate();
    });
    socket.on("open", () => {
      nextPauseMs = FIRST_PAUSE_MS;
      this.#socket = socket;
      this.#nonce = 0;
      this.#sentAt = [];
      this.#restartSilenceTimer(socket);
      this.#resolveOpened();
      this.#options.onOpen();
    });
    socket.on("message", (data: Buffer) => {
      this.#restartSilenceTimer(socket);
      try {
        this.#receive(JSON.parse(data.toString("utf8")));
      } catch (error) {
        problem = `a frame cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        socket.terminate();
      }
    });
    socket.on("ping", () => this.#restartSilenceTimer(socket));
    socket.on("close", (code) => {
      clearTimeout(this.#silenceTimer);
      if (this.#socket === socket) {
        this.#socket = undefined;
        this.#opened = this.#nextOpening();
        this.#rejectPending(`${problem} (${code})`);
        this.#options.onLost(`${problem} (${code})`);
      }
      if (this.#closed) return;
      const jittered = nextPauseMs * (0.75 + Math.random() / 2);
      setTimeout(() => {
        if (!this.#closed) this.#attempt(Math.min(nextPauseMs * 2, LONGEST_PAUSE_MS));
      }, jittered);
    });
  }

  #restartSilenceTimer(socket: WebSocket): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => socket.terminate(), SILENCE_MS);
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
