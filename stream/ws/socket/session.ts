/**
 * Session of one socket: ordered requests, nonces, rate limit, heartbeats and closing (contract sections 6.2 and 6.12).
 */

import { parseRequest, Refusal, type Request } from "./protocol.js";
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { Unavailable } from "../../log/ports.js";
import { injectFault } from "./faults.js";
import type { FlushScheduler } from "./flush-scheduler.js";
import { Outbox } from "./outbox.js";
import type { Bucket, Caller, CancelAllFilter, Queries, QueryAnswer } from "../ports.js";
import { CancelOnDisconnect, type CancelOnDisconnectPorts } from "./cancel-on-disconnect.js";
import { type Shared, Subscriptions } from "./subscriptions.js";
import { unreachable } from "../../../actors/unreachable.js";
import { MAX_BATCH } from "../../../actors/limits.js";

const REQUESTS_PER_SECOND = 50;
/**
 * Requests above the rate that a socket may send before it is closed. Each request within the rate lowers their count.
 */
const MAX_REFUSED = 200;
/** Requests of one queue that may wait; further ones are refused. */
const MAX_WAITING = 128;
const HEARTBEAT_MS = 15_000;

/** Everything a session depends on. */
export interface SessionPorts extends CancelOnDisconnectPorts {
  readonly shared: Shared;
  readonly queries: Queries;
  readonly readJson: (bytes: Uint8Array) => unknown;
  readonly scheduler: FlushScheduler;
  /** Lets clients inject faults into their own sockets. */
  readonly sandbox: boolean;
  /** Interval of pings and heartbeats, in ms (default 15,000). */
  readonly heartbeatMs?: number | undefined;
}

/** Runs tasks one after another, so that requests take effect in the order in which the client sent them. */
class SerialQueue {
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** Number of tasks that have not finished. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when every task so far has finished. */
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

/** Serves one socket until it closes. */
export class Session {
  readonly caller: Caller;
  readonly #ports: SessionPorts;
  readonly #socket: WebSocket;
  readonly #outbox: Outbox;
  readonly #subscriptions: Subscriptions;
  readonly #cancelOnDisconnect: CancelOnDisconnect;
  /** Two queues, because a subscribe that loads for a second must not delay a cancel. */
  readonly #watchQueue = new SerialQueue();
  readonly #tradeQueue = new SerialQueue();
  readonly #heartbeatTimer: ReturnType<typeof setInterval>;
  #lastNonce = 0;
  #tokens = REQUESTS_PER_SECOND;
  #refilledAt = performance.now();
  #refused = 0;
  /** True when the client has sent anything since the last heartbeat, a pong included. */
  #isHeard = false;
  /** True when the last heartbeat has sent a ping, because the client had been silent. */
  #isPinged = false;
  /** Resolves when the socket is closed and all work that follows from it is done. */
  readonly ended: Promise<void>;

