/**
 * An actor that checks each of its decisions. A follower folds the deltas, and a twin, saved and restored just before,
 * makes the same decision. The states of all three must agree.
 */

import { expect } from "chai";
import type { Actor, ActorId } from "../../../actors/actor.js";
import type { Bounds } from "../../../actors/limits.js";
import { type Applied, LocalActor, throughJson } from "../../support/exchange/network.js";
import { throughLog } from "../../support/exchange/packed.js";
import { restoredCopy, savedText } from "../../support/exchange/saved.js";

export class CheckedActor<State, Command, Delta, Reply> extends LocalActor<State, Command, Delta, Reply> {
  readonly #follower: State;

  constructor(id: ActorId, actor: Actor<State, Command, Delta, Reply>, bounds?: Bounds) {
    super(id, actor, bounds);
    this.#follower = actor.create(id);
  }

  override apply(command: Command, now: number): Applied<Delta, Reply, Command> {
    const { actor, id, state, bounds } = this;
    const twin = restoredCopy(actor, id, state);
    const applied = super.apply(command, now);
    const { reply, batch, unfinished } = applied;
    const again = { unfinished: [], ...actor.decide(twin, command, now, undefined, bounds) };
    expect(throughJson(again), "the decision of a restored actor").to.deep.equal(
      throughJson({ deltas: batch.deltas, reply, unfinished }),
    );
    for (const delta of throughLog(id, batch).deltas) actor.evolve(this.#follower, delta, now);
    const saved = savedText(actor, state);
    expect(savedText(actor, twin), "the state of a restored actor after the decision").to.equal(saved);
    expect(savedText(actor, this.#follower), "the fold of the deltas").to.equal(saved);
    const deadline = actor.deadline(state);
    expect(actor.deadline(twin), "the deadline of a restored actor after the decision").to.equal(deadline);
    expect(actor.deadline(this.#follower), "the deadline of the fold").to.equal(deadline);
    return applied;
  }
}

/** Checks that the fold of all batches of an actor is its state, and that the form of earlier builds restores it. */
export function expectFold<State, Command, Delta, Reply>({
  id,
  actor,
  state,
  emitted,
}: LocalActor<State, Command, Delta, Reply>): void {
  const folded = actor.create(id);
  for (const { ts, deltas } of emitted) for (const delta of deltas) actor.evolve(folded, delta, ts);
  expect(savedText(actor, folded), "the fold of all batches").to.equal(savedText(actor, state));
  const whole = actor.restoreWhole(id, throughJson(actor.saveWhole(state)));
  expect(savedText(actor, whole), "the state restored from one value").to.equal(savedText(actor, state));
}
