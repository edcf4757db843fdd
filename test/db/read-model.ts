/** Writes and reads the read model in tests. */

import { inArray, sql } from "drizzle-orm";
import type { Balance } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import { ZERO } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { ProjectionBatch } from "../../db/projection/batch.js";
import { ProjectionSession } from "../../db/projection/session.js";
import { balances } from "../../db/schema/wallets.js";
import type { Cursors } from "../../db/projection/cursor.js";
import type { Entry } from "../../stream/log/ports.js";

const PROJECTED = [
  "balances",
  "entries",
  "entry_totals",
  "fee_schedules",
  "fills",
  "last_prices",
  "market_totals",
  "market_transitions",
  "markets",
  "orders",
  "outcomes",
  "positions",
  "projector_cursors",
  "trades",
  "transfers",
  "wallets",
];

/** Writes entries as the projector does, `perBatch` in each transaction, and returns the new cursors. */
export async function project(
  databaseUrl: string,
  entries: readonly Entry[],
  perBatch = entries.length,
): Promise<Cursors> {
  const session = await ProjectionSession.open(databaseUrl);
  try {
    for (let start = 0; start < entries.length; start += perBatch) {
      const batch = new ProjectionBatch(await session.cursors([]));
      for (const entry of entries.slice(start, start + perBatch)) batch.take(entry);
      await session.write(batch);
    }
    return await session.cursors([]);
  } finally {
    await session.close();
  }
}

/** Returns every row of every projected table as text, sorted. */
export async function dump(db: Database): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of PROJECTED) {
    const name = sql.identifier(table);
    const { rows } = await db.execute<{ row: string }>(
      sql`select ${name}::text as row from ${name} order by 1`,
    );
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

/** Returns the balances of each given wallet; those of a wallet without rows are zero. */
export async function balancesOf(
  db: Database,
  wallets: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<Currency, Balance>>>> {
  const nothing: Balance = { total: ZERO, reserved: ZERO };
  const found = new Map(wallets.map((wallet) => [wallet, { CASH: nothing, COIN: nothing }]));
  const rows = await db
    .select()
    .from(balances)
    .where(inArray(balances.wallet, [...wallets]));
  for (const { wallet, currency, total, reserved } of rows) {
    const held = found.get(wallet);
    if (held !== undefined) held[currency] = { total, reserved };
  }
  return found;
}
