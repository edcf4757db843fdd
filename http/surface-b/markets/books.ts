/**
 * Books of surface B: order by order, or as price levels with the asks that the other ladders imply (contract section
 * 7.7).
 */

import type { Currency } from "../../../actors/market/types.js";
import { CONTRACT_TICKS, contracts, ticks, type Contracts, type Ticks } from "../../../actors/units.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import type { LadderOrder } from "../../../stream/ws/market/public-market.js";
import type { Book, BookOrder, Level } from "../schemas.js";
import { isoOnB, priceOnB } from "../wire.js";

export type View = "ladder" | "simple";

interface PriceLevel {
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

const levelOnB = ({ price, qty }: PriceLevel): Level => ({ price: priceOnB(price), qty });

/** Returns the book of a market from the ladders of its replica, with outcomes in market order. */
export function bookOnB(
  record: MarketRecord,
  ladders: readonly (readonly LadderOrder[])[],
  currency: Currency,
  view: View,
): Book {
  const { marketId, description: marketDescription, outcomes } = record;
  const named = { marketId, marketDescription };
  if (view === "ladder") {
    const outcomeLadders = outcomes.map(({ outcomeId, outcome }) => ({
      outcomeId,
      bids: (ladders[outcome] ?? []).map(({ orderId, price, qty, originalQty, acceptedTs }): BookOrder => ({
        id: orderId,
        price: priceOnB(price),
        qty,
        originalQty,
        currency,
        outcomeId,
        marketId,
        status: "RESTING",
        created_at: isoOnB(acceptedTs),
      })),
    }));
    return { ...named, outcomeLadders };
  }
  const levels = outcomes.map(({ outcome }) => levelsOf(ladders[outcome] ?? []));
  const outcomeLadders = outcomes.map(({ outcomeId }, index) => ({
    outcomeId,
    bids: (levels[index] ?? []).map(levelOnB),
    asks: impliedAsks(levels.filter((_, other) => other !== index)).map(levelOnB),
  }));
  return { ...named, outcomeLadders };
}
