/** Origin of a row: the delta from which the projection makes it. */

import type { ActorId } from "../../actors/actor.js";
import { shown } from "../../actors/unreachable.js";

/** The place of one delta in the log, and the time at which its actor decided it. */
export interface Origin {
  readonly actor: ActorId;
  readonly seq: number;
  /** Engine time, Unix ms. */
  readonly ts: number;
  /** Number of the delta among all deltas of its actor. */
  readonly place: number;
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
