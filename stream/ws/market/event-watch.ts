/** Tells the watchers of an event of the markets that open in it later (contract section 6). */

import type { Catalog } from "../ports.js";

export type OnAppeared = (marketId: string) => void;

export class EventWatch {
  readonly #catalog: Catalog;
  readonly #onError: (error: unknown) => void;
  readonly #watchers = new Map<string, Set<OnAppeared>>();
  readonly #stop: () => void;

  constructor(catalog: Catalog, onError: (error: unknown) => void) {
    this.#catalog = catalog;
    this.#onError = onError;
    this.#stop = catalog.onMarket((marketId) => void this.#notify(marketId));
  }

  /** Calls `onAppeared` with markets of the event that appear or change from now on. */
  watch(eventId: string, onAppeared: OnAppeared): void {
    const watchers = this.#watchers.get(eventId) ?? new Set();
    watchers.add(onAppeared);
    this.#watchers.set(eventId, watchers);
  }

  unwatch(eventId: string, onAppeared: OnAppeared): void {
    const watchers = this.#watchers.get(eventId);
    watchers?.delete(onAppeared);
    if (watchers?.size === 0) this.#watchers.delete(eventId);
  }

  close(): void {
    this.#stop();
  }

  async #notify(marketId: string): Promise<void> {
    if (this.#watchers.size === 0) return;
    try {
      const market = await this.#catalog.market(marketId);
      if (market === undefined) return;
      for (const onAppeared of [...(this.#watchers.get(market.eventId) ?? [])]) onAppeared(marketId);
    } catch (error) {
      this.#onError(error);
    }
  }
}
