/**
 * Live data of a market page. A trader whose key is in this browser follows the stream, everybody else polls. Changes are
 * folded into plain objects as they arrive, and become values of signals once for each frame that the browser draws, so
 * that a busy market does not keep the page busy.
 */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { webKey } from "../trading/web-key.js";
import type { Feed, FeedEvents, OpenOrderAnswer, PositionAnswer, Step, Trade } from "./feeds/feed.js";
import { laddersOf, type BookState, type Ladder } from "./ladder.js";
import { PollingFeed } from "./feeds/polling.js";

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
  /** Steps that the page has seen, oldest first. */
  readonly lifecycle: ReadonlySignal<readonly Step[]>;
  readonly connection: ReadonlySignal<Connection>;
  /** Resting orders in this market of the key in this browser. */
  readonly orders: ReadonlySignal<readonly OpenOrderAnswer[]>;
  /** Positions in this market of the key in this browser. */
  readonly positions: ReadonlySignal<readonly PositionAnswer[]>;
}

const MAX_TRADES = 100;
const MAX_STEPS = 50;

class LiveMarket implements MarketLive {
  readonly books: Signal<readonly Ladder[] | undefined> = signal(undefined);
  readonly trades: Signal<readonly Trade[]> = signal([]);
  readonly lifecycle: Signal<readonly Step[]> = signal([]);
  readonly connection: Signal<Connection> = signal({ state: "polling", sinceMs: Date.now() });
  readonly orders: Signal<readonly OpenOrderAnswer[]> = signal([]);
  readonly positions: Signal<readonly PositionAnswer[]> = signal([]);
  #book: BookState | undefined;
  #isBookNew = false;
  #newTrades: Trade[] = [];
  #own: ReadonlySet<string> = new Set();
  #freshMs = Date.now();
  #frame: number | undefined;
  #feed: Feed | undefined;
  /** Number of the feed in use; a feed that was replaced reports nothing any more. */
  #turn = 0;

  constructor(private readonly marketId: string) {}

  /** Follows the stream with a key, or polls without one. The stream replaces the polling once it is up to date. */
  follow(keyId: string | undefined): void {
    const turn = this.#replace();
    this.#feed = new PollingFeed(this.marketId, this.#events(turn, "polling"));
    if (keyId === undefined) {
      this.orders.value = [];
      this.positions.value = [];
      this.#own = new Set();
    } else void this.#stream(keyId, turn);
  }

  async #stream(keyId: string, turn: number): Promise<void> {
    const { StreamFeed } = await import("./feeds/stream.js");
    if (turn !== this.#turn) return;
    const polling = this.#feed;
    const events = this.#events(turn, "live");
    const stream: Feed = new StreamFeed(
      this.marketId,
      keyId,
      {
        ...events,
        fresh: () => {
          polling?.close();
          events.fresh();
        },
      },
      () => {
        if (turn === this.#turn) this.follow(undefined);
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
        this.#newTrades.push(...trades);
        this.#draw();
      }),
      step: inTurn((step) => {
        const steps = [...this.lifecycle.value, { ...step, ts: Date.now() }];
        this.lifecycle.value = steps.slice(-MAX_STEPS);
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
