/** What the actors of one step decide: their turns, in the order in which they follow from each other. */

import type { ActorId } from "../../actors/actor.js";
import type { Delivery } from "../log/log.js";
import type { Partition } from "./partition.js";
import { errorOf, type Incoming, type Instance, type Turn } from "./instance.js";

/** An actor in memory, and its tenure. */
export interface Seat {
  readonly partition: Partition;
  readonly instance: Instance;
}

/** A turn of an actor, and what becomes of its messages. */
export interface Work extends Seat {
  readonly turn: Turn;
  /** Whether it is known which messages follow from it. */
  readonly isRouted: boolean;
  /** Why the actor must not go on. */
  readonly fault: Error | undefined;
  /** Messages that were not handed over, and go by the relay. */
  readonly left: Delivery[];
}

interface Letter {
  readonly from: Work;
  readonly delivery: Delivery;
}

/** How often a message may lead to another within one step; an order leads to two. The rest goes by the relay. */
const MAX_ROUNDS = 8;

export class Turns {
  readonly works: Work[] = [];
  readonly #nowMs: number;
  readonly #seatOf: (actor: ActorId) => Seat | undefined;
  /** Those to which nothing is handed over any more. */
  readonly #closed = new Set<ActorId>();
  #letters: Letter[] = [];

  /** `seatOf` gives the actors that messages may be handed over to. */
  constructor(nowMs: number, seatOf: (actor: ActorId) => Seat | undefined) {
    this.#nowMs = nowMs;
    this.#seatOf = seatOf;
  }

  /** Lets an actor take messages. Gives how many of them are done with. */
  take({ partition, instance }: Seat, messages: readonly Incoming[]): number {
    const actor = instance.id;
    const turn = partition.guarded(actor, () => instance.run(messages, this.#nowMs));
    if (turn === undefined) {
      this.#closed.add(actor);
      return 0;
    }
    const { outgoing, fault } = routed(instance, turn);
    const work = { partition, instance, turn, isRouted: outgoing !== undefined, fault, left: [] };
    if (fault !== undefined) this.#closed.add(actor);
    this.works.push(work);
    for (const delivery of outgoing ?? []) this.#send({ from: work, delivery });
    return turn.taken;
  }

  #send(letter: Letter): void {
    const { to } = letter.delivery;
    if (this.#closed.has(to) || this.#seatOf(to) === undefined) this.#leave(letter);
    else this.#letters.push(letter);
  }

  /** What comes after a message that goes by the relay must not overtake it. */
  #leave({ from, delivery }: Letter): void {
    this.#closed.add(delivery.to);
    from.left.push(delivery);
  }

  /** Hands the messages over to the actors in memory, and those that follow from them. */
  handOver(): void {
    for (let round = 0; round < MAX_ROUNDS && this.#letters.length > 0; round += 1) {
      const byActor = new Map<ActorId, Letter[]>();
      for (const letter of this.#letters) {
        const letters = byActor.get(letter.delivery.to);
        if (letters === undefined) byActor.set(letter.delivery.to, [letter]);
        else letters.push(letter);
      }
      this.#letters = [];
      for (const [actor, letters] of byActor) {
        const seat = this.#closed.has(actor) ? undefined : this.#seatOf(actor);
        const taken =
          seat === undefined
            ? 0
            : this.take(
                seat,
                letters.map(({ delivery }) => delivery),
              );
        for (const letter of letters.slice(taken)) this.#leave(letter);
      }
    }
    for (const letter of this.#letters) this.#leave(letter);
  }
}

/** The messages that follow from a turn; one that cannot tell them must not go on. */
function routed(
  instance: Instance,
  { entry, fault }: Turn,
): { readonly outgoing: readonly Delivery[] | undefined; readonly fault: Error | undefined } {
  try {
    return { outgoing: entry === undefined ? [] : instance.outgoing(entry), fault };
  } catch (error) {
    return { outgoing: undefined, fault: errorOf(error) };
  }
}
