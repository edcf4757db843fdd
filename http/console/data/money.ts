/** Amounts of money as text. The service sends dollars with five decimals; nothing is rounded. */

import { parseMoney, type Millicents } from "../../../actors/units.js";

const MONEY = /^(-?)(\d+)\.(\d{2})(\d{3})$/;

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Returns an amount with its sign, groups of three digits, and at least two decimals: `-$1,204.50`. */
export function showMoney(dollars: string, unit: "$" | "" = "$"): string {
  const parts = MONEY.exec(dollars);
  if (parts === null) return dollars;
  const [, sign = "", whole = "0", cents = "00", rest = "000"] = parts;
  return `${sign === "-" ? "−" : ""}${unit}${grouped(whole)}.${cents}${rest.replace(/0+$/, "")}`;
}

/** Returns an amount of the service in millicents. Throws when the text is not money. */
export function moneyOf(text: string): Millicents {
  const amount = parseMoney(text);
  if (amount === undefined) throw new Error(`${text} is not an amount of money`);
  return amount;
}

/** Returns a number of contracts with groups of three digits. */
export function showQuantity(contracts: number): string {
  return grouped(String(contracts));
}
