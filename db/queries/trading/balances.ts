/** Balances of wallets (contract section 5.13). */

import { inArray } from "drizzle-orm";
import type { Balance } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import { ZERO } from "../../../actors/units.js";
import type { Queries } from "../../database.js";
import { balances } from "../../schema/wallets.js";

export type WalletBalances = Readonly<Record<Currency, Balance>>;

const NOTHING: Balance = { total: ZERO, reserved: ZERO };

/** Returns the balances of each given wallet, which are zero for a wallet that does not exist yet. */
export async function findBalances(
  db: Queries,
  wallets: readonly string[],
): Promise<ReadonlyMap<string, WalletBalances>> {
  const found = new Map<string, Record<Currency, Balance>>(
    wallets.map((wallet) => [wallet, { CASH: NOTHING, COIN: NOTHING }]),
  );
  if (wallets.length === 0) return found;
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
