/** Traffic of the endurance bench: market makers on sockets who place and cancel batches without a pause. */

import { randomUUID } from "node:crypto";
import type { WebSocket } from "ws";
import { z } from "zod";
import type { SigningKey } from "../../../http/client/client.js";
import { openSocket } from "../bench-exchange.js";
import { type PlannedOrder, sizeOf, WalletFlow } from "../orders/wallet-flow.js";

/** Operations in a request. */
const BATCH = 20;
/** Shortest interval between two requests of a socket, because a socket may send fifty a second. */
const SHORTEST_INTERVAL_MS = 22;
/** Time without an answer after which the exchange counts as stuck. */
const STUCK_MS = 60_000;
const SLOW_MS = 2_000;

const Reply = z.object({
  nonce: z.int(),
  code: z.string().optional(),
  message: z.string().optional(),
  placed: z.array(z.object({ orderId: z.string() })).optional(),
  accepted: z.array(z.object({ orderId: z.string() })).optional(),
  rejected: z.array(z.object({ reason: z.string() })).optional(),
  canceled: z.object({ notCanceled: z.array(z.object({ reason: z.string() })) }).optional(),
});
type Reply = z.infer<typeof Reply>;

/** Figures of the traffic since they were last taken. */
export interface Counted {
  /** Orders and cancels that were answered. */
  operations: number;
  /** Orders and cancels that were refused, by code. */
  readonly refused: Map<string, number>;
  /** Requests that the exchange could not serve: `UNAVAILABLE`. */
  unavailable: number;
  /** Requests that took longer than 2 s. */
  slow: number;
  /** Times of the requests, in ms. At a fixed rate they count from the time at which a request was due. */
  readonly timesMs: number[];
  /** Bytes of the messages to and from the sockets. */
  socketBytes: number;
}

function nothingCounted(): Counted {
  return { operations: 0, refused: new Map(), unavailable: 0, slow: 0, timesMs: [], socketBytes: 0 };
}

interface Sent {
  readonly dueMs: number;
  readonly operations: number;
  readonly answered: () => void;
}

/** One market maker on one socket. */
class Maker {
  readonly #socket: WebSocket;
  readonly #outcomeIds: readonly string[];
  readonly #counted: () => Counted;
  readonly #sent = new Map<number, Sent>();
  readonly #flow: WalletFlow;
  #nonce = 0;

  constructor(socket: WebSocket, outcomeIds: readonly string[], batch: number, counted: () => Counted) {
    this.#socket = socket;
    this.#outcomeIds = outcomeIds;
    this.#counted = counted;
    this.#flow = new WalletFlow(outcomeIds.length / 2, batch);
    socket.on("message", (data: Buffer) => {
      counted().socketBytes += data.length;
      const reply = Reply.safeParse(JSON.parse(data.toString()));
      // Heartbeats have no nonce.
      if (reply.success) this.#onReply(reply.data);
    });
  }

  get isClosed(): boolean {
    return this.#socket.readyState !== this.#socket.OPEN;
  }

  /** Time since which the oldest request waits for its answer; `undefined` when none waits. */
  get waitingSinceMs(): number | undefined {
    return this.#sent.values().next().value?.dueMs;
  }

  /** Sends the next request; resolves with its answer. */
  send(dueMs = performance.now()): Promise<void> {
    return new Promise((resolve) => {
      this.#nonce += 1;
      const operations = this.#flow.next();
      const request =
        operations.kind === "cancel"
          ? { cancel: { orderIds: operations.orderIds } }
          : { place: { orders: operations.orders.map((order) => this.#request(order)) } };
      this.#sent.set(this.#nonce, { dueMs, operations: sizeOf(operations), answered: resolve });
      const text = JSON.stringify({ nonce: this.#nonce, ...request });
      this.#counted().socketBytes += text.length;
      this.#socket.send(text);
    });
  }

  #request({ market, outcome, priceTicks, qty }: PlannedOrder): object {
    return {
      outcomeId: this.#outcomeIds[2 * market + outcome],
      price: (priceTicks / 1_000).toFixed(3),
      qty,
      tif: "GTC",
      clientId: randomUUID(),
    };
  }

  #onReply({ nonce, code, placed, accepted = placed ?? [], rejected = [], canceled }: Reply): void {
    const sent = this.#sent.get(nonce);
    if (sent === undefined) return;
    this.#sent.delete(nonce);
    const counted = this.#counted();
    const ms = performance.now() - sent.dueMs;
    counted.timesMs.push(ms);
    counted.operations += sent.operations;
    if (ms > SLOW_MS) counted.slow += 1;
    const refuse = (reason: string, operations: number): void =>
      void counted.refused.set(reason, (counted.refused.get(reason) ?? 0) + operations);
    if (code === "UNAVAILABLE") counted.unavailable += 1;
    for (const { reason } of rejected) refuse(reason, 1);
    if (code !== undefined && rejected.length === 0) refuse(code, sent.operations);
    // An order that is filled or canceled already is an ordinary outcome of a cancel.
    for (const { reason } of canceled?.notCanceled ?? []) if (reason === "NOT_FOUND") refuse(reason, 1);
    this.#flow.accepted(accepted.map(({ orderId }) => orderId));
    sent.answered();
  }

  close(): void {
    this.#socket.close();
  }
}

/** All market makers, and what they count. */
export class Traffic {
  readonly #batch: number;
  readonly #makers: readonly Maker[];
  #counted = nothingCounted();

  private constructor(sockets: readonly WebSocket[], outcomeIds: readonly string[], batch: number) {
    this.#batch = batch;
    this.#makers = sockets.map((socket) => new Maker(socket, outcomeIds, batch, () => this.#counted));
  }

  /** Opens one socket for each key. */
  static async open(
    url: string,
    keys: readonly SigningKey[],
    outcomeIds: readonly string[],
    batch = BATCH,
  ): Promise<Traffic> {
    return new Traffic(await Promise.all(keys.map((key) => openSocket(url, key))), outcomeIds, batch);
  }

  /** Returns the figures since the last call. Throws when a socket was closed or waits for ever. */
  take(): Counted {
    const oldest = performance.now() - STUCK_MS;
    for (const maker of this.#makers) {
      if (maker.isClosed) throw new Error("the exchange closed a socket of the bench");
      if ((maker.waitingSinceMs ?? Infinity) < oldest)
        throw new Error("a request of the bench got no answer");
    }
    const counted = this.#counted;
    this.#counted = nothingCounted();
    return counted;
  }

  /** Lets every socket send its next request after each answer, until the signal. */
  async flood(stopped: AbortSignal): Promise<void> {
    const end = untilAborted(stopped);
    await Promise.all(
      this.#makers.map(async (maker) => {
        while (!stopped.aborted && !maker.isClosed) {
          const interval = sleep(SHORTEST_INTERVAL_MS);
          await Promise.race([maker.send(), end]);
          await interval;
        }
      }),
    );
  }

  /** Sends requests at a steady rate, independent of the answers, until the signal. */
  async pace(operationsPerSecond: number, stopped: AbortSignal): Promise<void> {
    const perMs = operationsPerSecond / this.#batch / 1_000;
    const beganMs = performance.now();
    for (let n = 0; !stopped.aborted;) {
      const due = (performance.now() - beganMs) * perMs;
      for (; n < due; n += 1) {
        const maker = this.#makers[n % this.#makers.length];
        if (maker !== undefined && !maker.isClosed) void maker.send(beganMs + n / perMs);
      }
      await sleep(2);
    }
  }

  close(): void {
    for (const maker of this.#makers) maker.close();
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
