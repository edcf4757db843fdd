/** Markets with their prices of the last hour, read from Postgres for many markets at once and kept for a few seconds. */

import type { Ticks } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import { findMarkets, type MarketRecord } from "../../../db/queries/catalog/markets.js";
import { closingPrices } from "../../../db/queries/trading/closing-prices.js";
import type { EngineTime } from "../../edge/incoming.js";
import { Refused } from "../../request/errors.js";

/** A market, and the closing prices of its first outcome, oldest first; null for an interval without a trade. */
export interface RecentMarket {
  readonly market: MarketRecord;
  readonly hour: readonly (Ticks | null)[];
}

/** Reads of the tables. */
export interface RecentReads {
  markets(marketIds: readonly string[]): Promise<readonly MarketRecord[]>;
  hours(marketIds: readonly string[]): ReturnType<typeof closingPrices>;
}

/** Time in ms for which a read serves all requests, so that their number does not matter to Postgres. */
const KEEP_MS = 5_000;
const MAX_KEPT = 20_000;
/** Most ids kept that name no visible market. Anybody can make them up, so they do not take the places of markets. */
const MAX_MISSES = 2_000;
/** Most ids that wait for the next batch. */
const MAX_WAITING = 2_000;

interface Kept<Value> {
  readonly atMs: number;
  readonly value: Value;
}

interface Batch {
  readonly marketIds: Set<string>;
  readonly done: Promise<void>;
}

export function recentReads(db: Database, time: Pick<EngineTime, "now">): RecentReads {
  return {
    markets: (marketIds) => findMarkets(db, marketIds),
    hours: (marketIds) => closingPrices(db, marketIds, time.now()),
  };
}

export class RecentMarkets {
  /** The last read of each visible market, the oldest read first; likewise of the ids that name none. */
  readonly #markets = new Map<string, Kept<RecentMarket>>();
  readonly #misses = new Map<string, Kept<undefined>>();
  /** End of the batch that is read last. */
  #last: Promise<unknown> = Promise.resolve();
  #next: Batch | undefined;

  constructor(
    private readonly reads: RecentReads,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Returns the visible ones of the markets, in the given order. Refuses `UNAVAILABLE` while too many ids wait. */
  async of(marketIds: readonly string[]): Promise<RecentMarket[]> {
    const missing = marketIds.filter((marketId) => this.#kept(marketId) === undefined);
    if (missing.length > 0) await this.#inBatch(missing);
    return marketIds.flatMap((marketId) => this.#markets.get(marketId)?.value ?? []);
  }

  #kept(marketId: string): Kept<RecentMarket | undefined> | undefined {
    const kept = this.#markets.get(marketId) ?? this.#misses.get(marketId);
    return kept !== undefined && this.nowMs() - kept.atMs < KEEP_MS ? kept : undefined;
  }

  /** Reads the ids with the next batch, which begins when the one before it has ended. */
  #inBatch(marketIds: readonly string[]): Promise<void> {
    const batch = this.#next ?? this.#newBatch();
    if (batch.marketIds.size + marketIds.length > MAX_WAITING)
      throw new Refused("UNAVAILABLE", "too many prices are being read; try again");
    for (const marketId of marketIds) batch.marketIds.add(marketId);
    return batch.done;
  }

  #newBatch(): Batch {
    const marketIds = new Set<string>();
    const done = this.#last.then(() => {
      this.#next = undefined;
      return this.#read([...marketIds].filter((marketId) => this.#kept(marketId) === undefined));
    });
    this.#last = done.catch(() => undefined);
    this.#next = { marketIds, done };
    return this.#next;
  }

  async #read(marketIds: readonly string[]): Promise<void> {
    if (marketIds.length === 0) return;
    const atMs = this.nowMs();
    const found = await this.reads.markets(marketIds);
    const visible = new Map(
      found.filter(({ event }) => event.visible).map((market) => [market.marketId, market]),
    );
    const hours = visible.size === 0 ? undefined : await this.reads.hours([...visible.keys()]);
    for (const marketId of marketIds) {
      this.#markets.delete(marketId);
      this.#misses.delete(marketId);
      const market = visible.get(marketId);
      if (market === undefined) this.#misses.set(marketId, { atMs, value: undefined });
      else this.#markets.set(marketId, { atMs, value: { market, hour: hours?.get(marketId) ?? [] } });
    }
    dropOldest(this.#markets, MAX_KEPT);
    dropOldest(this.#misses, MAX_MISSES);
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}
