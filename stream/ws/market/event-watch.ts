/** Notifies the watchers of an event when a market opens in it later (contract section 6.4). */

import type { Catalog } from "../ports.js";

/** Called with a market of a watched event that appeared or changed. */
export type OnAppeared = (marketId: string) => void;

/** Watchers by event, notified from the catalog. */
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

  /** Calls `onAppeared` with every market of the event that appears or changes from now on. */
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
