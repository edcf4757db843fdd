/**
 * Books of surface B: order by order, or as price levels with the asks that the other ladders imply (contract section
 * 7.7).
 */

import { impliedAsks, levelsOf, type PriceLevel } from "../../../actors/market/book/implied-asks.js";
import type { Currency } from "../../../actors/market/types.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import type { LadderOrder } from "../../../stream/ws/market/public-market.js";
import type { Book, BookOrder, Level } from "../schemas.js";
import { isoOnB, priceOnB } from "../wire.js";

export type View = "ladder" | "simple";

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
