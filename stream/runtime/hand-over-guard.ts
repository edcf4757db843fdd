/**
 * To which actors of a domain messages may be handed over in memory: those whose mailbox holds nothing that was sent
 * by an actor of the domain. A message that overtook another of the same sender would make that a repeat, and lost.
 */

import type { ActorId } from "../../actors/actor.js";

export class HandOverGuard {
  readonly #actors = new Set<ActorId>();

  allows(actor: ActorId): boolean {
    return this.#actors.has(actor);
  }

  /** The mailbox has been read to its end, with everything that this domain had sent to it. */
  mailboxEmptied(actor: ActorId): void {
    this.#actors.add(actor);
  }

  /** A message for the actor goes to its mailbox. */
  messageQueued(actor: ActorId): void {
    this.#actors.delete(actor);
  }

  /** A tenure begins here: its last owner may have left something in any mailbox. */
  reset(): void {
    this.#actors.clear();
  }
}
