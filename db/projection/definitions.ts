/** Markets and their outcomes, from the `created`, `configured`, `lifecycle` and grading deltas, which are rare. */

import { inArray } from "drizzle-orm";
import type pg from "pg";
import type {
  ConfiguredDelta,
  CreatedDelta,
  GradedDelta,
  LifecycleDelta,
  RemediatingDelta,
} from "../../actors/market/deltas.js";
import type { FeeSchedule, Grade } from "../../actors/market/types.js";
import { CONTRACT_TICKS, formatPrice, ticks } from "../../actors/units.js";
import { queriesOver, type Queries } from "../database.js";
import { feeSchedules, markets, marketTransitions, outcomes } from "../schema/markets.js";
import { projectDelta, type Origin } from "./origin.js";
import { insertInto, replaceAll, storable, updateRows, writeRows } from "./rows.js";
import { unreachable } from "../../actors/unreachable.js";

/** The deltas that change a row of a market. */
type DefinitionDelta = CreatedDelta | ConfiguredDelta | LifecycleDelta | GradedDelta | RemediatingDelta;

type MarketRow = typeof markets.$inferSelect;

interface Change {
  readonly marketId: string;
  readonly delta: DefinitionDelta;
  readonly origin: Origin;
}

/** The results of a market's outcomes: those of a grade, or none while the market is open. */
interface Results {
  readonly grade: Grade | undefined;
  readonly change: Change;
}

/** Markets in one statement, which takes at most 65,535 parameters. */
const ROWS_PER_STATEMENT = 1_000;

const INSERT_OUTCOMES = insertInto(outcomes);
const UPDATE_OUTCOMES = updateRows(outcomes, { outcomeId: "key", status: "replace" });
const INSERT_FEE_SCHEDULES = insertInto(feeSchedules);
const INSERT_TRANSITIONS = insertInto(marketTransitions);

/** The changes of markets in one batch of entries. */
export class DefinitionRows {
  readonly #changes: Change[] = [];
  readonly #markets = new Map<string, MarketRow>();
  readonly #outcomes: (typeof outcomes.$inferSelect)[] = [];
  readonly #fees: (typeof feeSchedules.$inferSelect)[] = [];
  readonly #transitions: (typeof marketTransitions.$inferSelect)[] = [];
  /** By market. */
  readonly #results = new Map<string, Results>();

  add(marketId: string, delta: DefinitionDelta, origin: Origin): void {
    this.#changes.push({ marketId, delta, origin });
  }

