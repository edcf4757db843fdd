/** Where a row comes from in its actor's log. */

import { assert } from "../../actors/units.js";

const DELTAS_PER_ENTRY = 2 ** 20;

/** A number that rises along an actor's log: the entry's seq, then the delta's position in the entry. */
export function placeOf(seq: number, position: number): number {
  assert(position < DELTAS_PER_ENTRY, `an entry of more than ${DELTAS_PER_ENTRY} deltas`);
  const place = seq * DELTAS_PER_ENTRY + position;
  assert(Number.isSafeInteger(place), `entry ${seq} is beyond what can be numbered`);
  return place;
}

/** When and where a delta happened. */
export interface Origin {
  /** Engine time, Unix ms. */
  readonly ts: number;
  readonly place: number;
}
