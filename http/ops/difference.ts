/** Difference of the money report, as Postgres gives it. */

import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { money } from "../../db/queries/operator/money.js";

/** Difference by currency; `null` while Postgres does not answer. */
export type Difference = { readonly CASH: string; readonly COIN: string } | null;

/** Time in ms for which a difference is answered again: it adds up the balances of all wallets. */
const DIFFERENCE_MS = 15_000;

/** Returns a reader of the difference at a time in Unix ms. */
export function differenceReader(db: Database): (nowMs: number) => Promise<Difference> {
  const read = async (): Promise<Difference> => {
    try {
      const { CASH, COIN } = await money(db);
      return { CASH: formatMoney(CASH.difference), COIN: formatMoney(COIN.difference) };
    } catch {
      return null;
    }
  };
  let last: Promise<Difference> | undefined;
  let lastMs = 0;
  return (nowMs) => {
    if (last === undefined || nowMs >= lastMs + DIFFERENCE_MS) [last, lastMs] = [read(), nowMs];
    return last;
  };
}