  get marketIds(): readonly string[] {
    return [...new Set(this.#changes.map(({ marketId }) => marketId))];
  }

  async write(client: pg.Client): Promise<void> {
    const ids = this.marketIds;
    if (ids.length === 0) return;
    const db = queriesOver(client);
    const known = await db
      .select()
      .from(markets)
      .where(inArray(markets.marketId, [...ids]));
    for (const row of known) this.#markets.set(row.marketId, row);
    for (const change of this.#changes) {
      projectDelta(change.origin, change.delta, () => this.#apply(change));
    }
    await this.#writeMarkets(db);
    await writeRows(client, INSERT_OUTCOMES, this.#outcomes);
    await writeRows(client, INSERT_FEE_SCHEDULES, this.#fees);
    await writeRows(client, INSERT_TRANSITIONS, this.#transitions);
    await writeRows(client, UPDATE_OUTCOMES, await this.#outcomeStatuses(db));
  }

  #apply(change: Change): void {
    const { marketId, delta, origin } = change;
    if (delta.type === "created") {
      this.#create(delta, origin);
      return;
    }
    const row = this.#markets.get(marketId);
    if (row === undefined) throw new Error("its market is not in the tables");
    row.updatedTs = origin.ts;
    switch (delta.type) {
      case "configured":
        row.liveDelayMs = delta.liveDelayMs ?? row.liveDelayMs;
        row.description = delta.description === undefined ? row.description : storable(delta.description);
        row.ticks = delta.ticks === undefined ? row.ticks : [...delta.ticks];
        if (delta.fee !== undefined) {
          Object.assign(row, feeColumns(delta.fee));
          const { ts, place, seq } = origin;
          this.#fees.push({ marketId, ts, place, seq, ...feeColumns(delta.fee) });
        }
        return;
      case "lifecycle":
        this.#step(row, delta, change);
        return;
      case "graded":
        row.grade = delta.grade;
        row.settlementId = delta.settlementId;
        return;
      case "remediating":
        row.remediating = true;
        return;
      default:
        unreachable(delta);
    }
  }

  #create({ definition }: CreatedDelta, { ts, place, seq }: Origin): void {
    const { marketId, eventId, marketType, voids, liveDelayMs } = definition;
    const fee = feeColumns(definition.fee);
    this.#markets.set(marketId, {
      marketId,
      eventId,
      marketType,
      description: storable(definition.description),
      strike: definition.strike ?? null,
      playerId: definition.playerId ?? null,
      voids,
      ...fee,
      liveDelayMs,
      ticks: [...definition.ticks],
      status: "CLOSED",
      live: false,
      paused: false,
      grade: null,
      settlementId: null,
      remediating: false,
      settledTs: null,
      createdTs: ts,
      updatedTs: ts,
    });
    this.#fees.push({ marketId, ts, place, seq, ...fee });
    definition.outcomes.forEach(({ outcomeId, name, competitorId }, outcome) => {
      this.#outcomes.push({
        outcomeId,
        marketId,
        outcome,
        name: storable(name),
        competitorId: competitorId ?? null,
        status: "TBD",
      });
    });
  }

  #step(row: MarketRow, { kind, status }: LifecycleDelta, change: Change): void {
    const { ts, place, seq } = change.origin;
    this.#transitions.push({ marketId: row.marketId, ts, place, seq, kind, status });
    row.status = status;
    switch (kind) {
      case "PAUSE":
        row.paused = true;
        return;
      case "RESUME":
      case "CLOSE":
        row.paused = false;
        return;
      case "GOLIVE":
        row.live = true;
        return;
      case "UNLIVE":
        row.live = false;
        return;
      case "GRADE":
        row.settledTs = ts;
        this.#results.set(row.marketId, { grade: row.grade ?? undefined, change });
        return;
      case "REMEDIATE":
        row.grade = null;
        row.settlementId = null;
        row.remediating = false;
        row.settledTs = null;
        this.#results.set(row.marketId, { grade: undefined, change });
        return;
      case "OPEN":
      case "START":
      case "END":
        return;
      default:
        unreachable(kind);
    }
  }

  async #writeMarkets(db: Queries): Promise<void> {
    const rows = [...this.#markets.values()];
    // Drizzle writes these rows because an array column cannot be unnested. They are rare.
    for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
      await db
        .insert(markets)
        .values(rows.slice(start, start + ROWS_PER_STATEMENT))
        .onConflictDoUpdate({ target: markets.marketId, set: replaceAll(markets) });
    }
  }

  async #outcomeStatuses(db: Queries): Promise<{ outcomeId: string; status: string }[]> {
    if (this.#results.size === 0) return [];
    const rows = await db
      .select({ outcomeId: outcomes.outcomeId, marketId: outcomes.marketId, outcome: outcomes.outcome })
      .from(outcomes)
      .where(inArray(outcomes.marketId, [...this.#results.keys()]));
    return rows.flatMap(({ outcomeId, marketId, outcome }) => {
      const results = this.#results.get(marketId);
      if (results === undefined) return [];
      const { delta, origin } = results.change;
      const status = projectDelta(origin, delta, () => outcomeStatus(results.grade, outcome));
      return [{ outcomeId, status }];
    });
  }
}

/** Returns the columns of a fee schedule. */
export function feeColumns(fee: FeeSchedule) {
  return {
    feeCoefficientPpm: fee.coefficientPpm,
    feeMakerCreditPpm: fee.makerCreditPpm,
    feeCharged: fee.charged,
  };
}

/** Returns `TBD`, `WIN`, `LOSS`, `PUSH`, or the price at which the outcome settles (contract section 4.7). */
export function outcomeStatus(grade: Grade | undefined, outcome: number): string {
  if (grade === undefined) return "TBD";
  switch (grade.kind) {
    case "WINNER":
      return grade.outcome === outcome ? "WIN" : "LOSS";
    case "PUSH":
      return "PUSH";
    case "FMV":
      return settlementPrice(grade.prices[outcome] ?? 0);
    default:
      return unreachable(grade);
  }
}

/** Formats a fair price, which unlike the price of an order may be 0 or 1. */
function settlementPrice(price: number): string {
  if (price === 0) return "0.000";
  return price === CONTRACT_TICKS ? "1.000" : formatPrice(ticks(price));
}
