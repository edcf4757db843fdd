/**
 * The stream as a client: subscriptions that survive reconnects, books folded from deltas, the caller's own orders
 * and positions, and orders placed over the socket (contract section 6). A gap in a seq leads to a new snapshot.
 */

import { pause, UnknownOutcome } from "./connection.js";
import { OrderBook } from "./book.js";
import type { OrderFilter } from "./rest.js";
import type { Signer } from "./signer.js";
import { ConnectionLost, RequestSocket, StreamError } from "./socket.js";
import {
  BatchAnswer,
  CancelAnswer,
  DeltaFrame,
  HeartbeatFrame,
  OrderAccepted,
  SnapshotFrame,
  type BatchPlaced,
  type LifecycleDelta,
  type OpenOrder,
  type OrdersDelta,
  type PlaceOrder,
  type PositionAnswer,
  type TradeDelta,
} from "./wire.js";
import { z } from "zod";

export type Channel = "lifecycle" | "trades" | "bbo" | "book";
export type PrivateChannel = "orders" | "positions";

/** What to watch. */
export interface Selection {
  readonly markets?: Readonly<Record<string, Channel | readonly Channel[]>>;
  readonly private?: readonly PrivateChannel[];
}

/** Hears what the stream says; each part is optional. After a reconnect or a gap the snapshots come again. */
export interface StreamListener {
  readonly orders?: (deltas: readonly OrdersDelta[]) => void;
  /** All that is open at this moment; what was open before and is not in here has ended. */
  readonly openOrders?: (open: readonly OpenOrder[]) => void;
  readonly positions?: (positions: readonly z.infer<typeof PositionAnswer>[]) => void;
  readonly book?: (marketId: string) => void;
  readonly trades?: (marketId: string, trades: readonly TradeDelta[]) => void;
  readonly lifecycle?: (marketId: string, deltas: readonly LifecycleDelta[]) => void;
  readonly lost?: (reason: string) => void;
  readonly reconnected?: () => void;
  /** A seq was missing on a channel and a snapshot was asked for. */
  readonly gap?: (subject: string) => void;
}

const PlacedAck = z.object({ placed: z.array(OrderAccepted) });
const CanceledAck = z.object({ canceled: CancelAnswer });
const CanceledAllAck = z.object({ canceled_all: z.union([z.number(), z.object({ canceled: z.number() })]) });
const RETRY_MS = 250;
const PATIENCE_MS = 60_000;

/** Refusals that may pass if asked again; nothing was placed, or the same ids make a repeat safe. */
const PASSING: ReadonlySet<string> = new Set(["RATE_LIMIT_EXCEEDED", "UNAVAILABLE", "REQUEST_IN_PROGRESS"]);

export class StreamClient {
  readonly #socket: RequestSocket;
  readonly #listener: StreamListener;
  readonly #books = new Map<string, OrderBook>();
  readonly #markets = new Map<string, Channel | readonly Channel[]>();
  readonly #private = new Set<PrivateChannel>();
  /** The last seq of `orders` and `positions`. */
  readonly #privateSeq = new Map<PrivateChannel, number>();
  /** Subjects that wait for a snapshot: market ids, and `PRIVATE`. */
  readonly #stale = new Set<string>();
  /** Frames that came while a subject was stale, to be applied where they are newer than the snapshot. */
  #held: DeltaFrame[] = [];
  #everOpened = false;
  #cancelOnDisconnect = false;

