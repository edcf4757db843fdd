/**
 * The turns of one step. In a turn, one actor runs on some messages; a message that follows from the turn causes a turn
 * of its receiver.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Format } from "../../actors/format.js";
import type { Slices } from "../log/clock.js";
import type { Message } from "../log/log.js";
import type { Dispatch, Incoming, Instance, Turn } from "./instance.js";
import type { Partition } from "./partition.js";

/** An actor in memory, and the ownership under which it runs. */
export interface Slot {
  readonly partition: Partition;
  readonly instance: Instance;
}

/** Returns true when the state of the actor may be wrong, so that the instance must not run again. */
export function hasFailed({ fault, quarantined, retry }: Turn): boolean {
  return fault !== undefined || quarantined !== undefined || retry !== undefined;
}

/** One turn of an actor in a step, with the messages that could not be handed over. */
export interface StepResult extends Slot {
  readonly turn: Turn;
  /** True when the actor has not handled all of its messages, without a fault. */
  readonly hasMore: boolean;
  /** The messages that were not handed over. They go to the mailboxes, with the commit or through the relay. */
  readonly unsent: Dispatch[];
  /** The messages that were handed over to this turn, and that it has handled. */
  readonly received: readonly RoutedMessage[];
}

interface RoutedMessage {
  readonly from: StepResult;
  readonly dispatch: Dispatch;
}

/**
 * Undoes the turns that `mustUndo` and are not committed, and every turn that follows from them. The messages that the
 * other turns have handed over to undone ones go to the mailboxes. Returns the other turns, and the instances whose turns
 * were undone, which are ahead of the log.
 */
export function undoTurns(
  results: readonly StepResult[],
  mustUndo: (result: StepResult) => boolean,
): { readonly kept: readonly StepResult[]; readonly undone: ReadonlyMap<Instance, Partition> } {
  const undone = new Map<Instance, Partition>();
  const kept = new Set<StepResult>();
  for (const result of results) {
    const { instance } = result;
    const isKept =
      !mustUndo(result) && !undone.has(instance) && result.received.every(({ from }) => kept.has(from));
    if (isKept) {
      kept.add(result);
      continue;
    }
    undone.set(instance, result.partition);
    for (const { from, dispatch } of result.received) if (kept.has(from)) from.unsent.push(dispatch);
  }
  return { kept: [...kept], undone };
}

/** Most turns of an actor in a row in one step. What is left then waits for the next step. */
const MAX_TURNS_IN_A_ROW = 4;
/** Longest chain of messages in one step; an order takes two. The messages after that go to the mailboxes. */
const MAX_ROUNDS = 8;

export class Turns {
  /** The results of all turns; a cause comes before its effects. */
  readonly results: StepResult[] = [];
  readonly #nowMs: number;
  readonly #format: Format;
  readonly #slotOf: (actor: ActorId) => Slot | undefined;
  /** Actors to which no further message may be handed over in this step. */
  readonly #closed = new Set<ActorId>();
  #messages: RoutedMessage[] = [];
  #deltas = 0;

  /** `slotOf` returns an actor when messages may be handed over to it. */
  constructor(nowMs: number, format: Format, slotOf: (actor: ActorId) => Slot | undefined) {
    this.#nowMs = nowMs;
    this.#format = format;
    this.#slotOf = slotOf;
  }

  /** Number of deltas of all turns. */
  get deltas(): number {
    return this.#deltas;
  }

  /** Runs an actor on the messages of its mailbox. Lets the event loop turn when a slice is over. */
  async run(slot: Slot, messages: readonly Message[], slices: Slices): Promise<void> {
    await this.#runInTurns(slot, messages, [], slices);
  }

  /**
   * Runs an actor on messages, or on those that others have handed over to it, in as many turns as it needs, within limits.
   * Returns the number that it handled. Lets the event loop turn when a slice is over.
   */
  async #runInTurns(
    slot: Slot,
    messages: readonly Incoming[],
    handedOver: readonly RoutedMessage[],
    slices: Slices,
  ): Promise<number> {
    let handled = 0;
    for (let left = MAX_TURNS_IN_A_ROW; left > 0; left -= 1) {
      const isLast = left === 1;
      const done = this.#run(slot, messages.slice(handled), handedOver.slice(handled), isLast, slices);
      handled += done.handled;
      if (slices.isOver) await slices.next();
      if (!done.goesOn || slot.partition.ended) break;
    }
    return handled;
  }

  /** Runs one turn of an actor, which goes on with the next one when it is full, unless this is the last one. */
  #run(
    { partition, instance }: Slot,
    messages: readonly Incoming[],
    handedOver: readonly RoutedMessage[],
    isLast: boolean,
    slices: Slices,
  ): { readonly handled: number; readonly goesOn: boolean } {
    const turn = instance.run(messages, this.#nowMs, this.#format, () => slices.isLate);
    const isLeft = turn.fault === undefined && turn.handled < messages.length;
    const goesOn = isLeft && turn.isFull && !isLast;
    const hasMore = isLeft && !goesOn;
    const received = handedOver.slice(0, turn.handled);
    const result = { partition, instance, turn, hasMore, unsent: [], received };
    if (hasMore || hasFailed(turn)) this.#closed.add(instance.id);
    for (const { deltas } of turn.entry?.batches ?? []) this.#deltas += deltas.length;
    this.results.push(result);
    for (const dispatch of turn.outgoing) this.#dispatch({ from: result, dispatch });
    return { handled: turn.handled, goesOn };
  }

  #dispatch(message: RoutedMessage): void {
    const { to } = message.dispatch;
    if (this.#closed.has(to) || this.#slotOf(to) === undefined) this.#leaveToMailbox(message);
    else this.#messages.push(message);
  }

  /** Leaves a message to the mailbox, and with it all later ones to the same actor, so that none overtakes it. */
  #leaveToMailbox({ from, dispatch }: RoutedMessage): void {
    this.#closed.add(dispatch.to);
    from.unsent.push(dispatch);
  }

  /**
   * Hands the messages over to their actors in memory, round by round, and runs these actors. Lets the event loop turn
   * between two turns when a slice is over.
   */
  async handOver(slices: Slices): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS && this.#messages.length > 0; round += 1) {
      const messages = this.#messages;
      this.#messages = [];
      for (const [actor, received] of byActor(messages)) {
        const slot = this.#closed.has(actor) ? undefined : this.#slotOf(actor);
        const dispatches = received.map(({ dispatch }) => dispatch);
        const handled = slot === undefined ? 0 : await this.#runInTurns(slot, dispatches, received, slices);
        for (const message of received.slice(handled)) this.#leaveToMailbox(message);
      }
    }
    for (const message of this.#messages) this.#leaveToMailbox(message);
  }
}

function byActor(messages: readonly RoutedMessage[]): ReadonlyMap<ActorId, readonly RoutedMessage[]> {
  const groups = new Map<ActorId, RoutedMessage[]>();
  for (const message of messages) {
    const group = groups.get(message.dispatch.to);
    if (group === undefined) groups.set(message.dispatch.to, [message]);
    else group.push(message);
  }
  return groups;
}
