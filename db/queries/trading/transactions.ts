/** Transactions of a wallet, which are the entries of its ledger (contract section 5.13). */

import { and, asc, eq, inArray, notInArray, sql } from "drizzle-orm";
import { OPERATOR_TRANSACTION_KINDS, type TransactionKind } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import type { Queries } from "../../database.js";
import {
  page,
  pageByMonth,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type TimeBounds,
} from "../../page.js";
import { subaccounts } from "../../schema/accounts.js";
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
  const wanted = (bounds: TimeBounds) =>
    and(
      eq(entries.wallet, filter.wallet),
      filter.currency === undefined ? undefined : eq(entries.currency, filter.currency),
      filter.kind === undefined ? undefined : eq(entries.kind, filter.kind),
      within(entries.ts, bounds),
    );
  return pageByMonth(BY_TIME, request, filter, (bounds) =>
    page(db.select().from(entries).$dynamic(), BY_TIME, request, wanted(bounds)),
  );
}

/** Returns the id of the first transaction that an operator posted to a wallet of the trader with this reference. */
export async function findTransactionByRef(
  db: Queries,
  traderId: string,
  clientRef: string,
): Promise<string | undefined> {
  const ofTrader = db
    .select({ wallet: subaccounts.subaccountId })
    .from(subaccounts)
    .where(eq(subaccounts.traderId, traderId));
  const [row] = await db
    .select({ transactionId: entries.transactionId })
    .from(entries)
    .where(
      and(
        // One array, because Postgres uses no index for one wallet or those of a sub-query.
        sql`${entries.wallet} = any(array(${ofTrader}) || ${traderId}::uuid)`,
        inArray(entries.kind, [...OPERATOR_TRANSACTION_KINDS]),
        // The condition of the index, so that Postgres uses it.
        notInArray(entries.kind, ["FILL", "FEE", "MAKER_CREDIT"]),
        eq(entries.clientRef, clientRef),
      ),
    )
    .orderBy(asc(entries.ts), asc(entries.place))
    .limit(1);
  return row?.transactionId;
}
