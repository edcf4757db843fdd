/** The times at which the actors of a partition are due for a tick. */

import type { ActorId } from "../../actors/actor.js";
import { type Deadline, Deadlines as Heap } from "../../actors/deadlines.js";

export class ActorDeadlines {
  readonly #current = new Map<ActorId, number>();
  /** Has every deadline in `#current`, and outdated ones that are skipped. */
  readonly #heap = new Heap<ActorId>();

  /** Replaces the deadline of an actor; `undefined` removes it. */
  set(actor: ActorId, atMs: number | undefined): void {
    if (atMs === undefined) {
      this.#current.delete(actor);
      return;
    }
    if (this.#current.get(actor) === atMs) return;
    this.#current.set(actor, atMs);
    this.#heap.push(atMs, 0, actor);
  }

  get(actor: ActorId): number | undefined {
    return this.#current.get(actor);
  }

  /** Returns the earliest deadline. */
  next(): number | undefined {
    for (;;) {
      const first = this.#heap.first();
      if (first === undefined || this.#current.get(first.subject) === first.at) return first?.at;
      this.#heap.pop();
    }
  }

  /** Returns the actors that are due, at most `limit`. An actor stays due until its deadline is replaced. */
  due(nowMs: number, limit: number): readonly ActorId[] {
    const actors: ActorId[] = [];
    const popped: Deadline<ActorId>[] = [];
    while (actors.length < limit) {
      const atMs = this.next();
      if (atMs === undefined || atMs > nowMs) break;
      const first = this.#heap.pop();
      if (first === undefined) break;
      if (!actors.includes(first.subject)) {
        actors.push(first.subject);
        popped.push(first);
      }
    }
    for (const { at, subject } of popped) this.#heap.push(at, 0, subject);
    return actors;
  }
}
