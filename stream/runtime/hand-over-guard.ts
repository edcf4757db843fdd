/**
 * Keeps messages between two actors in order when some of them are handed over in memory. A message may be handed over
 * only to an actor whose mailbox has no message from its commit group. A message that overtook another one of the same
 * source would make the receiver drop the other one as a repeat.
 */

import type { ActorId } from "../../actors/actor.js";

export class HandOverGuard {
  readonly #allowed = new Set<ActorId>();

  /** Returns true when a message may be handed over to the actor. */
  allows(actor: ActorId): boolean {
    return this.#allowed.has(actor);
  }

  /** Records that the mailbox of an actor was read to its end, with every message of the commit group. */
  mailboxEmptied(actor: ActorId): void {
    this.#allowed.add(actor);
  }

  /** Records that a message goes to the mailbox of an actor. */
  messageQueued(actor: ActorId): void {
    this.#allowed.delete(actor);
  }

  /** Starts over with a new ownership: its previous owner may have left messages in any mailbox. */
  reset(): void {
    this.#allowed.clear();
  }
}
