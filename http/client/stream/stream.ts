/**
 * Client of the stream (contract section 6): subscriptions that resume after reconnects, and trading over the socket. The
 * state of markets and of the own wallet is folded in `followed.ts`; a gap in it is repaired with a new snapshot.
 */

import { z } from "zod/mini";
import type { OrderBook } from "./book.js";
import { Followed } from "./followed.js";
import { pause, UnknownOutcome, type Connection } from "../connection.js";
import type { MarketView } from "./market-view.js";
import type { PageQuery } from "../calls.js";
import type { OrderFilter } from "../rest/account.js";
import type { EventFilter, MarketFilter } from "../rest/catalog.js";
import { EventAnswer, MarketAnswer } from "../wire/catalog.js";
import {
  isEmptySelection,
  missingSubject,
  splitSelection,
  withoutSubject,
  type Selection,
} from "./selection.js";
import type { Signer } from "../signer.js";
import type { StreamListener } from "./listener.js";
import { openStream, type TicketProvider } from "./opening.js";
import { ConnectionLost, RequestSocket, StreamError } from "./socket.js";
import type { WalletView } from "./wallet-view.js";
import {
  BatchAnswer,
  CancelAnswer,
  OrderAccepted,
  placedOf,
  type BatchPlaced,
  type PlaceOrder,
} from "../wire/orders.js";
import { SnapshotFrame, StatusFrame } from "../wire/stream.js";
import { catalogPageOf, checked, fits, type Page } from "../wire/values.js";
import type { Currency } from "../../../actors/market/types.js";

/** Options of a stream client. */
export interface StreamOptions {
  /** Currency of the watched books (default CASH). */
  readonly currency?: Currency | undefined;
}

const PlacedAck = z.object({ placed: z.array(OrderAccepted) });
const CanceledAck = z.object({ canceled: CancelAnswer });
const MarketsAck = z.object({ markets: catalogPageOf(MarketAnswer) });
const EventsAck = z.object({ events: catalogPageOf(EventAnswer) });
const CanceledAllAck = z.object({ canceled_all: z.number() });
const RETRY_MS = 250;
const PATIENCE_MS = 60_000;

/** Answer that leaves open whether the request took effect, as a lost connection does. */
const UNAVAILABLE = "UNAVAILABLE";
/** Errors that a retry may change. All but `UNAVAILABLE` had no effect. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  "RATE_LIMIT_EXCEEDED",
  UNAVAILABLE,
  "REQUEST_IN_PROGRESS",
]);

function isTransient(error: unknown): error is StreamError {
  return error instanceof StreamError && TRANSIENT_CODES.has(error.code);
}

/** A connection to the stream with one key. It reconnects and resumes by itself until `close`. */
export class StreamClient {
  readonly #socket: RequestSocket;
  readonly #listener: StreamListener;
  readonly #currency: Currency;
  readonly #followed: Followed;
  #everOpened = false;
  #cancelOnDisconnect = false;

