/** Quotes of the bots: fair prices that move at random, and the orders around them. */

import { formatPrice, ticks } from "../../actors/units.js";
import type { PlaceOrder } from "../../http/client/wire/orders.js";
import { snapDown } from "../replay/recording/odds.js";
import type { Random } from "../replay/random.js";

const LOWEST = 0.06;
const HIGHEST = 0.94;
const STEP = 0.008;
/** Share of the distance to its first value by which a price returns in each step, so that no market drifts to an end. */
const PULL = 0.02;

/** Returns the fair probability after `fair` in a market that began at `anchor`. */
export function wander(fair: number, anchor: number, random: Random): number {
  const moved = fair + (random.next() - 0.5) * 2 * STEP + (anchor - fair) * PULL;
  return Math.min(HIGHEST, Math.max(LOWEST, moved));
}

export interface QuoteStyle {
  /** Distance of the best bid from the fair price, as a probability. */
  readonly edge: number;
  readonly levels: number;
  readonly levelStep: number;
  readonly largestQty: number;
}

/** Returns post-only bids on both outcomes around a fair probability of the first; none matches another. */
export function quotesAround(
  fair: number,
  outcomeIds: readonly [string, string],
  style: QuoteStyle,
  grid: readonly number[],
  random: Random,
): PlaceOrder[] {
  const orders: PlaceOrder[] = [];
  const sides = [
    [outcomeIds[0], fair],
    [outcomeIds[1], 1 - fair],
  ] as const;
  for (const [outcomeId, probability] of sides) {
    const used = new Set<number>();
    for (let level = 0; level < style.levels; level += 1) {
      const thousandths = Math.floor((probability - style.edge - level * style.levelStep) * 1_000);
      const tick = snapDown(thousandths, grid);
      if (tick === undefined || used.has(tick)) continue;
      used.add(tick);
      const qty = 50 + Math.floor(random.next() * style.largestQty);
      orders.push({ outcomeId, price: formatPrice(ticks(tick)), qty, tif: "PO" });
    }
  }
  return orders;
}
