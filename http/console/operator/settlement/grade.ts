/** Grades as they are asked for, and the money that they move (contract section 8.9). */

import { add, formatMoney, negate, subtract, ZERO, type Millicents } from "../../../../actors/units.js";
import { moneyOf } from "../../data/money.js";
import type { MarketAnswer, Payouts, SettlementAnswer } from "../answers.js";

export type Grade = NonNullable<SettlementAnswer["grade"]>;

/** Returns a grade in words. */
export function gradeWords({ outcomes }: MarketAnswer, grade: Grade): string {
  const nameOf = (id: string): string => outcomes.find(({ outcomeId }) => outcomeId === id)?.name ?? id;
  if ("winner" in grade) return `${nameOf(grade.winner)} wins`;
  if ("push" in grade) return "Void: every position is paid back what it cost";
  const prices = outcomes.map(({ outcomeId, name }) => `${name} ${grade.prices[outcomeId] ?? ""}`);
  return `Void at fair prices: ${prices.join(", ")}`;
}

const PRICE = /^(0(\.\d{1,3})?|1(\.0{1,3})?)$/;
const THOUSANDTHS = 1_000;

export type Prices =
  | { readonly ok: true; readonly prices: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly problem: string };

/** Reads the fair prices of all outcomes, which sum to 1. */
export function readPrices(
  outcomes: MarketAnswer["outcomes"],
  typed: Readonly<Record<string, string>>,
): Prices {
  const prices: Record<string, string> = {};
  let sum = 0;
  for (const { outcomeId, name } of outcomes) {
    const text = (typed[outcomeId] ?? "").trim();
    if (!PRICE.test(text)) return { ok: false, problem: `Enter a price from 0 to 1 for ${name}.` };
    prices[outcomeId] = text;
    sum += Math.round(Number(text) * THOUSANDTHS);
  }
  if (sum === THOUSANDTHS) return { ok: true, prices };
  return {
    ok: false,
    problem: `The prices sum to ${(sum / THOUSANDTHS).toFixed(3)}; they must sum to 1.000.`,
  };
}

/** Money of one wallet under a grade, and under another one. */
export interface PayoutRow {
  readonly key: string;
  readonly traderId: string | null;
  readonly keyId: string | null;
  readonly currency: Payouts["payouts"][number]["currency"];
  readonly amount: Millicents;
  /** Amount less that under the other grade; without one it is the amount. */
  readonly difference: Millicents;
}

/** Returns the payouts by wallet, the largest differences first. `before` are those of the grade that is replaced. */
export function payoutRows(payouts: Payouts, before?: Payouts): readonly PayoutRow[] {
  const rows = new Map<string, PayoutRow>();
  for (const { traderId, keyId, currency, amount } of payouts.payouts) {
    const key = [traderId, keyId, currency].join(" ");
    rows.set(key, { key, traderId, keyId, currency, amount: moneyOf(amount), difference: moneyOf(amount) });
  }
  for (const { traderId, keyId, currency, amount } of before?.payouts ?? []) {
    const key = [traderId, keyId, currency].join(" ");
    const now = rows.get(key)?.amount ?? ZERO;
    rows.set(key, {
      key,
      traderId,
      keyId,
      currency,
      amount: now,
      difference: subtract(now, moneyOf(amount)),
    });
  }
  return [...rows.values()].toSorted((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** Returns the sums of what wallets receive, and of what they give back. */
export function sumsOf(rows: readonly PayoutRow[], currency: PayoutRow["currency"]) {
  let [more, less, wallets] = [ZERO, ZERO, 0];
  for (const row of rows) {
    if (row.currency !== currency || row.difference === 0) continue;
    wallets += 1;
    if (row.difference > 0) more = add(more, row.difference);
    else less = add(less, negate(row.difference));
  }
  return { wallets, more: formatMoney(more), less: formatMoney(less) };
}