  /**
   * Does not connect yet; see `connect`. A signer opens sockets that trade; a ticket provider, as of a web session, those
   * that its tickets allow.
   */
  constructor(
    connection: Connection,
    credential: Signer | TicketProvider,
    listener: StreamListener = {},
    options: StreamOptions = {},
  ) {
    this.#listener = listener;
    this.#currency = options.currency ?? "CASH";
    this.#followed = new Followed(listener, (subject) => this.#refresh(subject));
    this.#socket = new RequestSocket({
      open: (events) => openStream(connection, credential, events),
      onFrame: (frame) => this.#followed.receive(frame),
      onOpen: () => void this.#resume().catch((error: unknown) => this.#report(error)),
      onLost: (reason) => listener.lost?.(reason),
      onRefused: (error) => listener.refused?.(error),
    });
  }

  /** Connects, and reconnects after every loss until `close`. Rejects with `StreamError` when the exchange refuses the key. */
  connect(): Promise<void> {
    return this.#socket.connect();
  }

  /** Closes the connection and does not reconnect. */
  close(): void {
    this.#socket.close();
  }

  /** True when a request would be sent at once. Otherwise REST is faster. */
  get ready(): boolean {
    return this.#socket.ready;
  }

  /** Adds subscriptions. Resolves when their snapshots have arrived. Throws `StreamError`, for example over the cap. */
  async subscribe(selection: Selection): Promise<void> {
    for (const piece of splitSelection(selection)) {
      await this.#retry(() => this.#requestState("subscribe", piece));
      this.#followed.watched.add(piece);
    }
  }

  /** Removes subscriptions, each named `market:<id>`, `event:<id>` or `PRIVATE`. */
  async unsubscribe(subjects: readonly string[]): Promise<void> {
    await this.#retry(() => this.#socket.request({ unsubscribe: subjects }));
    this.#followed.remove(subjects);
  }

  /** Returns what the exchange sends on this connection, and the limits of that. */
  async status(): Promise<StatusFrame["status"]> {
    return checked(StatusFrame, await this.#retry(() => this.#socket.request({ status: {} }))).status;
  }

  /** Returns one page of the markets of the catalog. */
  async queryMarkets(query: MarketFilter & PageQuery = {}): Promise<Page<MarketAnswer>> {
    return checked(MarketsAck, await this.#retry(() => this.#socket.request({ query_markets: query })))
      .markets;
  }

  /** Returns one page of the events of the catalog. */
  async queryEvents(query: EventFilter & PageQuery = {}): Promise<Page<EventAnswer>> {
    return checked(EventsAck, await this.#retry(() => this.#socket.request({ query_events: query }))).events;
  }

  /** Returns the current state of a watched market; `undefined` while it waits for a snapshot. */
  market(marketId: string): MarketView | undefined {
    return this.#followed.market(marketId);
  }

  /** Returns the current book of a market with the channel `book`; `undefined` while it waits for a snapshot. */
  book(marketId: string): OrderBook | undefined {
    const market = this.market(marketId);
    return market?.watches("book") === true ? market.book : undefined;
  }

  /** Current own orders and positions, when the private channels are watched. */
  get wallet(): Pick<WalletView, "orders" | "positions" | "seqs"> {
    return this.#followed.wallet;
  }

  /**
   * Places up to 256 orders (contract section 6.13). Returns refused orders in `rejected`; with `atomic` any refusal
   * throws `StreamError` and nothing is placed. After a lost connection and after `UNAVAILABLE` the orders are sent
   * again when all of them have a `clientId`; otherwise throws `UnknownOutcome`.
   */
  async place(orders: readonly PlaceOrder[], atomic = false): Promise<BatchPlaced> {
    const repeatable = orders.every((order) => order.clientId !== undefined);
    try {
      const ack = await this.#retry(() => this.#socket.request({ place: { orders, atomic } }), repeatable);
      return { accepted: checked(PlacedAck, ack).placed, rejected: [] };
    } catch (error) {
      if (!(error instanceof StreamError) || atomic) throw error;
      const refused = fits(BatchAnswer, error.frame) ? placedOf(error.frame) : undefined;
      if (refused === undefined || refused.rejected.length === 0) throw error;
      return refused;
    }
  }

  /** Cancels up to 256 orders. Sent again after a lost connection. */
  async cancel(orderIds: readonly string[]): Promise<CancelAnswer> {
    const ack = await this.#retry(() => this.#socket.request({ cancel: { orderIds } }));
    return checked(CanceledAck, ack).canceled;
  }

  /** Cancels all orders of the wallet that match the filter. Returns the number of cancels that were queued. */
  async cancelAll(filter: OrderFilter = {}): Promise<number> {
    const ack = await this.#retry(() => this.#socket.request({ cancel_all: filter }));
    return checked(CanceledAllAck, ack).canceled_all;
  }

  /** Arms or disarms the cancel of all orders of the wallet when the connection closes. Armed again after a reconnect. */
  async cancelOnDisconnect(on: boolean): Promise<void> {
    await this.#retry(() => this.#socket.request({ safety: { cancelOnDisconnect: on } }));
    this.#cancelOnDisconnect = on;
  }

  /**
   * Repeats a request until its answer is final, at most 60 s. Throws `UnknownOutcome` for one that is not repeatable once
   * it may have taken effect.
   */
  async #retry<T>(send: () => Promise<T>, repeatable = true): Promise<T> {
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof ConnectionLost) && !isTransient(error)) throw error;
        const mayHaveTakenEffect = error instanceof ConnectionLost || error.code === UNAVAILABLE;
        if (mayHaveTakenEffect && !repeatable) throw new UnknownOutcome(error.message);
        if (this.#socket.hasEnded || Date.now() > until) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** Restores the subscriptions on a new connection, from the last seqs. */
  async #resume(): Promise<void> {
    if (!this.#everOpened) {
      this.#everOpened = true;
      return;
    }
    this.#followed.awaitSnapshots();
    await Promise.all([this.#rearm(), this.#resubscribe()]);
    this.#followed.goOn();
    this.#listener.reconnected?.();
  }

  async #rearm(): Promise<void> {
    if (this.#cancelOnDisconnect) await this.#onThisConnection(() => this.cancelOnDisconnect(true));
  }

  /** Restores all pieces that the exchange accepts. Throws the first refusal of one after that. */
  async #resubscribe(): Promise<void> {
    const refusals: StreamError[] = [];
    for (const piece of splitSelection(this.#followed.watched.selection())) {
      try {
        await this.#resubscribePiece(piece);
      } catch (error) {
        if (!(error instanceof StreamError)) throw error;
        refusals.push(error);
      }
    }
    if (refusals[0] !== undefined) throw refusals[0];
  }

  /** Restores a piece of the subscriptions. Drops and reports each subject that the exchange does not have any more. */
  async #resubscribePiece(piece: Selection): Promise<void> {
    if (isEmptySelection(piece)) return;
    try {
      await this.#onThisConnection(() => {
        const since = this.#followed.since(piece);
        return this.#requestState("subscribe", { ...piece, since });
      });
    } catch (error) {
      const missing = error instanceof StreamError ? missingSubject(piece, error) : undefined;
      if (missing === undefined) throw error;
      this.#followed.remove([missing]);
      this.#report(error);
      await this.#resubscribePiece(withoutSubject(piece, missing));
    }
  }

  /** Repeats a request until its answer is final. Stops when the connection is lost: the next one restores everything. */
  async #onThisConnection(send: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await send();
        return;
      } catch (error) {
        if (!isTransient(error)) throw error;
        await pause(RETRY_MS);
      }
    }
  }

  /** Sends a subscribe or a snapshot request, and applies the answer before any later frame. */
  #requestState(
    verb: "subscribe" | "snapshot",
    selection: Selection & { readonly since?: object },
  ): Promise<unknown> {
    const currency = this.#currency === "COIN" ? { currency: this.#currency } : {};
    return this.#socket.request({ [verb]: { ...selection, ...currency } }, (reply) =>
      this.#followed.apply(checked(SnapshotFrame, reply)),
    );
  }

  /** Requests a new snapshot of a subject, whose deltas are ignored until it arrives. */
  #refresh(subject: string): void {
    this.#listener.gap?.(subject);
    const selection = this.#followed.selectionOf(subject);
    this.#onThisConnection(() => this.#requestState("snapshot", selection)).catch((error: unknown) =>
      this.#report(error),
    );
  }

  /**
   * Reports an error that leaves a subject without a snapshot. A lost connection needs no report, because the next
   * connection restores all subjects.
   */
  #report(error: unknown): void {
    if (error instanceof ConnectionLost) return;
    this.#listener.gap?.(error instanceof Error ? error.message : String(error));
  }
}