  /** `url` is the origin of the exchange, such as `http://127.0.0.1:8080`. */
  constructor(url: string, signer: Signer, listener: StreamListener = {}) {
    const address = new URL("/v3/ws", url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.#listener = listener;
    this.#socket = new RequestSocket({
      url: address,
      headers: () => signer.headers("GET", "/v3/ws", "", new Uint8Array(0)),
      onFrame: (frame) => this.#receive(frame),
      onOpen: () => this.#resubscribe(),
      onLost: (reason) => listener.lost?.(reason),
    });
  }

  /** Connects, and stays connected until `close`. Rejects with `StreamError` when the exchange refuses the key. */
  connect(): Promise<void> {
    return this.#socket.connect();
  }

  close(): void {
    this.#socket.close();
  }

  /** Whether a request would go out at once; when not, REST is quicker. */
  get ready(): boolean {
    return this.#socket.ready;
  }

  /** Watches more, and returns when the snapshot is in. Throws `StreamError`, such as over the cap. */
  async subscribe(selection: Selection): Promise<void> {
    const markets = Object.entries(selection.markets ?? {});
    for (const [marketId] of markets) this.#stale.add(marketId);
    if (selection.private !== undefined) this.#stale.add("PRIVATE");
    await this.#persist(() => this.#snapshot("subscribe", selection));
    for (const [marketId, channel] of markets) this.#markets.set(marketId, channel);
    for (const channel of selection.private ?? []) this.#private.add(channel);
  }

  /** The folded book of a watched market; `undefined` while it waits for a snapshot. */
  book(marketId: string): OrderBook | undefined {
    return this.#stale.has(marketId) ? undefined : this.#books.get(marketId);
  }

  /**
   * Places up to 256 orders and returns when each is accepted or refused. Orders that all carry a `clientId` are
   * repeated over lost connections; others throw `UnknownOutcome` then.
   */
  async place(orders: readonly PlaceOrder[], atomic = false): Promise<BatchPlaced> {
    const repeatable = orders.every((order) => order.clientId !== undefined);
    try {
      const ack = await this.#persist(() => this.#socket.request({ place: { orders, atomic } }), repeatable);
      return { accepted: PlacedAck.parse(ack).placed, rejected: [] };
    } catch (error) {
      if (!(error instanceof StreamError) || atomic) throw error;
      const refused = BatchAnswer.safeParse(error.frame);
      if (!refused.success || refused.data.rejected.length === 0) throw error;
      return refused.data;
    }
  }

  /** Cancels up to 256 orders; repeated over lost connections. */
  async cancel(orderIds: readonly string[]): Promise<CancelAnswer> {
    const ack = await this.#persist(() => this.#socket.request({ cancel: { orderIds } }));
    return CanceledAck.parse(ack).canceled;
  }

  /** Cancels all of the wallet's orders that the filter names; returns how many cancels were queued. */
  async cancelAll(filter: OrderFilter = {}): Promise<number> {
    const ack = CanceledAllAck.parse(await this.#persist(() => this.#socket.request({ cancel_all: filter })));
    return typeof ack.canceled_all === "number" ? ack.canceled_all : ack.canceled_all.canceled;
  }

  /** Whether all of the wallet's orders are to go with the connection. Asked for again on every new connection. */
  async cancelOnDisconnect(on: boolean): Promise<void> {
    await this.#persist(() => this.#socket.request({ safety: { cancelOnDisconnect: on } }));
    this.#cancelOnDisconnect = on;
  }

  /** Asks until there is an answer that repeating cannot change. */
  async #persist<T>(ask: () => Promise<T>, repeatable = true): Promise<T> {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const lost = error instanceof ConnectionLost;
        if (!lost && !(error instanceof StreamError && PASSING.has(error.code))) throw error;
        if (lost && !repeatable) throw new UnknownOutcome(error.message);
        if (Date.now() > until) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** A new connection knows nothing: everything is stale until its snapshot is in. */
  #resubscribe(): void {
    if (!this.#everOpened) {
      this.#everOpened = true;
      return;
    }
    this.#held = [];
    if (this.#cancelOnDisconnect) {
      this.cancelOnDisconnect(true).catch((error: unknown) => {
        this.#listener.gap?.(error instanceof Error ? error.message : String(error));
      });
    }
    const selection: Selection = {
      ...(this.#markets.size > 0 && { markets: Object.fromEntries(this.#markets) }),
      ...(this.#private.size > 0 && { private: [...this.#private] }),
    };
    if (this.#markets.size === 0 && this.#private.size === 0) {
      this.#listener.reconnected?.();
      return;
    }
    for (const marketId of this.#markets.keys()) this.#stale.add(marketId);
    if (this.#private.size > 0) this.#stale.add("PRIVATE");
    this.#snapshot("subscribe", selection).then(
      () => this.#listener.reconnected?.(),
      (error: unknown) => this.#retry("subscribe", selection, error),
    );
  }

  async #snapshot(verb: "subscribe" | "snapshot", selection: Selection): Promise<void> {
    const reply = await this.#socket.request({ [verb]: selection });
    const frame = SnapshotFrame.parse(reply);
    for (const [marketId, { book, lifecycle }] of Object.entries(frame.snapshot)) {
      if (book !== undefined) {
        const folded = this.#books.get(marketId) ?? new OrderBook();
        folded.replace(book);
        this.#books.set(marketId, folded);
      }
      this.#stale.delete(marketId);
      if (lifecycle !== undefined) {
        this.#listener.lifecycle?.(marketId, [{ kind: "SNAPSHOT", status: lifecycle.status }]);
      }
      this.#listener.book?.(marketId);
    }
    if (frame.orders !== undefined) this.#privateSeq.set("orders", frame.orders.seq);
    if (frame.positions !== undefined) this.#privateSeq.set("positions", frame.positions.seq);
    if (frame.orders !== undefined || frame.positions !== undefined) this.#stale.delete("PRIVATE");
    if (frame.orders !== undefined) this.#listener.openOrders?.(frame.orders.open);
    if (frame.positions !== undefined) this.#listener.positions?.(frame.positions.positions);
    const held = this.#held;
    this.#held = [];
    for (const waiting of held) this.#fold(waiting);
  }

  /** A failed snapshot is asked for again, unless its connection went: the next one brings its own. */
  #retry(verb: "subscribe" | "snapshot", selection: Selection, error: unknown): void {
    if (error instanceof ConnectionLost) return;
    this.#listener.gap?.(error instanceof Error ? error.message : String(error));
    setTimeout(() => {
      this.#snapshot(verb, selection).then(
        () => verb === "subscribe" && this.#listener.reconnected?.(),
        (again: unknown) => this.#retry(verb, selection, again),
      );
    }, RETRY_MS);
  }

  #receive(frame: unknown): void {
    const delta = DeltaFrame.safeParse(frame);
    if (delta.success) {
      this.#fold(delta.data);
      return;
    }
    const heartbeat = HeartbeatFrame.safeParse(frame);
    if (heartbeat.success) this.#compare(heartbeat.data);
  }

  #fold(frame: DeltaFrame): void {
    const marketIds = Object.keys(frame.delta);
    const isPrivate = frame.orders !== undefined || frame.positions !== undefined;
    if (
      marketIds.some((marketId) => this.#stale.has(marketId)) ||
      (isPrivate && this.#stale.has("PRIVATE"))
    ) {
      this.#held.push(frame);
      return;
    }
    for (const [marketId, channels] of Object.entries(frame.delta)) {
      if (channels.book !== undefined) this.#foldBook(marketId, channels.book.seq, frame);
      if (channels.trades !== undefined) this.#listener.trades?.(marketId, channels.trades.deltas);
      if (channels.lifecycle !== undefined) this.#listener.lifecycle?.(marketId, channels.lifecycle.deltas);
    }
    if (frame.orders !== undefined && this.#advance("orders", frame.orders.seq)) {
      this.#listener.orders?.(frame.orders.deltas);
    }
    if (frame.positions !== undefined && this.#advance("positions", frame.positions.seq)) {
      this.#listener.positions?.(frame.positions.deltas);
    }
  }

  #foldBook(marketId: string, seq: number, frame: DeltaFrame): void {
    const book = this.#books.get(marketId);
    const batch = frame.delta[marketId]?.book;
    if (book === undefined || batch === undefined || seq <= book.seq) return;
    if (seq === book.seq + 1) {
      book.apply(seq, batch.deltas);
      this.#listener.book?.(marketId);
    } else {
      this.#refresh(marketId);
    }
  }

  /** Whether a private batch is the next one. An old one is dropped, a later one means that some are missing. */
  #advance(channel: PrivateChannel, seq: number): boolean {
    const last = this.#privateSeq.get(channel);
    if (last === undefined || seq <= last) return false;
    if (seq === last + 1) {
      this.#privateSeq.set(channel, seq);
      return true;
    }
    this.#refresh("PRIVATE");
    return false;
  }

  #refresh(subject: string): void {
    if (this.#stale.has(subject)) return;
    this.#stale.add(subject);
    this.#listener.gap?.(subject);
    const selection: Selection =
      subject === "PRIVATE"
        ? { private: [...this.#private] }
        : { markets: { [subject]: this.#markets.get(subject) ?? "book" } };
    this.#snapshot("snapshot", selection).catch((error: unknown) =>
      this.#retry("snapshot", selection, error),
    );
  }

  /** What a heartbeat knows of and this client does not has been lost on the way. */
  #compare({ heartbeat }: HeartbeatFrame): void {
    for (const channel of ["orders", "positions"] as const) {
      const seq = heartbeat[channel];
      const last = this.#privateSeq.get(channel);
      if (seq !== undefined && last !== undefined && seq > last) this.#refresh("PRIVATE");
    }
    for (const [marketId, channels] of Object.entries(heartbeat.markets ?? {})) {
      const seq = channels["book"];
      const book = this.#books.get(marketId);
      if (seq !== undefined && book !== undefined && seq > book.seq) this.#refresh(marketId);
    }
  }
}
