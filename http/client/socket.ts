/**
 * The connection under the stream client: one signed websocket that opens again by itself, request and reply by
 * nonce, and the pace that the exchange allows (contract section 6).
 */

import { WebSocket } from "ws";
import { z } from "zod";
import { pause } from "./connection.js";

/** The connection went away before the reply. Whether the request took effect is not known. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The exchange refused a request on the stream. */
export class StreamError extends Error {
  override readonly name = "StreamError";

  constructor(
    readonly code: string,
    message: string,
    /** The whole error frame, for the fields that some errors carry besides. */
    readonly frame: unknown,
  ) {
    super(`${code}: ${message}`);
  }
}

export interface SocketOptions {
  /** The address of the stream, `ws:` or `wss:`. */
  readonly url: URL;
  /** Fresh headers for each attempt to connect. */
  readonly headers: () => Record<string, string>;
  /** Every frame that replies to no request. */
  readonly onFrame: (frame: unknown) => void;
  /** A connection stands, the first or a new one. */
  readonly onOpen: () => void;
  readonly onLost: (reason: string) => void;
}

/** Requests a second that this client sends; the exchange allows 50. */
const REQUESTS_PER_SECOND = 45;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 3_000;
const HANDSHAKE_MS = 5_000;
/** The exchange says something every 15 s; a longer silence is a dead connection. */
const SILENCE_MS = 40_000;
const REPLY_MS = 10_000;
const PATIENCE_MS = 60_000;
const OPENING_POLL_MS = 250;

const ReplyFrame = z.looseObject({ nonce: z.number().int().optional() });
const ErrorFrame = z.object({ code: z.string(), message: z.string() });

interface Waiting {
  readonly onReply: (frame: unknown) => void;
  readonly resolve: (frame: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class RequestSocket {
  readonly #options: SocketOptions;
  readonly #waiting = new Map<number, Waiting>();
  #socket: WebSocket | undefined;
  #nonce = 0;
  #sentAt: number[] = [];
  #closed = false;
  #silence: NodeJS.Timeout | undefined;
  #opened: Promise<void>;
  #markOpened: () => void = () => undefined;
  #refused: (error: Error) => void = () => undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#opened = this.#nextOpening();
  }

  /** Connects, and from then on stays connected until `close`. Rejects when the exchange refuses the caller. */
  connect(): Promise<void> {
    this.#attempt(FIRST_PAUSE_MS);
    return this.#opened;
  }

  /** Resolves while a connection stands, or when the next one does. */
  opened(): Promise<void> {
    return this.#opened;
  }

  /** Whether a request can go out at once, within the pace. */
  get ready(): boolean {
    return this.#socket !== undefined && this.#paceMs() === 0;
  }

  /**
   * Sends one request, when a connection stands and the pace allows, and gives its reply. Throws `StreamError` for a
   * refusal and `ConnectionLost` when the connection went, no reply came, or there is none within the patience.
   * `onReply` is called with the reply before any frame that comes after it; whoever awaits hears of it later.
   */
  async request(
    body: Readonly<Record<string, unknown>>,
    onReply: (frame: unknown) => void = () => undefined,
  ): Promise<unknown> {
    const until = Date.now() + PATIENCE_MS;
    let socket = this.#socket;
    while (socket === undefined || this.#paceMs() > 0) {
      if (Date.now() > until) throw new ConnectionLost("no connection to the stream");
      if (socket === undefined) await Promise.race([this.#opened, pause(OPENING_POLL_MS)]);
      else await pause(this.#paceMs());
      socket = this.#socket;
    }
    const connected = socket;
    const nonce = (this.#nonce += 1);
    this.#sentAt.push(Date.now());
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(nonce);
        reject(new ConnectionLost(`no reply to request ${nonce}`));
        connected.terminate();
      }, REPLY_MS);
      this.#waiting.set(nonce, { onReply, resolve, reject, timer });
      connected.send(JSON.stringify({ nonce, ...body }));
    });
  }

  /** Ends the connection for good. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#silence);
    this.#socket?.close(1000);
    this.#refused(new ConnectionLost("the client was closed"));
    this.#dropWaiting("the client was closed");
  }

  #nextOpening(): Promise<void> {
    const opening = new Promise<void>((resolve, reject) => {
      this.#markOpened = resolve;
      this.#refused = reject;
    });
    // Whoever awaits the opening hears of a refusal; without this line it would also count as unhandled.
    opening.catch(() => undefined);
    return opening;
  }

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
    let trouble = "closed";
    let nextPauseMs = pauseMs;
    socket.on("error", (error) => (trouble = error.message));
    socket.on("unexpected-response", (_, answer) => {
      const status = answer.statusCode ?? 0;
      trouble = `the exchange answered ${status}`;
      if (status >= 400 && status < 500 && status !== 429) {
        this.#closed = true;
        this.#refused(new StreamError(`HTTP_${status}`, "the stream refused the connection", undefined));
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
      this.#watch(socket);
      this.#markOpened();
      this.#options.onOpen();
    });
    socket.on("message", (data: Buffer) => {
      this.#watch(socket);
      try {
        this.#receive(JSON.parse(data.toString("utf8")));
      } catch (error) {
        trouble = `a frame that cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        socket.terminate();
      }
    });
    socket.on("ping", () => this.#watch(socket));
    socket.on("close", (code) => {
      clearTimeout(this.#silence);
      if (this.#socket === socket) {
        this.#socket = undefined;
        this.#opened = this.#nextOpening();
        this.#dropWaiting(`${trouble} (${code})`);
        this.#options.onLost(`${trouble} (${code})`);
      }
      if (this.#closed) return;
      const jittered = nextPauseMs * (0.75 + Math.random() / 2);
      setTimeout(() => {
        if (!this.#closed) this.#attempt(Math.min(nextPauseMs * 2, LONGEST_PAUSE_MS));
      }, jittered);
    });
  }

  #watch(socket: WebSocket): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => socket.terminate(), SILENCE_MS);
  }

  #receive(frame: unknown): void {
    const { nonce } = ReplyFrame.parse(frame);
    const waiting = nonce === undefined ? undefined : this.#waiting.get(nonce);
    if (nonce === undefined || waiting === undefined) {
      this.#options.onFrame(frame);
      return;
    }
    this.#waiting.delete(nonce);
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

  #dropWaiting(reason: string): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new ConnectionLost(reason));
    }
    this.#waiting.clear();
  }
}
