/** Prices at which an outcome can be bought, which follow from the bids on the other outcomes (contract section 2.1). */

import { CONTRACT_TICKS, contracts, ticks, type Contracts, type Ticks } from "../../units.js";

/** Orders of one price. */
export interface PriceLevel {
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** Merges neighboring orders of one price into levels, in the order of the ladder. */
export function levelsOf(ladder: readonly { price: Ticks; qty: Contracts }[]): PriceLevel[] {
  const levels: { price: Ticks; qty: Contracts }[] = [];
  for (const { price, qty } of ladder) {
    const last = levels.at(-1);
    if (last?.price === price) last.qty = contracts(last.qty + qty);
    else levels.push({ price, qty });
  }
  return levels;
}

/**
 * Returns the prices at which an outcome can be bought, cheapest first. A bid forms complete sets with the best bids of
 * all other outcomes, so it costs 1 less their sum, and at least one thousandth. Empty when another ladder is empty.
 */
export function impliedAsks(others: readonly (readonly PriceLevel[])[]): PriceLevel[] {
  const places = others.map((levels) => ({ levels, at: 0, left: levels[0]?.qty ?? 0 }));
  const asks: { price: Ticks; qty: Contracts }[] = [];
  for (;;) {
    const heads = places.map(({ levels, at }) => levels[at]);
    if (heads.length === 0 || heads.some((head) => head === undefined)) return asks;
    const bids = heads.reduce((sum, head) => sum + (head?.price ?? 0), 0);
    const price = ticks(Math.max(1, CONTRACT_TICKS - bids));
    const qty = contracts(Math.min(...places.map(({ left }) => left)));
    const last = asks.at(-1);
    if (last?.price === price) last.qty = contracts(last.qty + qty);
    else asks.push({ price, qty });
    for (const place of places) {
      place.left -= qty;
      if (place.left > 0) continue;
      place.at += 1;
      place.left = place.levels[place.at]?.qty ?? 0;
    }
  }
}
