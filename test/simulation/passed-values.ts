/**
 * Checks of the values that actors pass to each other. A message to an actor of the same worker is handed over as the
 * value that its sender has made; the same message to another worker is packed. Both must mean the same, and no actor may
 * change a value that another one has. The state that follows from a passed value must be the fold of the deltas as the
 * log has them.
 */

import { isDeepStrictEqual } from "node:util";
import type { ActorId } from "../../actors/actor.js";
import type { AnyActor } from "../../stream/runtime/instance.js";
import { throughJson } from "../support/exchange/network.js";
import { throughLog } from "../support/exchange/packed.js";
import { restoredCopy, savedText } from "../support/exchange/saved.js";

/** Interval of the comparisons of a state with its follower, in decisions. */
const COMPARE_EVERY = 16;

interface Follower {
  readonly state: unknown;
  decisions: number;
}

/** Returns an actor that checks each of its commands, and that its states are the folds of their deltas. */
export function checkingValues(actor: AnyActor, id: ActorId): AnyActor {
  const followers = new WeakMap<object, Follower>();
  return {
    ...actor,
    decide: (state, command, nowMs, format, bounds) => {
      checkPassed(id, command);
      const key = state as object;
      const follower = followers.get(key) ?? { state: restoredCopy(actor, id, state), decisions: 0 };
      followers.delete(key);
      const decision = actor.decide(state, command, nowMs, format, bounds);
      for (const delta of throughLog(id, { ts: nowMs, deltas: decision.deltas }).deltas)
        actor.evolve(follower.state, delta, nowMs);
      follower.decisions += 1;
      if (follower.decisions % COMPARE_EVERY === 0) compare(actor, id, state, follower.state);
      followers.set(key, follower);
      return decision;
    },
  };
}

function compare(actor: AnyActor, id: ActorId, state: unknown, followed: unknown): void {
  if (savedText(actor, state) !== savedText(actor, followed))
    throw new Error(`${id}: the state is not the fold of the packed deltas`);
  if (actor.deadline(state) !== actor.deadline(followed))
    throw new Error(`${id}: the deadline is not that of the packed deltas`);
}

/** Checks that a command is what its packed form says, and lets nobody change the command from now on. */
function checkPassed(id: ActorId, command: unknown): void {
  if (!isDeepStrictEqual(withoutAbsent(command), throughJson(command)))
    throw new Error(`${id}: a command differs from its packed form: ${JSON.stringify(command)}`);
  freeze(command);
}

/** Returns a value without its undefined fields, which the packed form leaves out. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) =>
      field === undefined ? [] : [[name, withoutAbsent(field)]],
    ),
  );
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const field of Object.values(value)) freeze(field);
}
