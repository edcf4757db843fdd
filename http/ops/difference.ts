/** Difference of the money report, as Postgres gives it. */

import { performance } from "node:perf_hooks";
import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { money } from "../../db/queries/operator/money.js";

/** Difference by currency; `null` while Postgres does not answer. */
export type Difference = { readonly CASH: string; readonly COIN: string } | null;

/** Least time in ms for which a difference is answered again. */
const LEAST_MS = 15_000;
/** The same, as a multiple of the time that it took: it adds up the balances of all wallets, whatever their number. */
const TIMES_ITS_READ = 100;

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
  let untilMs = -Infinity;
  return (nowMs) => {
    if (last !== undefined && nowMs < untilMs) return last;
    untilMs = Infinity;
    const began = performance.now();
    last = read().finally(() => {
      untilMs = nowMs + Math.max(LEAST_MS, TIMES_ITS_READ * (performance.now() - began));
    });
    return last;
  };
}
