/** Room of a tick table for the outcomes of a market (contract section 1.4). */

import { CONTRACT_TICKS, ticks, type Ticks } from "../units.js";

/** Returns whether a market with this number of outcomes can match at the lowest price on all of them. */
export function hasRoomFor(outcomes: number, lowest: Ticks): boolean {
  return lowest * outcomes <= CONTRACT_TICKS;
}

/** Returns the highest price that may be the lowest of a table, for a market with this number of outcomes. */
export function highestLowest(outcomes: number): Ticks {
  return ticks(Math.floor(CONTRACT_TICKS / outcomes));
}
