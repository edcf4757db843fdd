/**
 * Removes settled markets from the log after a grace period, and restores removed markets that have received messages.
 * A removed market stays readable; see `runtime/snapshots/removal.ts`.
 */

import type { Exchange } from "../log/ports.js";

/** Market that was settled at a time, in Unix ms. */
interface SettledMarket {
  readonly marketId: string;
  readonly settledTs: number;
}

export interface RemovalPorts {
  readonly exchange: Pick<Exchange, "market">;
  /**
   * Returns markets in the log that were settled before `settledBefore`: those that were restored, and after them those
   * that were never removed and were settled from `settledFrom` on, oldest first.
   */
  removable(settledFrom: number, settledBefore: number): Promise<readonly SettledMarket[]>;
  /** Returns false for a market that has something left to do, or no snapshot of its last entry. */
  remove(marketId: string): Promise<boolean>;
  /** Returns false while a role of an earlier build could not read a removed market. */
  mayRemove(): boolean;
}

/** Interval of the search for markets to remove, in ms, at most. */
const SEARCH_MS = 60_000;
/** Time in ms for which the owner of a market that was not removed has to take its snapshot. */
const WAKE_AGAIN_MS = 3_600_000;
/** Time in ms by which the read model may learn of a settlement late. */
const LATE_MS = 3_600_000;

export class Removal {
  readonly #ports: RemovalPorts;
  readonly #keepMs: number;
  /** Every market that was settled before this time is removed, or was restored since. */
  #settledFrom = 0;
  #searchAfterMs = 0;
  /** Time at which a market that was not removed was woken. */
  readonly #wokenMs = new Map<string, number>();

  /** `keepMs` is the time that a market stays in the log after its settlement. */
  constructor(ports: RemovalPorts, keepMs: number) {
    this.#ports = ports;
    this.#keepMs = keepMs;
  }

  /** Removes the markets whose grace period is over. */
  async run(nowMs: number): Promise<void> {
    if (nowMs < this.#searchAfterMs || !this.#ports.mayRemove()) return;
    const settledBefore = nowMs - this.#keepMs;
    const found = await this.#ports.removable(this.#settledFrom - LATE_MS, settledBefore);
    // Where the list is cut, no market after its last one has been seen.
    let leftTs = found.at(-1)?.settledTs ?? this.#settledFrom;
    let removed = 0;
    for (const { marketId, settledTs } of found) {
      if (await this.#ports.remove(marketId)) {
        removed += 1;
        this.#wokenMs.delete(marketId);
      } else {
        leftTs = Math.min(leftTs, settledTs);
        await this.#wake(marketId, nowMs);
      }
    }
    this.#settledFrom = Math.max(this.#settledFrom, Math.min(leftTs, settledBefore));
    // Where many were removed, many may be left.
    if (removed === 0) this.#searchAfterMs = nowMs + Math.min(SEARCH_MS, this.#keepMs);
  }

  /** Lets the owner of a market load it. The owner takes a snapshot when the market is idle. */
  async #wake(marketId: string, nowMs: number): Promise<void> {
    if (nowMs - (this.#wokenMs.get(marketId) ?? -Infinity) < WAKE_AGAIN_MS) return;
    this.#wokenMs.set(marketId, nowMs);
    await this.#ports.exchange.market(marketId, { kind: "settlement" }, { rememberMs: 0 });
  }
}
