/**
 * The markets that a broken rule has halted. What a ledger sends to one stays in its mailbox, which has no bound, so a gateway
 * lets requests for its orders pass only from time to time.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../../stream/log/clock.js";
import { Unavailable } from "../../stream/log/ports.js";

/**
 * Time from one request that passes to the next one, of each market, in ms. The record of a halt goes with the next turn of the
 * market, so it may outlive the halt while nothing passes.
 */
const PASS_MS = 30_000;
/** Time after which the halted actors are read again, in ms. */
const READ_MS = 1_000;
const MARKET = "market:";

export interface HaltedMarketsParts {
  /** Returns the reasons of all halted actors. */
  readonly halted: () => Promise<ReadonlyMap<ActorId, string>>;
  readonly clock: Clock;
}

export class HaltedMarkets {
  readonly #parts: HaltedMarketsParts;
  #marketIds: readonly string[] = [];
  #readAtMs = -Infinity;
  /** Times at which a request has passed, by market. */
  readonly #passedMs = new Map<string, number>();

  constructor(parts: HaltedMarketsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the halted markets, among these or all, of which a request must leave the orders as they are, as far as the last
   * read shows. None while nobody knows which markets are halted. Waits for nothing.
   */
  closed(among?: readonly string[]): readonly string[] {
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#readAtMs >= READ_MS) void this.#read(nowMs);
    return this.#marketIds.filter(
      (marketId) => among?.includes(marketId) !== false && this.#isClosed(marketId, nowMs),
    );
  }

  /** Records that a request for orders in these markets has passed: the halted ones among them are closed for a while. */
  passed(marketIds: readonly string[]): void {
    const nowMs = this.#parts.clock.monotonic();
    for (const marketId of this.#marketIds)
      if (marketIds.includes(marketId) && !this.#isClosed(marketId, nowMs))
        this.#passedMs.set(marketId, nowMs);
  }

  #isClosed(marketId: string, nowMs: number): boolean {
    return nowMs - (this.#passedMs.get(marketId) ?? -Infinity) < PASS_MS;
  }

  async #read(nowMs: number): Promise<void> {
    this.#readAtMs = nowMs;
    const actors = await this.#parts.halted().then(
      (reasons) => [...reasons.keys()],
      () => [],
    );
    this.#marketIds = actors.flatMap((actor) =>
      actor.startsWith(MARKET) ? [actor.slice(MARKET.length)] : [],
    );
    for (const marketId of this.#passedMs.keys())
      if (!this.#marketIds.includes(marketId)) this.#passedMs.delete(marketId);
  }
}

/** Returns the refusal of a request for orders in a halted market. */
export function haltedRefusal(): Unavailable {
  return new Unavailable(
    "orders are in a market that a broken rule has halted: they stay as they are until an operator has repaired it; " +
      "try again then",
  );
}
