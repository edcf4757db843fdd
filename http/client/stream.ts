/**
 * The stream as a client: subscriptions that survive reconnects and go on where they left off, markets and the
 * caller's own orders and positions folded from deltas, and orders placed over the socket (contract section 6). A gap
 * in a seq, or a book that is not what its checksum says, leads to a new snapshot.
 */

import { z } from "zod";
import type { OrderBook } from "./book.js";
import { pause, UnknownOutcome } from "./connection.js";
import { MarketView } from "./market-view.js";
import type { OrderFilter } from "./rest.js";
import { pieces, sinceOf, Watched, type Selection } from "./selection.js";
import type { Signer } from "./signer.js";
import { ConnectionLost, RequestSocket, StreamError } from "./socket.js";
import { WalletView } from "./wallet-view.js";
import {
  BatchAnswer,
  CancelAnswer,
  DeltaFrame,
  HeartbeatFrame,
  OrderAccepted,
  SnapshotFrame,
  type BatchPlaced,
  type BboDelta,
  type LifecycleDelta,
  type MarketBatches,
  type MarketSnapshot,
  type OpenOrder,
  type OrdersDelta,
  type PlaceOrder,
  type PositionAnswer,
  type TradeDelta,
} from "./wire.js";
import type { Currency } from "../../actors/market/types.js";
import { CHANNELS, PRIVATE_CHANNELS } from "../../stream/ws/channels.js";

/** Hears what the stream says; each part is optional. After a gap, and where it cannot resume, snapshots come again. */
export interface StreamListener {
  readonly orders?: (deltas: readonly OrdersDelta[]) => void;
  /** All that is open at this moment; what was open before and is not in here has ended. */
  readonly openOrders?: (open: readonly OpenOrder[]) => void;
  readonly positions?: (positions: readonly PositionAnswer[]) => void;
  readonly book?: (marketId: string) => void;
  readonly bbo?: (marketId: string, deltas: readonly BboDelta[]) => void;
  readonly trades?: (marketId: string, trades: readonly TradeDelta[]) => void;
  readonly lifecycle?: (marketId: string, deltas: readonly LifecycleDelta[]) => void;
  readonly lost?: (reason: string) => void;
  readonly reconnected?: () => void;
  /** Something was missing or wrong of a market, or of `PRIVATE`, and a snapshot was asked for. */
  readonly gap?: (subject: string) => void;
}

export interface StreamOptions {
  /** The books that are watched (default CASH). */
  readonly currency?: Currency | undefined;
}

const PlacedAck = z.object({ placed: z.array(OrderAccepted) });
const CanceledAck = z.object({ canceled: CancelAnswer });
const CanceledAllAck = z.object({ canceled_all: z.number() });
const PRIVATE = "PRIVATE";
const RETRY_MS = 250;
const PATIENCE_MS = 60_000;

/** Refusals that may pass if asked again; nothing was placed, or the same ids make a repeat safe. */
const PASSING: ReadonlySet<string> = new Set(["RATE_LIMIT_EXCEEDED", "UNAVAILABLE", "REQUEST_IN_PROGRESS"]);

export class StreamClient {
  readonly #socket: RequestSocket;
  readonly #listener: StreamListener;
  readonly #currency: Currency;
  readonly #watched = new Watched();
  readonly #markets = new Map<string, MarketView>();
  readonly #wallet = new WalletView();
  /** Subjects that wait for a snapshot: market ids, and `PRIVATE`. What comes of them before it is in it. */
  readonly #stale = new Set<string>();
  #everOpened = false;
  #cancelOnDisconnect = false;

