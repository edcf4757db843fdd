/**
 * Live prices of the markets on the screen: one request for all of them every two seconds, answered 304 while nothing has
 * changed. A market is a signal of its own, so that only its row is drawn again.
 */

import { signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { CONTRACT_TICKS } from "../../../actors/units.js";
import type { MarketPrices } from "../../surface-a/schemas/catalog.js";
import { readJson, send } from "../data/api.js";
import { ticksOf } from "../data/prices.js";
import type { Connection } from "../market/live.js";

const EVERY_MS = 2_000;
/** Pause in ms before a row that has come into view is read, so that its neighbors are read with it. */
const GATHER_MS = 60;
/** Most markets of one request (contract section 5.14). */
const AT_ONCE = 100;

/** Prices of a market; `undefined` until they have arrived. */
export type PriceSignal = ReadonlySignal<MarketPrices | undefined>;

/** Watches the prices of the rows that are in view. */
export class PriceWatch {
  readonly #prices = new Map<string, Signal<MarketPrices | undefined>>();
  readonly #watched = new Map<Element, string>();
  readonly #inView = new Set<string>();
  readonly #connection = signal<Connection>({ state: "polling", sinceMs: Date.now() });
  /** Time of the last answer, in ms since 1970. */
  #freshMs = Date.now();
  readonly #rows: IntersectionObserver;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: AbortController | undefined;
  /** Markets of the last answer, with its ETag. */
  #last: { readonly markets: string; readonly etag: string | null } | undefined;

  constructor() {
    this.#rows = new IntersectionObserver((entries) => this.#notice(entries), { rootMargin: "200px" });
  }

  /** Connection to the service; while it is lost, the prices are as old as it says. */
  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** Returns the prices of a market. */
  of(marketId: string): PriceSignal {
    return this.#signalOf(marketId);
  }

  /** Watches a row until the returned function is called. */
  watch(row: Element, marketId: string): () => void {
    this.#watched.set(row, marketId);
    this.#rows.observe(row);
    return () => {
      this.#rows.unobserve(row);
      this.#watched.delete(row);
      this.#inView.delete(marketId);
    };
  }

  close(): void {
    this.#rows.disconnect();
    clearTimeout(this.#timer);
    this.#reading?.abort();
    document.removeEventListener("visibilitychange", this.#again);
  }

  #signalOf(marketId: string): Signal<MarketPrices | undefined> {
    let found = this.#prices.get(marketId);
    if (found === undefined) this.#prices.set(marketId, (found = signal(undefined)));
    return found;
  }

  #notice(entries: readonly IntersectionObserverEntry[]): void {
    let isNew = false;
    for (const { target, isIntersecting } of entries) {
      const marketId = this.#watched.get(target);
      if (marketId === undefined) continue;
      if (!isIntersecting) this.#inView.delete(marketId);
      else if (!this.#inView.has(marketId)) {
        this.#inView.add(marketId);
        isNew = true;
      }
    }
    if (isNew) this.#readAfter(GATHER_MS);
  }

  #readAfter(pauseMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#again, pauseMs);
  }

  readonly #again = (): void => {
    if (document.hidden) document.addEventListener("visibilitychange", this.#again, { once: true });
    else void this.#read();
  };

  async #read(): Promise<void> {
    this.#reading?.abort();
    const reading = new AbortController();
    this.#reading = reading;
    try {
      await this.#readMarkets([...this.#inView].slice(0, AT_ONCE).join(","), reading.signal);
      this.#freshMs = Date.now();
      if (this.#connection.value.state === "lost")
        this.#connection.value = { state: "polling", sinceMs: this.#freshMs };
    } catch {
      if (reading.signal.aborted) return;
      if (this.#connection.value.state !== "lost")
        this.#connection.value = { state: "lost", sinceMs: this.#freshMs };
    }
    if (this.#reading === reading) this.#readAfter(EVERY_MS);
  }

  async #readMarkets(markets: string, ending: AbortSignal): Promise<void> {
    if (markets === "") return;
    const etag = this.#last?.markets === markets ? this.#last.etag : null;
    const response = await send("GET", `/v3/public/catalog/prices?markets=${markets}`, {
      headers: etag === null ? {} : { "If-None-Match": etag },
      signal: ending,
    });
    if (response.status === 304) return;
    const { items } = await readJson<{ readonly items: readonly MarketPrices[] }>(response);
    this.#last = { markets, etag: response.headers.get("ETag") };
    for (const item of items) {
      const known = this.#signalOf(item.marketId);
      if (JSON.stringify(known.peek()) !== JSON.stringify(item)) known.value = item;
    }
  }
}

/** Returns the price at which an outcome can be bought now, in ticks, as the bids on the others offer it. */
export function buyTicks({ bids }: Pick<MarketPrices, "bids">, outcomeId: string): number | undefined {
  let left = CONTRACT_TICKS;
  for (const [id, bid] of Object.entries(bids)) {
    if (id === outcomeId) continue;
    if (bid === null) return undefined;
    left -= ticksOf(bid.price);
  }
  return Math.max(1, left);
}
