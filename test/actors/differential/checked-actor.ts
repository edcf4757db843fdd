/**
 * An actor that checks each of its decisions. A follower folds the deltas, and a twin, saved and restored just before,
 * makes the same decision. The states of all three must agree.
 */

import { expect } from "chai";
import type { Actor, ActorId, Batch } from "../../../actors/actor.js";
import { LocalActor, throughJson } from "../../support/exchange/network.js";

export class CheckedActor<State, Command, Delta, Reply> extends LocalActor<State, Command, Delta, Reply> {
  readonly #follower: State;

  constructor(id: ActorId, actor: Actor<State, Command, Delta, Reply>) {
    super(id, actor);
    this.#follower = actor.create(id);
  }

  override apply(command: Command, now: number): { reply: Reply | undefined; batch: Batch<Delta> } {
    const { actor, id, state } = this;
    const twin = actor.restore(id, throughJson(actor.save(state)));
    const { reply, batch } = super.apply(command, now);
    const again = actor.decide(twin, command, now);
    expect(throughJson(again), "the decision of a restored actor").to.deep.equal(
      throughJson({ deltas: batch.deltas, reply }),
    );
    for (const delta of batch.deltas) actor.evolve(this.#follower, delta, now);
    const saved = JSON.stringify(actor.save(state));
    expect(JSON.stringify(actor.save(twin)), "the state of a restored actor after the decision").to.equal(
      saved,
    );
    expect(JSON.stringify(actor.save(this.#follower)), "the fold of the deltas").to.equal(saved);
    return { reply, batch };
  }
}

/** Checks that the fold of all batches of an actor is its state. */
export function expectFold<State, Command, Delta, Reply>({
  id,
  actor,
  state,
  emitted,
}: LocalActor<State, Command, Delta, Reply>): void {
  const folded = actor.create(id);
  for (const { ts, deltas } of emitted) for (const delta of deltas) actor.evolve(folded, delta, ts);
  expect(JSON.stringify(actor.save(folded)), "the fold of all batches").to.equal(
    JSON.stringify(actor.save(state)),
  );
}