  /** `url` is the origin of the exchange, such as `http://127.0.0.1:8080`. */
  constructor(url: string, signer: Signer, listener: StreamListener = {}, options: StreamOptions = {}) {
    const address = new URL("/v3/ws", url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.#listener = listener;
    this.#currency = options.currency ?? "CASH";
    this.#socket = new RequestSocket({
      url: address,
      headers: () => signer.headers("GET", "/v3/ws", "", new Uint8Array(0)),
      onFrame: (frame) => this.#receive(frame),
      onOpen: () => void this.#resume().catch((error: unknown) => this.#complain(error)),
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
    for (const piece of pieces(selection)) {
      await this.#persist(() => this.#ask("subscribe", piece));
      this.#watched.add(piece);
    }
  }

  /** A watched market as it was last told; `undefined` while it waits for a snapshot. */
  market(marketId: string): MarketView | undefined {
    return this.#stale.has(marketId) ? undefined : this.#markets.get(marketId);
  }

  /** The folded book of a watched market; `undefined` while it waits for a snapshot. */
  book(marketId: string): OrderBook | undefined {
    const market = this.market(marketId);
    return market?.watches("book") === true ? market.book : undefined;
  }

  /** The caller's own orders and positions as they were last told. */
  get wallet(): Pick<WalletView, "orders" | "positions" | "seqs"> {
    return this.#wallet;
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
    return ack.canceled_all;
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

  /** A new connection knows nothing: what was watched is asked for again, from the last seqs on. */
  async #resume(): Promise<void> {
    if (!this.#everOpened) {
      this.#everOpened = true;
      return;
    }
    for (const marketId of this.#markets.keys()) this.#stale.add(marketId);
    this.#stale.add(PRIVATE);
    await Promise.all([this.#armAgain(), this.#subscribeAgain()]);
    this.#stale.clear();
    this.#listener.reconnected?.();
  }

  async #armAgain(): Promise<void> {
    if (this.#cancelOnDisconnect) await this.#onThisConnection(() => this.cancelOnDisconnect(true));
  }

  async #subscribeAgain(): Promise<void> {
    if (this.#watched.isEmpty) return;
    for (const piece of pieces(this.#watched.selection())) {
      await this.#onThisConnection(() => {
        const since = sinceOf(piece, this.#markets, this.#wallet);
        return this.#ask("subscribe", { ...piece, since });
      });
    }
  }

  /** Asks until it is answered, or the connection goes: the next one does all of it again. */
  async #onThisConnection(ask: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await ask();
        return;
      } catch (error) {
        if (!(error instanceof StreamError) || !PASSING.has(error.code)) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** Subscribes or asks for a snapshot, and takes the answer in before anything that comes after it. */
  #ask(verb: "subscribe" | "snapshot", selection: Selection & { readonly since?: object }): Promise<unknown> {
    const currency = this.#currency === "COIN" ? { currency: this.#currency } : {};
    return this.#socket.request({ [verb]: { ...selection, ...currency } }, (reply) =>
      this.#adopt(SnapshotFrame.parse(reply)),
    );
  }

  #adopt(frame: SnapshotFrame): void {
    for (const [marketId, snapshot] of Object.entries(frame.snapshot)) {
      const market = this.#markets.get(marketId) ?? new MarketView(snapshot.eventId);
      this.#markets.set(marketId, market);
      market.replace(snapshot);
      this.#stale.delete(marketId);
      this.#tellSnapshot(marketId, snapshot);
    }
    for (const subject of Object.keys(frame.resumed ?? {})) {
      this.#stale.delete(subject.startsWith("market:") ? subject.slice("market:".length) : PRIVATE);
    }
    if (frame.orders !== undefined || frame.positions !== undefined) this.#stale.delete(PRIVATE);
    this.#wallet.replace(frame);
    if (frame.orders !== undefined) this.#listener.openOrders?.(frame.orders.open);
    if (frame.positions !== undefined) this.#listener.positions?.(frame.positions.positions);
  }

  #tellSnapshot(marketId: string, { lifecycle, book }: MarketSnapshot): void {
    if (lifecycle !== undefined) {
      this.#listener.lifecycle?.(marketId, [{ kind: "SNAPSHOT", status: lifecycle.status }]);
    }
    if (book !== undefined) this.#listener.book?.(marketId);
  }

  #receive(frame: unknown): void {
    const delta = DeltaFrame.safeParse(frame);
    if (delta.success) {
      this.#fold(delta.data);
      return;
    }
    const heartbeat = HeartbeatFrame.safeParse(frame);
    if (heartbeat.success) {
      this.#compare(heartbeat.data);
      return;
    }
    // A market of a watched event that could not be told from its first delta on.
    const snapshot = SnapshotFrame.safeParse(frame);
    if (snapshot.success) this.#adopt(snapshot.data);
  }

  #fold(frame: DeltaFrame): void {
    for (const [marketId, batches] of Object.entries(frame.delta)) {
      if (!this.#stale.has(marketId)) this.#foldMarket(marketId, batches);
    }
    for (const channel of PRIVATE_CHANNELS) {
      if (this.#stale.has(PRIVATE)) return;
      const taken = this.#wallet.take(channel, frame);
      if (taken === "gap") this.#heal(PRIVATE);
      else if (taken === "folded" && channel === "orders")
        this.#listener.orders?.(frame.orders?.deltas ?? []);
      else if (taken === "folded") this.#listener.positions?.(frame.positions?.deltas ?? []);
    }
  }

  #foldMarket(marketId: string, batches: MarketBatches): void {
    const market = this.#markets.get(marketId) ?? this.#opened(marketId, batches.eventId);
    for (const channel of CHANNELS) {
      const taken = market.take(channel, batches);
      if (taken === "gap") {
        this.#heal(marketId);
        return;
      }
      if (taken === "known") continue;
      if (channel === "lifecycle") this.#listener.lifecycle?.(marketId, batches.lifecycle?.deltas ?? []);
      if (channel === "trades") this.#listener.trades?.(marketId, batches.trades?.deltas ?? []);
      if (channel === "bbo") this.#listener.bbo?.(marketId, batches.bbo?.deltas ?? []);
      if (channel === "book") this.#listener.book?.(marketId);
    }
  }

  /** A market that opens in a watched event. */
  #opened(marketId: string, eventId: string): MarketView {
    const market = new MarketView(eventId, this.#watched.channelsOf(marketId, eventId));
    this.#markets.set(marketId, market);
    return market;
  }

  /** What a heartbeat knows of and this client does not has been lost on the way. */
  #compare(frame: HeartbeatFrame): void {
    if (!this.#stale.has(PRIVATE) && this.#wallet.differsFrom(frame)) this.#heal(PRIVATE);
    for (const [marketId, seqs] of Object.entries(frame.heartbeat.markets ?? {})) {
      if (this.market(marketId)?.differsFrom(seqs) === true) this.#heal(marketId);
    }
  }

  #heal(subject: string): void {
    this.#stale.add(subject);
    this.#listener.gap?.(subject);
    const seqs = this.#markets.get(subject)?.seqs ?? {};
    const channels = CHANNELS.filter((channel) => seqs[channel] !== undefined);
    const selection: Selection =
      subject === PRIVATE ? { private: this.#watched.private } : { markets: { [subject]: channels } };
    this.#onThisConnection(() => this.#ask("snapshot", selection)).catch((error: unknown) =>
      this.#complain(error),
    );
  }

  /** A lost connection heals everything when it stands again; another failure leaves a subject waiting. */
  #complain(error: unknown): void {
    if (error instanceof ConnectionLost) return;
    this.#listener.gap?.(error instanceof Error ? error.message : String(error));
  }
}
