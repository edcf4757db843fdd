/** Saved states of actors in tests. */

import { type ActorId, restoreParts, type StateBuilder } from "../../../actors/actor.js";

interface Saving<State> {
  save(state: State): Iterable<string>;
  restore(id: ActorId): StateBuilder<State>;
}

/** Returns the parts of a state as one text. Equal texts mean equal states. */
export function savedText<State>(actor: Pick<Saving<State>, "save">, state: State): string {
  return [...actor.save(state)].join("\n\n");
}

/** Returns the state that a snapshot of this state restores. */
export function restoredCopy<State>(actor: Saving<State>, id: ActorId, state: State): State {
  return restoreParts(actor, id, actor.save(state));
}
