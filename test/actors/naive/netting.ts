/** Positions, and the netting of their complete sets (contract sections 3.5 and 3.6). */

import type { Currency, Voids } from "../../../actors/market/types.js";

export interface NaivePosition {
  readonly wallet: string;
  readonly currency: Currency;
  readonly holdings: { qty: number; cost: number }[];
  /** Rest of the value of closed sets, due if the market is graded to a winner (`win`) or pushed (`push`). */
  win: number;
  push: number;
}

/** Closes the complete sets in a position. Returns the money that the wallet receives for them. */
export function net(position: Pick<NaivePosition, "holdings" | "win" | "push">, voids: Voids): number {
  const sets = Math.min(...position.holdings.map(({ qty }) => qty));
  if (sets === 0) return 0;
  let cost = 0;
  for (const holding of position.holdings) {
    const closed = Number((BigInt(holding.cost) * BigInt(sets)) / BigInt(holding.qty));
    holding.qty -= sets;
    holding.cost -= closed;
    cost += closed;
  }
  const value = 1_000 * sets;
  if (voids === "FMV") return value;
  if (cost < value) position.win += value - cost;
  else position.push += cost - value;
  return Math.min(cost, value);
}
