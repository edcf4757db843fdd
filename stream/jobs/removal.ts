/**
 * Removes settled markets from the log after a grace period, and restores removed markets that have received messages.
 * A removed market stays readable; see `runtime/removal/removal.ts`.
 */

import type { Exchange } from "../log/ports.js";

/** Place of a market in a list of markets that may be removed: a time (Unix ms), and the id of the market. */
export interface RemovalPlace {
  readonly ts: number;
  readonly marketId: string;
}

/**
 * List of markets that may be removed, ordered by place. `restored`: settled markets that were restored, by the time of
 * the restoration; `settled`: those that were never removed, by the time of their settlement.
 */
export type RemovalList = "restored" | "settled";

/** Part of a list. */
export interface RemovalPage {
  readonly markets: readonly RemovalPlace[];
  /** Place after which the list goes on; undefined at its end. */
  readonly next: RemovalPlace | undefined;
}

export interface RemovalPorts {
  readonly exchange: Pick<Exchange, "market">;
  /** Returns the first markets of a list after one place and before a time (Unix ms). A page may be empty before the end. */
  removable(list: RemovalList, after: RemovalPlace, beforeTs: number): Promise<RemovalPage>;
  /** Returns false for a market that has something left to do, or no snapshot of its last entry. */
  remove(marketId: string): Promise<boolean>;
  /** Records the restoration of markets whose removal a power loss of the log has undone. */
  findUndone(): Promise<void>;
  /** Returns false while a role of an earlier build could not read a removed market. */
  mayRemove(): boolean;
}

/** Interval of the rounds, in ms, at most. */
const ROUND_MS = 60_000;
/** Time in ms for which the owner of a market that was not removed has to take its snapshot. */
const WAKE_AGAIN_MS = 3_600_000;
/** Time in ms by which the read model may learn of a settlement late. */
const LATE_MS = 3_600_000;
/**
 * Time of settlement in ms to which a round goes back. Once in `WAKE_AGAIN_MS` a round goes back to the oldest market that is
 * left: one that can never be removed would make each round pass over every market since.
 */
const RECENT_MS = 6 * 3_600_000;
/** Most empty pages that one sweep passes over. */
const EMPTY_PAGES = 20;

/** Progress of a round through the lists. */
interface Round {
  readonly beforeTs: number;
  /** True when the list `settled` begins with the oldest market that is left. */
  readonly isWhole: boolean;
  list: RemovalList;
  after: RemovalPlace;
  /** Time of the first market of the list `settled` that is left. */
  leftTs: number;
}

/** Place before every market that is settled at this time or later. */
function placeBefore(ts: number): RemovalPlace {
  return { ts: ts - 1, marketId: "ffffffff-ffff-ffff-ffff-ffffffffffff" };
}

export class Removal {
  readonly #ports: RemovalPorts;
  readonly #keepMs: number;
  /** Every market that was settled before this time is removed, or was restored since. */
  #settledFrom = 0;
  #lastRunMs = 0;
  #nextRoundMs = 0;
  #nextWholeMs = 0;
  #round: Round | undefined;
  /** Time at which a market that was not removed was woken. */
  readonly #wokenMs = new Map<string, number>();

  /** `keepMs` is the time that a market stays in the log after its settlement. */
  constructor(ports: RemovalPorts, keepMs: number) {
    this.#ports = ports;
    this.#keepMs = keepMs;
  }

  /**
   * Removes a page of the markets whose grace period is over, one after the other, so that thousands that were settled at
   * once do not slow the others. A market that cannot be removed yet holds up no other one.
   */
  async run(nowMs: number): Promise<void> {
    if (!this.#ports.mayRemove()) return;
    // Engine time goes back when an operator confirms such a jump, and removals must not wait until it has caught up.
    if (nowMs < this.#lastRunMs) this.#forgetTimes();
    this.#lastRunMs = nowMs;
    if (this.#round === undefined) {
      if (nowMs < this.#nextRoundMs) return;
      await this.#ports.findUndone();
      this.#round = this.#begin(nowMs);
    }
    const round = this.#round;
    for (let page = 0; page < EMPTY_PAGES; page += 1) {
      const { markets, next } = await this.#ports.removable(round.list, round.after, round.beforeTs);
      for (const place of markets) await this.#removeOne(round, place, nowMs);
      if (next === undefined) {
        this.#endList(round, nowMs);
        return;
      }
      round.after = next;
      if (markets.length > 0) return;
    }
  }

  #forgetTimes(): void {
    this.#round = undefined;
    this.#settledFrom = 0;
    this.#nextRoundMs = 0;
    this.#nextWholeMs = 0;
    this.#wokenMs.clear();
  }

  async #removeOne(round: Round, place: RemovalPlace, nowMs: number): Promise<void> {
    const { leftTs } = round;
    round.after = place;
    // A market whose removal fails counts as left too.
    if (round.list === "settled") round.leftTs = Math.min(leftTs, place.ts);
    if (await this.#ports.remove(place.marketId)) {
      round.leftTs = leftTs;
      this.#wokenMs.delete(place.marketId);
    } else await this.#wake(place.marketId, nowMs);
  }

  #begin(nowMs: number): Round {
    const beforeTs = nowMs - this.#keepMs;
    const isWhole = nowMs >= this.#nextWholeMs || this.#settledFrom - LATE_MS >= beforeTs - RECENT_MS;
    return { list: "restored", after: placeBefore(0), beforeTs, isWhole, leftTs: Infinity };
  }

  #endList(round: Round, nowMs: number): void {
    const { list, leftTs, beforeTs, isWhole } = round;
    if (list === "restored") {
      const fromTs = this.#settledFrom - LATE_MS;
      round.list = "settled";
      round.after = placeBefore(isWhole ? fromTs : beforeTs - RECENT_MS);
      return;
    }
    if (isWhole) {
      this.#settledFrom = Math.max(this.#settledFrom, Math.min(leftTs, beforeTs));
      this.#nextWholeMs = nowMs + WAKE_AGAIN_MS;
    }
    this.#nextRoundMs = nowMs + Math.min(ROUND_MS, this.#keepMs);
    this.#round = undefined;
    for (const [marketId, wokenMs] of this.#wokenMs)
      if (nowMs - wokenMs >= WAKE_AGAIN_MS) this.#wokenMs.delete(marketId);
  }

  /** Lets the owner of a market load it. The owner takes a snapshot when the market is idle. */
  async #wake(marketId: string, nowMs: number): Promise<void> {
    if (nowMs - (this.#wokenMs.get(marketId) ?? -Infinity) < WAKE_AGAIN_MS) return;
    this.#wokenMs.set(marketId, nowMs);
    await this.#ports.exchange.market(marketId, { kind: "settlement" }, { rememberMs: 0 });
  }
}
