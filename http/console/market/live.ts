/**
 * Live data of a market page. A trader whose key is in this browser follows the stream, everybody else polls. Changes are
 * folded into plain objects as they arrive, and become values of signals once for each frame that the browser draws, so
 * that a busy market does not keep the page busy.
 */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { webKey } from "../trading/web-key.js";
import type { Feed, FeedEvents, OpenOrderAnswer, PositionAnswer, Trade } from "./feeds/feed.js";
import { laddersOf, type BookState, type Ladder } from "./ladder.js";
import { PollingFeed } from "./feeds/polling.js";
import { standingAfter, type Standing } from "./feeds/standing.js";

/** Connection to the service. While it is lost, what is shown is as old as `sinceMs`. */
export interface Connection {
  readonly state: "live" | "polling" | "lost";
  readonly sinceMs: number;
}

/** Live data of a market, as signals that change at most once for each frame. */
export interface MarketLive {
  /** Ladders in market order; `undefined` until the first book has arrived. */
  readonly books: ReadonlySignal<readonly Ladder[] | undefined>;
  /** Newest first. */
  readonly trades: ReadonlySignal<readonly Trade[]>;
  /** Number of transitions that the stream has sent; a snapshot counts too. */
  readonly steps: ReadonlySignal<number>;
  /** Status and pause after the last one of these transitions; `undefined` before the first. */
  readonly standing: ReadonlySignal<Standing | undefined>;
  readonly connection: ReadonlySignal<Connection>;
  /** Resting orders in this market of the key in this browser; `undefined` until the stream has sent them. */
  readonly orders: ReadonlySignal<readonly OpenOrderAnswer[] | undefined>;
  /** Positions in this market of the key in this browser; `undefined` until the stream has sent them. */
  readonly positions: ReadonlySignal<readonly PositionAnswer[] | undefined>;
}

const MAX_TRADES = 100;
/** Shortest and longest pause in ms before a stream that has failed is opened again. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

class LiveMarket implements MarketLive {
  readonly books: Signal<readonly Ladder[] | undefined> = signal(undefined);
  readonly trades: Signal<readonly Trade[]> = signal([]);
  readonly steps: Signal<number> = signal(0);
  readonly standing: Signal<Standing | undefined> = signal(undefined);
  readonly connection: Signal<Connection> = signal({ state: "polling", sinceMs: Date.now() });
  readonly orders: Signal<readonly OpenOrderAnswer[] | undefined> = signal(undefined);
  readonly positions: Signal<readonly PositionAnswer[] | undefined> = signal(undefined);
  #book: BookState | undefined;
  #isBookNew = false;
  #newTrades: Trade[] = [];
  #own: ReadonlySet<string> = new Set();
  #freshMs = Date.now();
  #frame: number | undefined;
  #feed: Feed | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Number of the feed in use; a feed that was replaced reports nothing any more. */
  #turn = 0;

  constructor(private readonly marketId: string) {}

  /** Follows the stream with a key, or polls without one. The stream replaces the polling once it is up to date. */
  follow(keyId: string | undefined): void {
    const turn = this.#poll();
    this.#pauseMs = FIRST_PAUSE_MS;
    if (keyId !== undefined) void this.#stream(keyId, turn);
  }

  /** Polls. The own orders and positions count as unknown until the stream sends them. */
  #poll(): number {
    const turn = this.#replace();
    this.orders.value = undefined;
    this.positions.value = undefined;
    this.#own = new Set();
    this.#isBookNew = true;
    this.#feed = new PollingFeed(this.marketId, this.#events(turn, "polling"));
    return turn;
  }

  /** Polls until the stream is opened again, after a pause that grows. */
  #streamLater(keyId: string): void {
    const turn = this.#poll();
    this.#retry = setTimeout(() => void this.#stream(keyId, turn), this.#pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  async #stream(keyId: string, turn: number): Promise<void> {
    const loaded = await import("./feeds/stream.js").catch(() => undefined);
    if (turn !== this.#turn) return;
    if (loaded === undefined) {
      this.#streamLater(keyId);
      return;
    }
    const polling = this.#feed;
    const events = this.#events(turn, "live");
    const stream: Feed = new loaded.StreamFeed(
      this.marketId,
      keyId,
      {
        ...events,
        fresh: () => {
          polling?.close();
          this.#pauseMs = FIRST_PAUSE_MS;
          events.fresh();
        },
      },
      () => {
        if (turn === this.#turn) this.#streamLater(keyId);
      },
    );
    this.#feed = {
      close: () => {
        polling?.close();
        stream.close();
      },
    };
  }

  close(): void {
    this.#replace();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #replace(): number {
    clearTimeout(this.#retry);
    this.#feed?.close();
    this.#feed = undefined;
    return (this.#turn += 1);
  }

  #events(turn: number, state: "live" | "polling"): FeedEvents {
    const inTurn =
      <Args extends readonly unknown[]>(report: (...args: Args) => void) =>
      (...args: Args): void => {
        if (turn === this.#turn) report(...args);
      };
    return {
      book: inTurn((book) => {
        this.#book = book;
        this.#isBookNew = true;
        this.#draw();
      }),
      trades: inTurn((trades) => {
        // Hidden tabs draw no frame, so what waits for one stays bounded.
        this.#newTrades = [...this.#newTrades, ...trades].slice(-MAX_TRADES);
        this.#draw();
      }),
      step: inTurn((transitions) => {
        this.standing.value = standingAfter(this.standing.value, transitions);
        this.steps.value += 1;
      }),
      wallet: inTurn((orders, positions) => {
        this.orders.value = orders;
        this.positions.value = positions;
        this.#own = new Set(orders.map(({ orderId }) => orderId));
        this.#isBookNew = true;
        this.#draw();
      }),
      fresh: inTurn(() => {
        this.#freshMs = Date.now();
        if (this.connection.value.state !== state) this.connection.value = { state, sinceMs: Date.now() };
      }),
      lost: inTurn(() => {
        if (this.connection.value.state === "lost") return;
        // A stream was in touch with the service until now; a poll, until its last answer.
        const sinceMs = state === "live" ? Date.now() : this.#freshMs;
        this.connection.value = { state: "lost", sinceMs };
      }),
    };
  }

  #draw(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#show();
    });
  }

  #show(): void {
    if (this.#isBookNew && this.#book !== undefined) {
      this.#isBookNew = false;
      this.books.value = laddersOf(this.#book, this.#own, this.books.value);
    }
    const added = this.#newTrades.splice(0);
    if (added.length === 0) return;
    const known = new Set(this.trades.value.map(({ tradeId }) => tradeId));
    const fresh = added.filter(({ tradeId }) => {
      if (known.has(tradeId)) return false;
      known.add(tradeId);
      return true;
    });
    if (fresh.length === 0) return;
    // The sort is stable: of trades at one time, those that came later stay in front.
    const all = [...fresh.toReversed(), ...this.trades.value].toSorted((a, b) => b.ts - a.ts);
    this.trades.value = all.slice(0, MAX_TRADES);
  }
}

/** Follows a market while the component is shown. */
export function useMarket(marketId: string): MarketLive {
  const live = useMemo(() => new LiveMarket(marketId), [marketId]);
  const keyId = webKey.value?.keyId;
  useEffect(() => live.follow(keyId), [live, keyId]);
  useEffect(() => () => live.close(), [live]);
  return live;
}
