/** The money report from the tables (contract section 8.17, money report). */

import { sql } from "drizzle-orm";
import type { TransactionKind } from "../../../actors/ledger/types.js";
import { CURRENCIES, type Currency } from "../../../actors/market/types.js";
import { add, millicents, subtract, ZERO, type Millicents } from "../../../actors/units.js";
import type { Database, Queries } from "../../database.js";
import { marketTotals } from "../../schema/markets.js";
import { balances, entryTotals } from "../../schema/wallets.js";

/** `difference` is `deposits - withdrawals + adjustments` less `wallets + reserved + escrow + house + inFlight`. */
export interface Money {
  readonly deposits: Millicents;
  readonly withdrawals: Millicents;
  readonly adjustments: Millicents;
  /** Available money of wallets. */
  readonly wallets: Millicents;
  readonly reserved: Millicents;
  readonly escrow: Millicents;
  readonly house: Millicents;
  /** Money in messages between markets and ledgers that are not applied yet. */
  readonly inFlight: Millicents;
  readonly difference: Millicents;
}

/** Kinds of transactions that bring money in. Their amounts are positive. */
const IN: ReadonlySet<TransactionKind> = new Set(["DEPOSIT", "CREDIT", "FORWARDING"]);
/** Kinds of transactions that take money out. Their amounts are negative. */
const OUT: ReadonlySet<TransactionKind> = new Set(["WITHDRAWAL", "CREDIT_RECLAIM"]);

/**
 * Returns the report of each currency. Its terms come from different rows: wallets from balances, escrow from market
 * deltas, the others from entries. So the difference is zero only if entries and balances agree.
 */
export async function money(db: Database): Promise<Record<Currency, Money>> {
  // All three reads share one snapshot, so that a commit between them does not appear as a difference.
  return db.transaction(readMoney, { isolationLevel: "repeatable read", accessMode: "read only" });
}

async function readMoney(db: Queries): Promise<Record<Currency, Money>> {
  const entries = await db
    .select({
      currency: entryTotals.currency,
      kind: entryTotals.kind,
      side: entryTotals.side,
      amount: sql<string>`sum(${entryTotals.amount})`,
    })
    .from(entryTotals)
    .groupBy(entryTotals.currency, entryTotals.kind, entryTotals.side);
  const held = await db
    .select({
      currency: balances.currency,
      total: sql<string>`sum(${balances.total})`,
      reserved: sql<string>`sum(${balances.reserved})`,
    })
    .from(balances)
    .groupBy(balances.currency);
  const market = await db
    .select({
      currency: marketTotals.currency,
      escrow: sql<string>`sum(${marketTotals.escrow})`,
      booked: sql<string>`sum(${marketTotals.booked})`,
    })
    .from(marketTotals)
    .groupBy(marketTotals.currency);

  const report = (currency: Currency): Money => {
    const sums = { deposits: ZERO, withdrawals: ZERO, adjustments: ZERO, house: ZERO };
    for (const entry of entries) {
      if (entry.currency !== currency) continue;
      const amount = millicents(Number(entry.amount));
      if (entry.side === "house") sums.house = subtract(sums.house, amount);
      if (entry.side !== "external") continue;
      if (IN.has(entry.kind)) sums.deposits = add(sums.deposits, amount);
      else if (OUT.has(entry.kind)) sums.withdrawals = subtract(sums.withdrawals, amount);
      else sums.adjustments = add(sums.adjustments, amount);
    }
    const balance = held.find((row) => row.currency === currency);
    const reserved = millicents(Number(balance?.reserved ?? 0));
    const wallets = subtract(millicents(Number(balance?.total ?? 0)), reserved);
    const totals = market.find((row) => row.currency === currency);
    const escrow = millicents(Number(totals?.escrow ?? 0));
    const inFlight = subtract(millicents(Number(totals?.booked ?? 0)), escrow);
    const put = add(subtract(sums.deposits, sums.withdrawals), sums.adjustments);
    const found = [wallets, reserved, escrow, sums.house, inFlight].reduce(add, ZERO);
    return { ...sums, wallets, reserved, escrow, inFlight, difference: subtract(put, found) };
  };
  const [cash, coin] = CURRENCIES.map(report);
  if (cash === undefined || coin === undefined) throw new Error("a currency without a report");
  return { CASH: cash, COIN: coin };
}
