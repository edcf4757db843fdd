/** One socket: its requests in order, its nonces and rates, its pings, and its end (contract section 6). */

import { MAX_BATCH, parseRequest, Refusal, type Request } from "./protocol.js";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { Unavailable } from "../../log/ports.js";
import { injectFault } from "./faults.js";
import { Outbox, type FlushScheduler } from "./outbox.js";
import type { Bucket, Caller, CancelAllFilter, Queries, QueryAnswer, Refused } from "../ports.js";
import { CancelOnDisconnect, type CancelOnDisconnectPorts } from "./cancel-on-disconnect.js";
import { type Shared, Subscriptions } from "./subscriptions.js";
import { unreachable } from "../../../actors/unreachable.js";

const REQUESTS_PER_SECOND = 50;
/** Requests beyond the rate, or waiting for those before them, after which a socket is closed. */
const MAX_REFUSED = 200;
const MAX_WAITING = 128;
const HEARTBEAT_MS = 15_000;

export interface SessionPorts extends CancelOnDisconnectPorts {
  readonly shared: Shared;
  readonly queries: Queries;
  readonly readJson: (bytes: Uint8Array) => unknown;
  readonly scheduler: FlushScheduler;
  /** Whether clients may order faults for their own sockets. */
  readonly sandbox: boolean;
  /** Between pings and heartbeats, ms. */
  readonly heartbeatMs?: number | undefined;
}

/** Requests of one kind run one after another, so that what a client sends in order takes effect in order. */
class SerialQueue {
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /** Settles when the lane is empty. */
  get idle(): Promise<void> {
    return this.#tail;
  }

  run(task: () => Promise<void>): void {
    this.#waiting += 1;
    this.#tail = this.#tail.then(task).finally(() => {
      this.#waiting -= 1;
    });
  }
}

export class Session {
  readonly caller: Caller;
  readonly #ports: SessionPorts;
  readonly #socket: WebSocket;
  readonly #outbox: Outbox;
  readonly #subscriptions: Subscriptions;
  readonly #cancelOnDisconnect: CancelOnDisconnect;
  /** A subscribe that loads for a second must not hold up a cancel. */
  readonly #watchQueue = new SerialQueue();
  readonly #tradeQueue = new SerialQueue();
  readonly #heartbeatTimer: ReturnType<typeof setInterval>;
  #lastNonce = 0;
  #tokens = REQUESTS_PER_SECOND;
  #refilledAt = performance.now();
  #refused = 0;
  #ponged = true;
  /** Settles when the socket is closed and everything that follows from it is done. */
  readonly ended: Promise<void>;

