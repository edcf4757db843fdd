/** Positions of deltas in their actors' logs. */

import type { ActorId } from "../../actors/actor.js";
import { assert } from "../../actors/units.js";
import { shown } from "../../actors/unreachable.js";

const DELTAS_PER_ENTRY = 2 ** 20;

/** The place of one delta in the log, and the time at which its actor decided it. */
export interface Origin {
  readonly actor: ActorId;
  readonly seq: number;
  /** Engine time, Unix ms. */
  readonly ts: number;
  /** Rises along the log of the actor, see `placeOf`. */
  readonly place: number;
}

/** Returns a number that rises along an actor's log, made of the entry's seq and the delta's position in the entry. */
export function placeOf(seq: number, position: number): number {
  assert(position < DELTAS_PER_ENTRY, "an entry has too many deltas to number", position);
  const place = seq * DELTAS_PER_ENTRY + position;
  assert(Number.isSafeInteger(place), "a seq is too large to number its deltas", seq);
  return place;
}

/** Runs the projection of one delta, and names the delta in any error. */
export function projectDelta<Result>(origin: Origin, delta: unknown, project: () => Result): Result {
  try {
    return project();
  } catch (error) {
    throw new UnprojectableDelta(origin, delta, error);
  }
}

/** Reports a delta that cannot be projected: it is of a newer build, or it does not fit the tables. */
export class UnprojectableDelta extends Error {
  override readonly name = "UnprojectableDelta";

  constructor({ actor, seq }: Origin, delta: unknown, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`${actor}: entry ${seq} cannot be projected, ${reason}; the delta is ${shown(delta)}`, { cause });
  }
}
