/**
 * Keeps messages between two actors in order when some of them are handed over in memory. A message may be handed over
 * only to an actor whose mailbox has no message from its commit group, and to whose mailbox no commit brings one. A message
 * that overtook another one of the same source would make the receiver drop the other one as a repeat.
 */

import type { ActorId } from "../../actors/actor.js";
import { hasFailed, type StepResult } from "./turns.js";

export class HandOverGuard {
  readonly #allowed = new Set<ActorId>();
  /** Actors to whose mailboxes messages are on their way in a commit. */
  readonly #awaited = new Set<ActorId>();
  /** Actors that must not run before the outcome of a commit. */
  readonly #waiting = new Set<ActorId>();

  /** Returns true when a message may be handed over to the actor. */
  allows(actor: ActorId): boolean {
    return this.#allowed.has(actor);
  }

  /** Returns false for an actor that failed, or has not finished, in a step whose commit is on its way. */
  mayRun(actor: ActorId): boolean {
    return !this.#waiting.has(actor);
  }

  /** Returns true while a commit may append messages to the mailbox of an actor, which a read need not return. */
  isAwaited(actor: ActorId): boolean {
    return this.#awaited.has(actor);
  }

  /** Records the results of a step whose commit begins. One commit is on its way at a time. */
  commitBegins(results: readonly StepResult[]): void {
    for (const { instance, turn, unsent, hasMore } of results) {
      for (const { to } of unsent) this.#awaited.add(to);
      if (hasFailed(turn) || hasMore || instance.isBusy) this.#waiting.add(instance.id);
    }
  }

  /** Records that a commit has its outcome. */
  commitEnded(): void {
    this.#awaited.clear();
    this.#waiting.clear();
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