  constructor(ports: SessionPorts, socket: WebSocket, connection: Socket, caller: Caller) {
    this.caller = caller;
    this.#ports = ports;
    this.#socket = socket;
    this.#outbox = new Outbox(socket, connection, ports.scheduler);
    this.#subscriptions = new Subscriptions(ports.shared, caller, this.#outbox, {
      onLost: () => this.close(1012, "the private stream begins again"),
      onAppeared: (marketId) => this.#watchQueue.run(() => this.#showAppeared(marketId)),
    });
    this.#cancelOnDisconnect = new CancelOnDisconnect(ports, caller);
    this.#heartbeatTimer = setInterval(() => this.#heartbeat(), ports.heartbeatMs ?? HEARTBEAT_MS);
    this.ended = new Promise((resolve) => {
      socket.on("close", () => void this.#end().then(resolve));
    });
    // A frame that is too large or malformed; without a listener it would end the process. `ws` closes the socket.
    socket.on("error", () => undefined);
    socket.on("pong", () => {
      this.#ponged = true;
    });
    socket.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
  }

  /** Whether the wallet's orders go with this socket. */
  get armed(): boolean {
    return this.#cancelOnDisconnect.armed;
  }

  close(code: number, reason: string): void {
    this.#outbox.close(code, reason);
  }

  /** To be called every second or so, with a clock of ms. */
  checkProgress(nowMs: number): void {
    this.#outbox.checkProgress(nowMs);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.close(1003, "text only");
      return;
    }
    const granted = this.#takeToken();
    let message: unknown;
    try {
      message = this.#ports.readJson(data);
    } catch {
      this.#refuse(undefined, "INVALID_REQUEST", "the message is not JSON, or not strict JSON");
      return;
    }
    const parsed = parseRequest(message, this.#ports.sandbox);
    if (!parsed.ok && parsed.nonce === undefined) {
      this.#refuse(undefined, "INVALID_REQUEST", parsed.message);
      return;
    }
    const nonce = parsed.ok ? parsed.request.nonce : parsed.nonce;
    if (!granted) {
      this.#refuse(nonce, "RATE_LIMIT_EXCEEDED", `over ${REQUESTS_PER_SECOND} requests a second`);
      return;
    }
    if (nonce !== undefined && nonce <= this.#lastNonce) {
      this.#refuse(nonce, "STALE_NONCE", `the nonce must be above ${this.#lastNonce}`);
      return;
    }
    this.#lastNonce = nonce ?? this.#lastNonce;
    if (!parsed.ok) {
      this.#refuse(nonce, "INVALID_REQUEST", parsed.message);
      return;
    }
    this.#enqueue(parsed.request);
  }

  #enqueue(request: Request): void {
    const lane = isTrading(request) ? this.#tradeQueue : this.#watchQueue;
    if (lane.waiting >= MAX_WAITING) {
      this.#refuse(request.nonce, "RATE_LIMIT_EXCEEDED", "too many requests wait for an answer");
      return;
    }
    lane.run(() => this.#answer(() => this.#perform(request), request.nonce));
  }

  /** Runs what a request asks for; a failure is told to the client and goes no further. */
  async #answer(task: () => Promise<void>, nonce: number): Promise<void> {
    try {
      if (this.#socket.readyState === WebSocket.OPEN) await task();
    } catch (error) {
      if (error instanceof Refusal) {
        this.#refuse(nonce, error.code, error.message);
        return;
      }
      if (!(error instanceof Unavailable)) this.#ports.onError(error);
      this.#refuse(
        nonce,
        "UNAVAILABLE",
        "the exchange gave no answer; whether the request took effect is unknown",
      );
    }
  }

  /** A client that cannot be shown a new market of its event would never know; one that comes again is shown it. */
  async #showAppeared(marketId: string): Promise<void> {
    try {
      if (this.#socket.readyState === WebSocket.OPEN) await this.#subscriptions.addAppeared(marketId);
    } catch (error) {
      this.#ports.onError(error);
      this.close(1012, "a market of a watched event could not be read");
    }
  }

  async #perform(request: Request): Promise<void> {
    const { nonce, verb, payload } = request;
    switch (verb) {
      case "subscribe":
        return this.#subscriptions.subscribe(nonce, payload, payload.since);
      case "snapshot":
        return this.#subscriptions.snapshot(nonce, payload);
      case "unsubscribe":
        return this.#unsubscribe(nonce, payload);
      case "status":
        this.#acknowledge(nonce, "status", await this.#subscriptions.status());
        return;
      case "query_markets":
        await this.#charge("read", 1);
        this.#page(nonce, "markets", await this.#ports.queries.markets(this.caller, payload));
        return;
      case "query_events":
        await this.#charge("read", 1);
        this.#page(nonce, "events", await this.#ports.queries.events(this.caller, payload));
        return;
      case "place":
        return this.#place(nonce, payload.orders, payload.atomic);
      case "cancel":
        return this.#cancel(nonce, payload.orderIds);
      case "cancel_all":
        return this.#cancelAll(nonce, payload);
      case "safety":
        this.#requireTradingScope();
        await this.#cancelOnDisconnect.arm(payload.cancelOnDisconnect);
        this.#acknowledge(nonce, "safety", payload);
        return;
      case "fault":
        await this.#charge("stream", 1);
        this.#acknowledge(nonce, "fault", payload);
        injectFault(payload, this.#outbox, this.#subscriptions.watched());
        return;
      default:
        return unreachable(verb);
    }
  }

  /** What the subjects still said comes before the answer, so that nothing comes after it. */
  async #unsubscribe(nonce: number, subjects: readonly string[]): Promise<void> {
    const unsubscribed = await this.#subscriptions.unsubscribe(subjects);
    this.#outbox.answer([JSON.stringify({ nonce, unsubscribed })]);
  }

  async #place(nonce: number, orders: readonly unknown[], atomic: boolean): Promise<void> {
    this.#requireTradingScope();
    checkBatch(orders);
    await this.#charge("place", orders.length);
    const answer = await this.#ports.trading.place(this.caller, orders, atomic);
    if (answer.ok) {
      this.#acknowledge(nonce, "placed", answer.accepted);
      return;
    }
    const { code, message, accepted, rejected } = answer;
    this.#outbox.reply(JSON.stringify({ nonce, code, message, accepted, rejected }));
  }

  async #cancel(nonce: number, orderIds: readonly string[]): Promise<void> {
    this.#requireTradingScope();
    checkBatch(orderIds);
    await this.#charge("cancel", orderIds.length);
    const answer = await this.#ports.trading.cancel(this.caller, orderIds);
    if (!answer.ok) {
      this.#fail(nonce, answer);
      return;
    }
    const { canceled, notCanceled } = answer;
    this.#acknowledge(nonce, "canceled", { canceled, notCanceled });
  }

  async #cancelAll(nonce: number, filter: CancelAllFilter): Promise<void> {
    this.#requireTradingScope();
    await this.#charge("cancel", 1);
    const answer = await this.#ports.trading.cancelAll(this.caller, filter);
    if (answer.ok) this.#acknowledge(nonce, "canceled_all", answer.canceled);
    else this.#fail(nonce, answer);
  }

  #requireTradingScope(): void {
    if (this.caller.scope !== "trading") throw new Refusal("SIGNATURE_REJECTED", "the key may only read");
  }

  async #charge(bucket: Bucket, cost: number): Promise<void> {
    const { granted, retryAfterS } = await this.#ports.shared.throttle.charge(
      this.caller.keyId,
      bucket,
      cost,
    );
    if (!granted)
      throw new Refusal("RATE_LIMIT_EXCEEDED", `the ${bucket} bucket is empty; retry after ${retryAfterS} s`);
  }

  #page(nonce: number, name: string, answer: QueryAnswer): void {
    if (answer.ok) this.#acknowledge(nonce, name, answer.page);
    else this.#fail(nonce, answer);
  }

  #acknowledge(nonce: number, name: string, result: unknown): void {
    this.#outbox.reply(JSON.stringify({ nonce, [name]: result }));
  }

  #fail(nonce: number, { code, message }: Refused): void {
    this.#outbox.reply(JSON.stringify({ nonce, code, message }));
  }

  #refuse(nonce: number | undefined, code: string, message: string): void {
    this.#outbox.reply(JSON.stringify({ nonce, code, message }));
  }

  #takeToken(): boolean {
    const now = performance.now();
    const filled = this.#tokens + ((now - this.#refilledAt) * REQUESTS_PER_SECOND) / 1_000;
    this.#tokens = Math.min(REQUESTS_PER_SECOND, filled);
    this.#refilledAt = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      this.#refused = Math.max(0, this.#refused - 1);
      return true;
    }
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED) this.close(1008, "RATE_LIMIT_EXCEEDED");
    return false;
  }

  #heartbeat(): void {
    if (!this.#ponged) {
      // A client that has yet to take what came before the ping has not been silent, it is slow.
      if (this.#outbox.unsentBytes > 0) this.#outbox.closeSlow();
      else this.#socket.terminate();
      return;
    }
    this.#ponged = false;
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.ping();
    for (const frame of this.#subscriptions.heartbeats()) this.#outbox.send(frame);
  }

  async #end(): Promise<void> {
    clearInterval(this.#heartbeatTimer);
    this.#subscriptions.close();
    await this.#tradeQueue.idle;
    await this.#watchQueue.idle;
    await this.#cancelOnDisconnect.end();
  }
}

function isTrading({ verb }: Request): boolean {
  return verb === "place" || verb === "cancel" || verb === "cancel_all" || verb === "safety";
}

function checkBatch(batch: readonly unknown[]): void {
  if (batch.length === 0) throw new Refusal("EMPTY_BATCH", "the batch is empty");
  if (batch.length > MAX_BATCH)
    throw new Refusal("BATCH_TOO_LARGE", `a batch has at most ${MAX_BATCH} items`);
}
