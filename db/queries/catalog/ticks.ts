/** The tick table, which operators publish (contract section 1.4). */

import { desc } from "drizzle-orm";
import { ticks, type Ticks } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { tickTables } from "../../schema/catalog.js";

export interface TickTable {
  readonly version: number;
  /** The submittable prices, in rising order. */
  readonly prices: readonly Ticks[];
  readonly publishedTs: number;
}

/** Returns the tick table in force. */
export async function currentTicks(db: Queries): Promise<TickTable> {
  const [row] = await db.select().from(tickTables).orderBy(desc(tickTables.version)).limit(1);
  if (row === undefined) throw new Error("there is no tick table; run the migrations");
  return { version: row.version, prices: row.prices.map(ticks), publishedTs: row.publishedTs };
}

/** Publishes a tick table. The caller has checked that the prices rise and that each has its complement. */
export async function publishTicks(
  db: Queries,
  table: { prices: readonly Ticks[]; publishedBy: string; nowTs: number },
): Promise<void> {
  await db
    .insert(tickTables)
    .values({ prices: [...table.prices], publishedBy: table.publishedBy, publishedTs: table.nowTs });
}
