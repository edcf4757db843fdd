/** Steps of a price on the tick table (contract section 1.4). */

import { formatPrice, parsePrice, type Ticks } from "../../../actors/units.js";

/** Reads the prices of the tick table, ascending. */
export function tableOf(prices: readonly string[]): readonly Ticks[] {
  return prices
    .map(parsePrice)
    .filter((price) => price !== undefined)
    .sort((a, b) => a - b);
}

/** Returns a typed price in thousandths, which may lie off the table or outside it; `undefined` for any other text. */
function thousandths(text: string): number | undefined {
  const match = /^(\d?)\.(\d{1,6})$/.exec(text.trim());
  if (match === null) return undefined;
  return Number(`${match[1] === "" ? "0" : (match[1] ?? "0")}.${match[2] ?? ""}`) * 1_000;
}

/**
 * Returns the price that is `by` steps above the typed one, at most the last of the table. A price between two steps
 * moves to the next one in the direction; an empty or unreadable one moves to the middle of the table.
 */
export function stepped(table: readonly Ticks[], typed: string, by: number): string {
  const from = thousandths(typed);
  const last = table.length - 1;
  if (last < 0) return typed;
  if (from === undefined) return priceAt(table, Math.floor(last / 2));
  const at = table.findIndex((price) => price >= from);
  const above = at === -1 ? last + 1 : at;
  const onTable = table[above] === from;
  const base = by > 0 && !onTable ? above - 1 : above;
  return priceAt(table, Math.min(last, Math.max(0, base + by)));
}

function priceAt(table: readonly Ticks[], index: number): string {
  const price = table[index];
  return price === undefined ? "" : formatPrice(price);
}

/** Returns the prices of the table on both sides of a typed price; none when the text is no price. */
export function nearest(table: readonly Ticks[], typed: string): readonly string[] {
  const from = thousandths(typed);
  if (from === undefined) return [];
  const at = table.findIndex((price) => price > from);
  const above = at === -1 ? table.length : at;
  return [table[above - 1], table[above]].filter((price) => price !== undefined).map(formatPrice);
}
