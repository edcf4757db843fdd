/** States of traders, and the restrictions that their ledgers have to apply (contract section 8.3). */

import { and, eq, isNotNull, isNull, ne, or, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/pg-core";
import type { Restriction } from "../../../actors/ledger/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Queries } from "../../database.js";
import { subaccounts, traders, type TraderState } from "../../schema/accounts.js";
import { traderRestrictions } from "../../schema/wallets.js";
import type { Trader } from "./traders.js";

/** Returns the state of a trader at a time: the one that an operator has set, or an exclusion that the trader asked for. */
export function stateOf(
  { state, selfExcludedUntilTs }: Pick<Trader, "state" | "selfExcludedUntilTs">,
  nowTs: number,
): TraderState {
  return state === "ACTIVE" && (selfExcludedUntilTs ?? 0) > nowTs ? "SELF_EXCLUDED" : state;
}

/** Returns the refusal that placements get in a state. */
export function restrictionOf(state: TraderState): Restriction | undefined {
  switch (state) {
    case "ACTIVE":
      return undefined;
    case "SELF_EXCLUDED":
      return "SELF_EXCLUDED";
    case "LOCKED":
    case "EXCLUDED":
      return "ACCOUNT_LOCKED";
    default:
      return unreachable(state);
  }
}

/** Returns the wallets in which a trader may have orders. */
export async function walletsOfTrader(db: Queries, traderId: string): Promise<readonly string[]> {
  const rows = await db
    .select({ wallet: subaccounts.subaccountId })
    .from(subaccounts)
    .where(and(eq(subaccounts.traderId, traderId), isNull(subaccounts.closedTs)));
  return [traderId, ...rows.map(({ wallet }) => wallet)];
}

/** A trader, the restriction that the ledger has to apply, and the wallets in which the trader may have orders. */
interface TraderToRestrict {
  readonly traderId: string;
  readonly restriction: Restriction | undefined;
  readonly wallets: readonly string[];
}

/** Returns at most `limit` traders whose ledgers do not apply the restriction of their states. */
export async function tradersToRestrict(
  db: Queries,
  nowTs: number,
  limit: number,
): Promise<readonly TraderToRestrict[]> {
  const wanted = sql<Restriction | null>`case
    when ${traders.state} in ('LOCKED', 'EXCLUDED') then 'ACCOUNT_LOCKED'
    when ${traders.state} = 'SELF_EXCLUDED' or ${traders.selfExcludedUntilTs} > ${nowTs} then 'SELF_EXCLUDED'
  end`;
  const differs = sql`${wanted} is distinct from ${traderRestrictions.restriction}`;
  const inactive = or(ne(traders.state, "ACTIVE"), isNotNull(traders.selfExcludedUntilTs));
  const columns = { traderId: traders.traderId, restriction: wanted };
  const ofTrader = eq(traderRestrictions.traderId, traders.traderId);
  // Each half reads one small partial index.
  const toRestrict = db
    .select(columns)
    .from(traders)
    .leftJoin(traderRestrictions, ofTrader)
    .where(and(inactive, differs));
  const toRelease = db
    .select(columns)
    .from(traderRestrictions)
    .innerJoin(traders, ofTrader)
    .where(and(isNotNull(traderRestrictions.restriction), differs));
  const rows = await unionAll(toRestrict, toRelease).limit(limit);
  return Promise.all(
    rows.map(async ({ traderId, restriction }) => ({
      traderId,
      restriction: restriction ?? undefined,
      wallets: await walletsOfTrader(db, traderId),
    })),
  );
}
