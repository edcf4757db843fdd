/** All wallets with their balances, for operators (contract section 8.10). */

import { and, eq, gte, inArray, isNotNull, lt, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/pg-core";
import type { Currency } from "../../../actors/market/types.js";
import type { Millicents } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { type Keyset, page, type PageRequest } from "../../page.js";
import { keys, subaccounts, traders } from "../../schema/accounts.js";
import { balances, traderRestrictions, wallets } from "../../schema/wallets.js";

export interface WalletFilter {
  readonly currency: Currency;
  /** Owner. */
  readonly traderId?: string | undefined;
  /** Bounds of the balance: from `atLeast` on, and less than `below`. */
  readonly atLeast?: Millicents | undefined;
  readonly below?: Millicents | undefined;
  /** Leaves out the wallets of traders who may place orders. */
  readonly restricted?: boolean | undefined;
  readonly order: "largest" | "smallest";
}

/** Lists wallets by their balances; wallets of equal balances by their ids. Throws `InvalidCursor`. */
export async function listWallets(db: Queries, filter: WalletFilter, request: PageRequest, nowTs: number) {
  // The key that names a subaccount is its oldest live one, or else its newest.
  const live = sql`(${keys.revokedTs} is null and (${keys.expiresTs} is null or ${keys.expiresTs} > ${nowTs}))`;
  const keyId = sql<string | null>`(
    select ${keys.keyId} from ${keys} where ${keys.subaccountId} = ${subaccounts.subaccountId}
    order by ${live} desc, case when ${keys.revokedTs} is null then ${keys.createdTs} else -${keys.createdTs} end
    limit 1)`;
  const query = db
    .select({
      walletId: balances.wallet,
      traderId: wallets.traderId,
      email: traders.email,
      keyId,
      label: subaccounts.label,
      closedTs: subaccounts.closedTs,
      currency: balances.currency,
      total: balances.total,
      reserved: balances.reserved,
      restriction: traderRestrictions.restriction,
      updatedTs: balances.updatedTs,
    })
    .from(balances)
    .innerJoin(wallets, eq(wallets.wallet, balances.wallet))
    .innerJoin(traders, eq(traders.traderId, wallets.traderId))
    .leftJoin(subaccounts, eq(subaccounts.subaccountId, balances.wallet))
    .leftJoin(traderRestrictions, eq(traderRestrictions.traderId, wallets.traderId))
    .$dynamic();
  const keyset: Keyset<{ total: Millicents; walletId: string }> = {
    columns: [balances.total, balances.wallet],
    direction: filter.order === "largest" ? "descending" : "ascending",
    keyOf: ({ total, walletId }) => [total, walletId],
  };
  return page(query, keyset, request, conditionOf(db, filter));
}

function conditionOf(db: Queries, filter: WalletFilter) {
  const { currency, traderId, atLeast, below, restricted } = filter;
  return and(
    eq(balances.currency, currency),
    atLeast === undefined ? undefined : gte(balances.total, atLeast),
    below === undefined ? undefined : lt(balances.total, below),
    traderId === undefined ? undefined : inArray(balances.wallet, walletsOf(db, traderId)),
    restricted === true ? inArray(balances.wallet, restrictedWallets(db)) : undefined,
  );
}

/** Selects the own wallet of a trader, and those of all subaccounts. */
function walletsOf(db: Queries, traderId: string) {
  return unionAll(
    db.select({ wallet: wallets.wallet }).from(wallets).where(eq(wallets.wallet, traderId)),
    db
      .select({ wallet: subaccounts.subaccountId })
      .from(subaccounts)
      .where(eq(subaccounts.traderId, traderId)),
  );
}

/** Selects the wallets of the traders whose placements are refused. They are few, and have an index of their own. */
function restrictedWallets(db: Queries) {
  const isRestricted = isNotNull(traderRestrictions.restriction);
  return unionAll(
    db.select({ wallet: traderRestrictions.traderId }).from(traderRestrictions).where(isRestricted),
    db
      .select({ wallet: subaccounts.subaccountId })
      .from(traderRestrictions)
      .innerJoin(subaccounts, eq(subaccounts.traderId, traderRestrictions.traderId))
      .where(isRestricted),
  );
}
