/** Amounts of money as text. The service sends dollars and COIN with five decimals; nothing is rounded. */

import type { Currency } from "../../../actors/market/types.js";
import { parseMoney, type Millicents } from "../../../actors/units.js";

const MONEY = /^(-?)(\d+)\.(\d{2})(\d{3})$/;

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * Returns an amount with its sign, its unit, groups of three digits, and at least two decimals: `-$1,204.50`, or
 * `-1,204.50 COIN`.
 */
export function showMoney(amount: string, currency: Currency = "CASH"): string {
  const parts = MONEY.exec(amount);
  if (parts === null) return amount;
  const [, sign = "", whole = "0", hundredths = "00", rest = "000"] = parts;
  const minus = sign === "-" ? "−" : "";
  const digits = `${grouped(whole)}.${hundredths}${rest.replace(/0+$/, "")}`;
  return currency === "CASH" ? `${minus}$${digits}` : `${minus}${digits} ${currency}`;
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
