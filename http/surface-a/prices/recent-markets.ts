/** Markets with their prices of the last hour, read from Postgres for many markets at once and kept for a few seconds. */

import type { Ticks } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import { findMarkets, type MarketRecord } from "../../../db/queries/catalog/markets.js";
import { closingPrices } from "../../../db/queries/trading/closing-prices.js";

/** A market, and the closing prices of its first outcome, oldest first; null for an interval without a trade. */
export interface RecentMarket {
  readonly market: MarketRecord;
  readonly hour: readonly (Ticks | null)[];
}

/** Time in ms for which a read serves all requests, so that their number does not matter to Postgres. */
const KEEP_MS = 5_000;
const MAX_KEPT = 20_000;

interface Read {
  readonly atMs: number;
  readonly found: Promise<ReadonlyMap<string, RecentMarket>>;
}

export class RecentMarkets {
  /** The last read of each market, also of one that does not exist. The oldest reads come first. */
  readonly #reads = new Map<string, Read>();

  constructor(
    private readonly db: Database,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** Returns the visible ones of the markets, in the given order. */
  async of(marketIds: readonly string[]): Promise<RecentMarket[]> {
    const nowMs = this.nowMs();
    const missing = marketIds.filter((marketId) => nowMs - (this.#reads.get(marketId)?.atMs ?? 0) >= KEEP_MS);
    if (missing.length > 0) this.#keep(missing, { atMs: nowMs, found: this.#read(missing, nowMs) });
    const found = await Promise.all(
      marketIds.map(async (marketId) => (await this.#reads.get(marketId)?.found)?.get(marketId)),
    );
    return found.filter((recent) => recent !== undefined).filter(({ market }) => market.event.visible);
  }

  async #read(marketIds: readonly string[], nowMs: number): Promise<ReadonlyMap<string, RecentMarket>> {
    const markets = await findMarkets(this.db, marketIds);
    const hours = await closingPrices(this.db, marketIds, nowMs);
    return new Map(
      markets.map((market) => [market.marketId, { market, hour: hours.get(market.marketId) ?? [] }]),
    );
  }

  #keep(marketIds: readonly string[], read: Read): void {
    for (const marketId of marketIds) {
      this.#reads.delete(marketId);
      this.#reads.set(marketId, read);
    }
    read.found.catch(() => {
      for (const marketId of marketIds) if (this.#reads.get(marketId) === read) this.#reads.delete(marketId);
    });
    for (const oldest of this.#reads.keys()) {
      if (this.#reads.size <= MAX_KEPT) return;
      this.#reads.delete(oldest);
    }
  }
}