  constructor(ports: SessionPorts, socket: WebSocket, connection: Socket, caller: Caller) {
    this.caller = caller;
    this.#ports = ports;
    this.#socket = socket;
    this.#outbox = new Outbox(socket, connection, ports.scheduler);
    this.#subscriptions = new Subscriptions(ports.shared, caller, this.#outbox, {
      onLost: () => this.close(1012, "the deltas of your wallet were interrupted; reconnect for a snapshot"),
      onAppeared: (marketId) => this.#watchQueue.run(() => this.#showAppeared(marketId)),
    });
    this.#cancelOnDisconnect = new CancelOnDisconnect(ports, caller);
    this.#heartbeatTimer = setInterval(() => this.#heartbeat(), ports.heartbeatMs ?? HEARTBEAT_MS);
    this.ended = new Promise((resolve) => {
      socket.on("close", () => void this.#end().then(resolve));
    });
    // `ws` emits an error for a malformed or oversized frame and closes the socket; unhandled, it would end the process.
    socket.on("error", () => undefined);
    for (const frame of ["message", "ping", "pong"] as const)
      socket.on(frame, () => {
        this.#isHeard = true;
      });
    socket.on("message", (data: Buffer, isBinary) => this.#receive(data, isBinary));
  }

  /** True while the end of this socket cancels the orders of the wallet. */
  get armed(): boolean {
    return this.#cancelOnDisconnect.armed;
  }

  close(code: number, reason: string): void {
    this.#outbox.close(code, reason);
  }

  /** Ends the connection without a close frame, or without waiting for the answer to one. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** Closes the socket when it is stalled. Must be called about once a second with a clock in ms. */
  checkProgress(nowMs: number): void {
    this.#outbox.checkProgress(nowMs);
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.close(1003, "messages must be text, not binary");
      return;
    }
    const granted = this.#takeToken();
    let message: unknown;
    try {
      message = this.#ports.readJson(data);
    } catch {
      this.#refuse(
        undefined,
        "INVALID_REQUEST",
        "the message must be strict JSON: one document, no duplicate keys",
      );
      return;
    }
    const parsed = parseRequest(message, this.#ports.sandbox);
    if (!parsed.ok && parsed.nonce === undefined) {
      this.#refuse(undefined, "INVALID_REQUEST", parsed.message);
      return;
    }
    const nonce = parsed.ok ? parsed.request.nonce : parsed.nonce;
    if (!granted) {
      this.#refuse(
        nonce,
        "RATE_LIMIT_EXCEEDED",
        `a socket may send ${REQUESTS_PER_SECOND} requests a second; send more slowly`,
      );
      return;
    }
    if (nonce !== undefined && nonce <= this.#lastNonce) {
      this.#refuse(
        nonce,
        "STALE_NONCE",
        `nonce must be greater than ${this.#lastNonce}, the last one received`,
      );
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
    const queue = isTrading(request) ? this.#tradeQueue : this.#watchQueue;
    if (queue.waiting >= MAX_WAITING) {
      this.#refuse(
        request.nonce,
        "RATE_LIMIT_EXCEEDED",
        `${MAX_WAITING} requests are waiting for an answer; wait for some of them before sending more`,
      );
      return;
    }
    queue.run(() => this.#answer(() => this.#perform(request), request.nonce));
  }

  /** Runs the task of a request and answers with an error when it fails. Never rejects. */
  async #answer(task: () => Promise<void>, nonce: number): Promise<void> {
    try {
      if (this.#socket.readyState === WebSocket.OPEN) await task();
    } catch (error) {
      if (error instanceof Refusal) {
        this.#refuse(nonce, error.code, error.message);
        return;
      }
      if (error instanceof Unavailable) {
        this.#refuse(nonce, "UNAVAILABLE", error.message);
        return;
      }
      this.#ports.onError(error);
      this.#refuse(nonce, "UNAVAILABLE", "the exchange failed; the request may or may not have taken effect");
    }
  }

  /**
   * Starts watching a market that appeared in a watched event. Closes the socket when that fails, because the client
   * would not learn of the market. The snapshot after a reconnect contains the market.
   */
  async #showAppeared(marketId: string): Promise<void> {
    try {
      if (this.#socket.readyState === WebSocket.OPEN) await this.#subscriptions.addAppeared(marketId);
    } catch (error) {
      this.#ports.onError(error);
      this.close(1012, "a new market of a watched event could not be loaded; reconnect for a snapshot");
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

  /** Answers after the last frames of the subjects, so that none of their frames follows the answer. */
  async #unsubscribe(nonce: number, subjects: readonly string[]): Promise<void> {
    const unsubscribed = await this.#subscriptions.unsubscribe(subjects);
    this.#outbox.answer(JSON.stringify({ nonce, unsubscribed }));
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
      this.#refuse(nonce, answer.code, answer.message);
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
    else this.#refuse(nonce, answer.code, answer.message);
  }

  #requireTradingScope(): void {
    if (this.caller.scope !== "trading")
      throw new Refusal(
        "SIGNATURE_REJECTED",
        "this socket only reads; sign the upgrade with a key of the scope trading to place and cancel",
      );
  }

  async #charge(bucket: Bucket, cost: number): Promise<void> {
    const { granted, retryAfterS } = await this.#ports.shared.throttle.charge(
      this.caller.payer,
      bucket,
      cost,
    );
    if (!granted)
      throw new Refusal("RATE_LIMIT_EXCEEDED", `the ${bucket} bucket is empty; retry after ${retryAfterS} s`);
  }

  #page(nonce: number, name: string, answer: QueryAnswer): void {
    if (answer.ok) this.#acknowledge(nonce, name, answer.page);
    else this.#refuse(nonce, answer.code, answer.message);
  }

  #acknowledge(nonce: number, name: string, result: unknown): void {
    this.#outbox.reply(JSON.stringify({ nonce, [name]: result }));
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
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const isSilent = !this.#isHeard;
    if (isSilent && this.#isPinged) {
      // A client that has not yet received the frames before the ping is slow, not silent.
      if (this.#outbox.unsentBytes > 0) this.#outbox.closeSlow();
      else this.#socket.terminate();
      return;
    }
    this.#isHeard = false;
    this.#isPinged = isSilent;
    if (isSilent) this.#socket.ping();
    for (const frame of this.#subscriptions.heartbeats()) this.#outbox.send(frame);
  }

  async #end(): Promise<void> {
    clearInterval(this.#heartbeatTimer);
    this.#subscriptions.close();
    // The cancel covers the last placements. It does not wait for snapshots, which may wait for those of other sockets.
    await this.#tradeQueue.idle;
    await this.#cancelOnDisconnect.end();
    await this.#watchQueue.idle;
  }
}

/** Returns true for verbs that run in the trade queue. */
function isTrading({ verb }: Request): boolean {
  return verb === "place" || verb === "cancel" || verb === "cancel_all" || verb === "safety";
}

/** Throws `Refusal` `EMPTY_BATCH` or `BATCH_TOO_LARGE`. */
function checkBatch(batch: readonly unknown[]): void {
  if (batch.length === 0) throw new Refusal("EMPTY_BATCH", "the batch must have at least one item");
  if (batch.length > MAX_BATCH)
    throw new Refusal("BATCH_TOO_LARGE", `a batch may have at most ${MAX_BATCH} items; split it`);
}
