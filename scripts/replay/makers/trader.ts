/**
 * API user of the replay: places and cancels over the stream or signed REST, and follows every order on the private
 * stream. After an interruption of the stream the trader asks over REST.
 */

import { unreachable } from "../../../actors/unreachable.js";
import { ApiError, type Connection } from "../../../http/client/connection.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer, type SigningKey } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import type {
  BatchPlaced,
  OpenOrder,
  OrderAnswer,
  OrderStatus,
  PlaceOrder,
} from "../../../http/client/wire/orders.js";
import type { OrdersDelta } from "../../../http/client/wire/stream.js";

/** Order in its owner's view. */
export interface TrackedOrder {
  readonly orderId: string;
  /** Order as placed; `undefined` until its acceptance arrives, which a fill may precede. */
  request: PlaceOrder | undefined;
  /** Placed quantity, once it is known. */
  qty: number | undefined;
  status: OrderStatus;
  filled: number;
  reason: string | undefined;
}

/** Counts of what a trader has done. */
export interface Tally {
  placed: number;
  overStream: number;
  filled: number;
  canceled: number;
  rejected: Map<string, number>;
  refused: Map<string, number>;
  reconnects: number;
  gaps: number;
}

const MAX_BATCH = 200;
/**
 * Cancels of fewer orders go over REST: the answer to a cancel comes when it has taken effect, and placements on the
 * same stream would wait behind it.
 */
const STREAM_CANCELS = 8;
/** Silence of the stream, in ms, after which the trader asks over REST. */
const SILENCE_MS = 2_000;

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function hasEnded({ status }: TrackedOrder): boolean {
  return status === "FILLED" || status === "CANCELED" || status === "REJECTED";
}

export function remainingOf(order: TrackedOrder): number {
  return (order.qty ?? 0) - order.filled;
}

export class Trader {
  readonly rest: RestClient;
  readonly stream: StreamClient;
  readonly tally: Tally = {
    placed: 0,
    overStream: 0,
    filled: 0,
    canceled: 0,
    rejected: new Map(),
    refused: new Map(),
    reconnects: 0,
    gaps: 0,
  };
  /** Contracts filled in all orders. */
  filledContracts = 0;
  readonly #live = new Map<string, TrackedOrder>();
  /** Ids of orders that have ended and are counted; later deltas of them are ignored. */
  readonly #ended = new Set<string>();
  #resolveUpdate: () => void = () => undefined;
  #nextUpdate: Promise<void> = Promise.resolve();

  constructor(
    readonly name: string,
    connection: Connection,
    key: SigningKey,
    brand: string,
  ) {
    const signer = new Signer(key, brand);
    this.rest = new RestClient(connection, signer);
    this.#armUpdate();
    this.stream = new StreamClient(connection, signer, {
      orders: (deltas) => {
        for (const delta of deltas) this.#apply(delta);
        this.#wakeWaiters();
      },
      openOrders: (open) => this.#resync(open),
      reconnected: () => (this.tally.reconnects += 1),
      gap: () => (this.tally.gaps += 1),
    });
  }

  async connect(marketId: string, watchBook: boolean): Promise<void> {
    await this.stream.connect();
    await this.stream.subscribe({
      private: ["orders"],
      ...(watchBook && { markets: { [marketId]: "book" as const } }),
    });
  }

