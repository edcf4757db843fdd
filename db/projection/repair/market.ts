/** Repair of the rows of a market: its definition, prints, last prices and totals. */

import { and, eq, max } from "drizzle-orm";
import type pg from "pg";
import type { MarketState } from "../../../actors/market/state.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import type { Entry } from "../../../stream/log/ports.js";
import { queriesOver } from "../../database.js";
import { markets, marketTransitions, outcomes } from "../../schema/markets.js";
import { seqOf } from "../cursor.js";
import { feeColumns, outcomeStatus } from "../definitions.js";
import type { LostRows, Removed, Repair } from "./repair.js";
import { storable } from "../rows.js";

export class MarketRepair implements Repair {
  readonly #client: pg.Client;
  readonly #marketId: string;
  readonly #lost: LostRows;
  readonly #state: MarketState;

  constructor(client: pg.Client, marketId: string, lost: LostRows, state: MarketState) {
    this.#client = client;
    this.#marketId = marketId;
    this.#lost = lost;
    this.#state = state;
  }

  async remove(): Promise<Removed> {
    return {
      trades: await this.#removeFrom("trades"),
      fee_schedules: await this.#removeFrom("fee_schedules"),
      market_transitions: await this.#removeFrom("market_transitions"),
    };
  }

  async #removeFrom(table: string): Promise<number> {
    const { seq, sinceTs } = this.#lost;
    const { rowCount } = await this.#client.query(
      `delete from ${table} where market_id = $1 and ts >= $2 and ${seqOf(table)} > $3`,
      [this.#marketId, sinceTs, seq],
    );
    return rowCount ?? 0;
  }

  async makeWay(entries: readonly Entry[]): Promise<void> {
    const creates = entries.some(({ batches }) =>
      batches.some(({ deltas }) => deltas.some(({ type }) => type === "created")),
    );
    if (creates) await this.#removeDefinition();
  }

  async #removeDefinition(): Promise<void> {
    const db = queriesOver(this.#client);
    await db.delete(outcomes).where(eq(outcomes.marketId, this.#marketId));
    await db.delete(markets).where(eq(markets.marketId, this.#marketId));
  }

  async reset(): Promise<void> {
    if (this.#state.definition === undefined) await this.#removeDefinition();
    else await this.#resetDefinition(this.#state.definition);
    await this.#resetLastPrices();
    await this.#resetTotals();
  }

  async #resetDefinition(definition: NonNullable<MarketState["definition"]>): Promise<void> {
    const db = queriesOver(this.#client);
    const { status, live, paused, settlement } = this.#state;
    const { description, liveDelayMs, ticks, fee } = definition;
    const isSettled = status === "SETTLED";
    const [row] = await db.select().from(markets).where(eq(markets.marketId, this.#marketId));
    if (row === undefined) throw new Error(`the tables have no market ${this.#marketId}`);
    await db
      .update(markets)
      .set({
        description: storable(description),
        liveDelayMs,
        ticks: [...ticks],
        ...feeColumns(fee),
        status,
        live,
        paused,
        grade: settlement?.grade ?? null,
        settlementId: settlement?.settlementId ?? null,
        remediating: settlement?.direction === "reversing",
        settledTs: isSettled ? ((await this.#gradedTs()) ?? row.settledTs ?? this.#lost.sinceTs) : null,
      })
      .where(eq(markets.marketId, this.#marketId));
    const grade = isSettled ? settlement?.grade : undefined;
    for (const [outcome] of definition.outcomes.entries()) {
      await this.#client.query("update outcomes set status = $3 where market_id = $1 and outcome = $2", [
        this.#marketId,
        outcome,
        outcomeStatus(grade, outcome),
      ]);
    }
  }

  /** Returns the time of the last grade that the log still has. */
  async #gradedTs(): Promise<number | undefined> {
    const { marketId, kind, ts } = marketTransitions;
    const [last] = await queriesOver(this.#client)
      .select({ ts: max(ts) })
      .from(marketTransitions)
      .where(and(eq(marketId, this.#marketId), eq(kind, "GRADE")));
    return last?.ts ?? undefined;
  }

  async #resetLastPrices(): Promise<void> {
    for (const currency of CURRENCIES) {
      for (const [outcome, price] of this.#state.books[currency].last.entries()) {
        const key = [this.#marketId, currency, outcome];
        if (price === undefined) {
          await this.#client.query(
            "delete from last_prices where market_id = $1 and currency = $2 and outcome = $3",
            key,
          );
        } else {
          await this.#client.query(
            `insert into last_prices (market_id, currency, outcome, price, ts) values ($1, $2, $3, $4, $5)
             on conflict (market_id, currency, outcome) do update set price = excluded.price, ts = excluded.ts
             where last_prices.price <> excluded.price`,
            [...key, price, this.#lost.sinceTs],
          );
        }
      }
    }
    if (this.#state.definition === undefined)
      await this.#client.query("delete from last_prices where market_id = $1", [this.#marketId]);
  }

  /** Sets the totals that come from the market's own deltas. `booked` belongs to the ledgers. */
  async #resetTotals(): Promise<void> {
    for (const currency of CURRENCIES) {
      const { volume, escrow } = this.#state.books[currency];
      await this.#client.query(
        `update market_totals set minted_contracts = $3, escrow = $4 where market_id = $1 and currency = $2`,
        [this.#marketId, currency, volume, escrow],
      );
    }
  }
}
