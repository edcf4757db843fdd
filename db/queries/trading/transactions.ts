/** Transactions of a wallet, which are the entries of its ledger (contract section 5.13). */

import { and, eq } from "drizzle-orm";
import type { TransactionKind } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import type { Queries } from "../../database.js";
import { page, within, type Keyset, type Page, type PageRequest, type TimeBounds } from "../../page.js";
import { entries } from "../../schema/wallets.js";

export type TransactionRecord = typeof entries.$inferSelect;

/** Conditions on transactions; an absent field is no condition. */
export interface TransactionFilter extends TimeBounds {
  readonly wallet: string;
  readonly currency?: Currency | undefined;
  readonly kind?: TransactionKind | undefined;
}

const BY_TIME: Keyset<TransactionRecord> = {
  columns: [entries.ts, entries.place],
  direction: "descending",
  keyOf: (entry) => [entry.ts, entry.place],
};

/** Lists transactions, newest first. A positive `amount` goes into the wallet. Throws `InvalidCursor`. */
export async function listTransactions(
  db: Queries,
  filter: TransactionFilter,
  request: PageRequest,
): Promise<Page<TransactionRecord>> {
  const wanted = and(
    eq(entries.wallet, filter.wallet),
    filter.currency === undefined ? undefined : eq(entries.currency, filter.currency),
    filter.kind === undefined ? undefined : eq(entries.kind, filter.kind),
    within(entries.ts, filter),
  );
  return page(db.select().from(entries).$dynamic(), BY_TIME, request, wanted);
}
