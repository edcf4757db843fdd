/** What the actors of one step decide: their turns, in the order in which they follow from each other. */

import type { ActorId } from "../../actors/actor.js";
import type { Delivery } from "../log/log.js";
import type { Partition } from "./partition.js";
import { errorOf, type Incoming, type Instance, type Turn } from "./instance.js";

/** An actor in memory, and its tenure. */
export interface Slot {
  readonly partition: Partition;
  readonly instance: Instance;
}

/** A turn of an actor, and what becomes of its messages. */
export interface StepResult extends Slot {
  readonly turn: Turn;
  /** Whether it is known which messages follow from it. */
  readonly isRouted: boolean;
  /** Why the actor must not go on. */
  readonly fault: Error | undefined;
  /** Messages that were not handed over, and go by the relay. */
  readonly unsent: Delivery[];
}

interface RoutedMessage {
  readonly from: StepResult;
  readonly delivery: Delivery;
}

/** How often a message may lead to another within one step; an order leads to two. The rest goes by the relay. */
const MAX_ROUNDS = 8;

export class Turns {
  readonly results: StepResult[] = [];
  readonly #nowMs: number;
  readonly #slotOf: (actor: ActorId) => Slot | undefined;
  /** Those to which nothing is handed over any more. */
  readonly #closed = new Set<ActorId>();
  #messages: RoutedMessage[] = [];

  /** `seatOf` gives the actors that messages may be handed over to. */
  constructor(nowMs: number, slotOf: (actor: ActorId) => Slot | undefined) {
    this.#nowMs = nowMs;
    this.#slotOf = slotOf;
  }

  /** Lets an actor take messages. Gives how many of them are done with. */
  run({ partition, instance }: Slot, messages: readonly Incoming[]): number {
    const actor = instance.id;
    const turn = partition.runOrHalt(actor, () => instance.run(messages, this.#nowMs));
    if (turn === undefined) {
      this.#closed.add(actor);
      return 0;
    }
    const { outgoing, fault } = outgoingOf(instance, turn);
    const result = { partition, instance, turn, isRouted: outgoing !== undefined, fault, unsent: [] };
    if (fault !== undefined) this.#closed.add(actor);
    this.results.push(result);
    for (const delivery of outgoing ?? []) this.#dispatch({ from: result, delivery });
    return turn.handled;
  }

  #dispatch(message: RoutedMessage): void {
    const { to } = message.delivery;
    if (this.#closed.has(to) || this.#slotOf(to) === undefined) this.#leaveToRelay(message);
    else this.#messages.push(message);
  }

  /** What comes after a message that goes by the relay must not overtake it. */
  #leaveToRelay({ from, delivery }: RoutedMessage): void {
    this.#closed.add(delivery.to);
    from.unsent.push(delivery);
  }

  /** Hands the messages over to the actors in memory, and those that follow from them. */
  handOver(): void {
    for (let round = 0; round < MAX_ROUNDS && this.#messages.length > 0; round += 1) {
      const byActor = new Map<ActorId, RoutedMessage[]>();
      for (const message of this.#messages) {
        const messages = byActor.get(message.delivery.to);
        if (messages === undefined) byActor.set(message.delivery.to, [message]);
        else messages.push(message);
      }
      this.#messages = [];
      for (const [actor, messages] of byActor) {
        const slot = this.#closed.has(actor) ? undefined : this.#slotOf(actor);
        const taken =
          slot === undefined
            ? 0
            : this.run(
                slot,
                messages.map(({ delivery }) => delivery),
              );
        for (const message of messages.slice(taken)) this.#leaveToRelay(message);
      }
    }
    for (const message of this.#messages) this.#leaveToRelay(message);
  }
}

/** The messages that follow from a turn; one that cannot tell them must not go on. */
function outgoingOf(
  instance: Instance,
  { entry, fault }: Turn,
): { readonly outgoing: readonly Delivery[] | undefined; readonly fault: Error | undefined } {
  try {
    return { outgoing: entry === undefined ? [] : instance.outgoing(entry), fault };
  } catch (error) {
    return { outgoing: undefined, fault: errorOf(error) };
  }
}
