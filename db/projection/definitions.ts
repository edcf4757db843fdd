/** Markets and their outcomes, out of the `created`, `configured`, `lifecycle` and grading deltas, which are rare. */

import { inArray, sql } from "drizzle-orm";
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
import { feeSchedules, markets, outcomes } from "../schema/markets.js";
import type { Origin } from "./place.js";
import { insertInto, replaceAll, storable, writeRows } from "./rows.js";
import { unreachable } from "../../actors/unreachable.js";

export type DefinitionDelta =
  CreatedDelta | ConfiguredDelta | LifecycleDelta | GradedDelta | RemediatingDelta;

type MarketRow = typeof markets.$inferSelect;
type OutcomeRow = typeof outcomes.$inferSelect;

/** Markets in one statement, which takes at most 65,535 parameters. */
const ROWS_PER_STATEMENT = 1_000;

const INSERT_OUTCOMES = insertInto(outcomes);
const INSERT_FEE_SCHEDULES = insertInto(feeSchedules);

/** What changed about markets in one batch of entries. */
export class DefinitionRows {
  readonly #changes: { marketId: string; delta: DefinitionDelta; origin: Origin }[] = [];
  readonly #markets = new Map<string, MarketRow>();
  readonly #outcomes: OutcomeRow[] = [];
  readonly #fees: (typeof feeSchedules.$inferSelect)[] = [];
  /** The grade whose outcomes have become known, `undefined` when they are open again. */
  readonly #ended = new Map<string, Grade | undefined>();

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
    for (const row of await db
      .select()
      .from(markets)
      .where(inArray(markets.marketId, [...ids]))) {
      this.#markets.set(row.marketId, row);
    }
    for (const change of this.#changes) this.#apply(change.marketId, change.delta, change.origin);
    await this.#writeMarkets(db);
    await writeRows(client, INSERT_OUTCOMES, this.#outcomes);
    await writeRows(client, INSERT_FEE_SCHEDULES, this.#fees);
    for (const [marketId, grade] of this.#ended) await writeOutcomeStatuses(db, marketId, grade);
  }

  #apply(marketId: string, delta: DefinitionDelta, origin: Origin): void {
    if (delta.type === "created") {
      this.#create(delta, origin);
      return;
    }
    const row = this.#markets.get(marketId);
    if (row === undefined) throw new Error(`market ${marketId} changes before it exists`);
    row.updatedTs = origin.ts;
    switch (delta.type) {
      case "configured":
        row.liveDelayMs = delta.liveDelayMs ?? row.liveDelayMs;
        row.description = delta.description === undefined ? row.description : storable(delta.description);
        row.ticks = delta.ticks === undefined ? row.ticks : [...delta.ticks];
        if (delta.fee !== undefined) {
          Object.assign(row, feeColumns(delta.fee));
          this.#fees.push({ marketId, ts: origin.ts, place: origin.place, ...feeColumns(delta.fee) });
        }
        return;
      case "lifecycle":
        this.#step(row, delta, origin.ts);
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

  #create({ definition }: CreatedDelta, { ts, place }: Origin): void {
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
    this.#fees.push({ marketId, ts, place, ...fee });
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

  #step(row: MarketRow, { kind, status }: LifecycleDelta, ts: number): void {
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
        this.#ended.set(row.marketId, row.grade ?? undefined);
        return;
      case "REMEDIATE":
        row.grade = null;
        row.settlementId = null;
        row.remediating = false;
        row.settledTs = null;
        this.#ended.set(row.marketId, undefined);
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
}

function feeColumns(fee: FeeSchedule) {
  return {
    feeCoefficientPpm: fee.coefficientPpm,
    feeMakerCreditPpm: fee.makerCreditPpm,
    feeCharged: fee.charged,
  };
}

async function writeOutcomeStatuses(db: Queries, marketId: string, grade: Grade | undefined): Promise<void> {
  const rows = await db
    .select({ outcome: outcomes.outcome })
    .from(outcomes)
    .where(sql`${outcomes.marketId} = ${marketId}`);
  for (const { outcome } of rows) {
    await db
      .update(outcomes)
      .set({ status: outcomeStatus(grade, outcome) })
      .where(sql`${outcomes.marketId} = ${marketId} and ${outcomes.outcome} = ${outcome}`);
  }
}

/** `TBD`, `WIN`, `LOSS`, `PUSH`, or the price that the outcome was settled at (contract section 4). */
export function outcomeStatus(grade: Grade | undefined, outcome: number): string {
  if (grade === undefined) return "TBD";
  switch (grade.kind) {
    case "WINNER":
      return grade.outcome === outcome ? "WIN" : "LOSS";
    case "PUSH":
      return "PUSH";
    case "FMV":
      return settledAt(grade.prices[outcome] ?? 0);
    default:
      return unreachable(grade);
  }
}

/** A fair price may also be 0 or 1, which no order has. */
function settledAt(price: number): string {
  if (price === 0) return "0.000";
  return price === CONTRACT_TICKS ? "1.000" : formatPrice(ticks(price));
}