  /** Returns the orders that have not ended. */
  live(): TrackedOrder[] {
    return [...this.#live.values()].filter((order) => !hasEnded(order));
  }

  /**
   * Places orders, which all carry a `clientId`, and returns the accepted ones when every answer is known. Refused
   * orders are counted by reason.
   */
  async place(orders: readonly PlaceOrder[]): Promise<TrackedOrder[]> {
    const accepted: TrackedOrder[] = [];
    for (let i = 0; i < orders.length; i += MAX_BATCH) {
      const batch = orders.slice(i, i + MAX_BATCH);
      const overStream = this.stream.ready;
      if (overStream) this.tally.overStream += batch.length;
      const placed = await (overStream ? this.stream.place(batch) : this.#placeByRest(batch));
      for (const { reason } of placed.rejected) count(this.tally.refused, reason);
      const refused = new Set(placed.rejected.map(({ index }) => index));
      const notRefused = batch.filter((_, index) => !refused.has(index));
      placed.accepted.forEach(({ orderId }, index) => {
        const request = notRefused[index];
        if (request === undefined) return;
        const order = this.#track(orderId);
        order.request = request;
        order.qty = request.qty;
        this.tally.placed += 1;
        this.#finish(order);
        accepted.push(order);
      });
    }
    return accepted;
  }

  /** Cancels orders and resolves when every answer is known; an order that ended before is not an error. */
  async cancel(orders: readonly TrackedOrder[]): Promise<void> {
    for (let i = 0; i < orders.length; i += MAX_BATCH) {
      const ids = orders.slice(i, i + MAX_BATCH).map(({ orderId }) => orderId);
      const overStream = ids.length >= STREAM_CANCELS && this.stream.ready;
      await (overStream ? this.stream.cancel(ids) : this.rest.cancelOrders(ids));
    }
  }

  /** Waits until each order rests or has ended. */
  untilEntered(orders: readonly TrackedOrder[]): Promise<void> {
    return this.#until(orders, ({ status }) => status !== "PENDING");
  }

  untilEnded(orders: readonly TrackedOrder[]): Promise<void> {
    return this.#until(orders, hasEnded);
  }

  /** Waits until this trader's fills reach the total that the counterparties report. */
  async untilFilled(contracts: number): Promise<void> {
    while (this.filledContracts < contracts) {
      const updated = await this.#updatedWithin(SILENCE_MS);
      if (!updated) await Promise.all(this.live().map((order) => this.#ask(order)));
    }
  }

  close(): void {
    this.stream.close();
  }

  async #placeByRest(batch: readonly PlaceOrder[]): Promise<BatchPlaced> {
    const [only] = batch;
    try {
      if (batch.length > 1 || only === undefined) return await this.rest.placeOrders(batch);
      return { accepted: [await this.rest.placeOrder(only)], rejected: [] };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      const reason = error.code;
      return {
        accepted: [],
        rejected: batch.map(({ outcomeId }, index) => ({ index, outcomeId, reason })),
      };
    }
  }

  #track(orderId: string): TrackedOrder {
    let order = this.#live.get(orderId);
    if (order === undefined) {
      const unknown = { request: undefined, qty: undefined, reason: undefined };
      order = { orderId, ...unknown, status: "PENDING", filled: 0 };
      this.#live.set(orderId, order);
    }
    return order;
  }

  #apply(delta: OrdersDelta): void {
    if (this.#ended.has(delta.orderId)) return;
    const order = this.#track(delta.orderId);
    if (hasEnded(order)) return;
    switch (delta.kind) {
      case "open":
        order.status = "OPEN";
        break;
      case "fill":
        this.#fill(order, order.qty === undefined ? order.filled + delta.qty : order.qty - delta.remaining);
        if (delta.remaining === 0) this.#end(order, "FILLED");
        break;
      case "cancel":
        this.#end(order, "CANCELED", delta.reason);
        break;
      case "reject":
        this.#end(order, "REJECTED", delta.reason);
        break;
      default:
        unreachable(delta);
    }
  }

  /** Sets the filled quantity; a fill that both the stream and an answer report counts once. */
  #fill(order: TrackedOrder, filled: number): void {
    if (filled <= order.filled) return;
    this.filledContracts += filled - order.filled;
    order.filled = filled;
  }

  #end(order: TrackedOrder, status: OrderStatus, reason?: string): void {
    if (hasEnded(order)) return;
    order.status = status;
    order.reason = reason;
    this.#finish(order);
  }

  /** Counts and forgets an order that has ended and whose acceptance has arrived. */
  #finish(order: TrackedOrder): void {
    if (order.request === undefined || !hasEnded(order)) return;
    this.#live.delete(order.orderId);
    this.#ended.add(order.orderId);
    if (order.status === "FILLED") this.tally.filled += 1;
    if (order.status === "CANCELED") this.tally.canceled += 1;
    if (order.status === "REJECTED") count(this.tally.rejected, order.reason ?? "no reason");
  }

  /** Updates the orders after an interruption from the list of open orders, and asks for each live order that it lacks. */
  #resync(open: readonly OpenOrder[]): void {
    const resting = new Set(open.map(({ orderId }) => orderId));
    for (const { orderId, qty } of open) {
      if (this.#ended.has(orderId)) continue;
      const order = this.#track(orderId);
      if (hasEnded(order)) continue;
      order.status = "OPEN";
      if (order.qty !== undefined) this.#fill(order, order.qty - qty);
    }
    this.#wakeWaiters();
    for (const order of this.live()) {
      if (!resting.has(order.orderId) || order.qty === undefined) void this.#ask(order);
    }
  }

  /** Updates an order from REST; a failed request is ignored, because a waiting caller asks again. */
  async #ask(order: TrackedOrder): Promise<void> {
    let answer: OrderAnswer;
    try {
      answer = await this.rest.order(order.orderId);
    } catch {
      return;
    }
    if (hasEnded(order)) return;
    order.qty = answer.qty;
    this.#fill(order, answer.qty - answer.remaining);
    if (answer.status === "OPEN") order.status = "OPEN";
    else if (answer.status !== "PENDING") this.#end(order, answer.status, answer.reason ?? undefined);
    this.#wakeWaiters();
  }

  async #until(orders: readonly TrackedOrder[], satisfied: (order: TrackedOrder) => boolean): Promise<void> {
    for (;;) {
      const waiting = orders.filter((order) => !satisfied(order));
      if (waiting.length === 0) return;
      const updated = await this.#updatedWithin(SILENCE_MS);
      if (!updated) await Promise.all(waiting.map((order) => this.#ask(order)));
    }
  }

  #armUpdate(): void {
    this.#nextUpdate = new Promise((resolve) => (this.#resolveUpdate = resolve));
  }

  #wakeWaiters(): void {
    this.#resolveUpdate();
    this.#armUpdate();
  }

  /** Resolves to whether the stream reported an update within the time. */
  async #updatedWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
    const updated = await Promise.race([this.#nextUpdate.then(() => true), silence]);
    clearTimeout(timer);
    return updated;
  }
}
