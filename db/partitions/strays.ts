/** Rows for whose month no partition exists. */

import { sql } from "drizzle-orm";
import type { Queries } from "../database.js";
import { laterOf, MONTHLY } from "./months.js";

/** Greatest number that is counted in each table, so that the count stays cheap. */
const MOST = 1_000;

/**
 * Returns the number of rows in the last partitions, at most 1,000 of each table. There are some when no process has
 * created the partitions of the coming months, or when engine time has jumped ahead.
 */
export async function countStrays(db: Queries): Promise<number> {
  const counts = MONTHLY.map(
    (table) =>
      sql`(select count(*) from (select from ${sql.identifier(laterOf(table))} limit ${MOST}) as rows)`,
  );
  const { rows } = await db.execute<{ strays: string }>(sql`select ${sql.join(counts, sql` + `)} as strays`);
  return Number(rows[0]?.strays ?? 0);
}
