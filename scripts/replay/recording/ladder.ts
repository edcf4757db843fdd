/** Folds a recorded market: the ladders of its runners, and the book of this exchange that they amount to. */

import { contractsOf, snapDown, thousandthsOf, type Side } from "./odds.js";
import type { MarketChange, MarketDefinition, RunnerChange } from "./recording.js";

/** Resting bids of one outcome: contracts by price in ticks. */
export type Bids = ReadonlyMap<number, number>;
/** Bids of both outcomes. */
export type Ladder = readonly [Bids, Bids];

export const EMPTY_LADDER: Ladder = [new Map(), new Map()];

/** Conversion of recorded odds and sizes into prices and contracts. */
export interface Mapping {
  /** Prices that an order may have, in ticks, in rising order. */
  readonly grid: readonly number[];
  /** Contracts per cent of payout. */
  readonly scale: number;
}

/** Volume that one message reports as traded on one runner at one price. */
export interface Traded {
  /** Index of the runner. */
  readonly runner: number;
  readonly odds: number;
  readonly contracts: number;
  /** Ladder of the runner that shrank at these odds in the same message. */
  readonly shrank: Side | undefined;
}

/** Trades and definition in one message. */
export interface Reported {
  readonly traded: readonly Traded[];
  readonly definition: MarketDefinition | undefined;
}

/** Reports why a file cannot be replayed. */
export class UnusableRecording extends Error {
  override readonly name = "UnusableRecording";
}

interface Runner {
  readonly key: string;
  readonly back: Map<number, number>;
  readonly lay: Map<number, number>;
  /** Highest cumulative volume seen per odds: a correction downwards and back up is not a new trade. */
  readonly traded: Map<number, number>;
}

function runnerKey({ id, hc }: { readonly id: number; readonly hc?: number | undefined }): string {
  return `${id}:${hc ?? 0}`;
}

function applyLevels(ladder: Map<number, number>, levels: RunnerChange["atb"]): void {
  for (const [odds, size] of levels ?? []) {
    if (size === 0) ladder.delete(odds);
    else ladder.set(odds, size);
  }
}

function shrinks(ladder: ReadonlyMap<number, number>, levels: RunnerChange["atb"], odds: number): boolean {
  return (levels ?? []).some(([at, size]) => at === odds && size < (ladder.get(odds) ?? 0));
}

export class RecordedMarket {
  readonly #mapping: Mapping;
  #marketId: string | undefined;
  #runners: readonly Runner[] = [];
  /** Levels whose price lies outside the grid, by runner and odds. */
  readonly outside = new Set<string>();
  /** Number of changes of other markets in the same file, which are ignored. */
  ignoredChanges = 0;

  constructor(mapping: Mapping) {
    this.#mapping = mapping;
  }

  /** Folds the changes of one message and returns their trades and definition. Throws `UnusableRecording`. */
  apply(changes: readonly MarketChange[]): Reported {
    const traded: Traded[] = [];
    let definition: MarketDefinition | undefined;
    for (const change of changes) {
      this.#marketId ??= change.id;
      if (change.id !== this.#marketId) {
        this.ignoredChanges += 1;
        continue;
      }
      if (change.marketDefinition !== undefined) {
        definition = change.marketDefinition;
        this.#define(definition);
      }
      if (change.img === true)
        for (const { back, lay } of this.#runners) [back, lay].forEach((side) => side.clear());
      for (const runner of change.rc ?? []) traded.push(...this.#applyRunner(runner));
    }
    return { traded, definition };
  }

  /**
   * Returns the book that the recording amounts to. Prices snap down, so that levels which did not cross do not cross
   * afterwards; levels on one tick add up. While the source itself shows a cross, the thinner of the two best levels is
   * left out, so that the orders of the book can rest.
   */
  snapped(): Ladder {
    const bids: [Map<number, number>, Map<number, number>] = [
      new Map<number, number>(),
      new Map<number, number>(),
    ];
    this.#runners.forEach((runner, index) => {
      for (const side of ["back", "lay"] as const) {
        const own = side === "back" ? index : 1 - index;
        const target = own === 0 ? bids[0] : bids[1];
        for (const [odds, size] of runner[side]) {
          const tick = snapDown(thousandthsOf(odds, side), this.#mapping.grid);
          if (tick === undefined) this.outside.add(`${runner.key} ${side} ${odds}`);
          else target.set(tick, (target.get(tick) ?? 0) + contractsOf(size, odds, this.#mapping.scale));
        }
      }
    });
    for (const side of bids) for (const [tick, qty] of side) if (qty === 0) side.delete(tick);
    uncross(bids);
    return bids;
  }

  #define(definition: MarketDefinition): void {
    if (this.#runners.length > 0) return;
    const active = definition.runners.filter(({ status }) => status !== "REMOVED");
    if (active.length !== 2) {
      throw new UnusableRecording(
        `the market has ${active.length} runners; only markets of two can be replayed`,
      );
    }
    this.#runners = active.map((runner) => ({
      key: runnerKey(runner),
      back: new Map<number, number>(),
      lay: new Map<number, number>(),
      traded: new Map<number, number>(),
    }));
  }

  #applyRunner(change: RunnerChange): Traded[] {
    const key = runnerKey(change);
    const index = this.#runners.findIndex((runner) => runner.key === key);
    const runner = this.#runners[index];
    if (runner === undefined) return [];
    const traded: Traded[] = [];
    for (const [odds, total] of change.trd ?? []) {
      const before = runner.traded.get(odds) ?? 0;
      if (total <= before) continue;
      runner.traded.set(odds, total);
      const contracts = this.#matched(total, odds) - this.#matched(before, odds);
      if (contracts === 0) continue;
      const shrank = shrinks(runner.back, change.atl, odds)
        ? "back"
        : shrinks(runner.lay, change.atb, odds)
          ? "lay"
          : undefined;
      traded.push({ runner: index, odds, contracts, shrank });
    }
    applyLevels(runner.back, change.atl);
    applyLevels(runner.lay, change.atb);
    return traded;
  }

  /** Returns the matched contracts: half of the traded volume, which counts the stakes of both parties. */
  #matched(total: number, odds: number): number {
    return Math.floor(contractsOf(total, odds, this.#mapping.scale) / 2);
  }
}

/** Returns the best bid of an outcome in ticks, 0 without bids. */
export function bestOf(bids: Bids): number {
  let best = 0;
  for (const tick of bids.keys()) best = Math.max(best, tick);
  return best;
}

/** Removes the thinner of two best levels that would match each other, until none do. */
function uncross(bids: readonly [Map<number, number>, Map<number, number>]): void {
  for (;;) {
    const [first, second] = [bestOf(bids[0]), bestOf(bids[1])];
    if (first === 0 || second === 0 || first + second < 1_000) return;
    if ((bids[0].get(first) ?? 0) < (bids[1].get(second) ?? 0)) bids[0].delete(first);
    else bids[1].delete(second);
  }
}
