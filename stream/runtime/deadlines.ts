/** The times at which the actors of a partition are due for a tick. */

import type { ActorId } from "../../actors/actor.js";
import { type Deadline, Deadlines } from "../../actors/deadlines.js";

export class ActorDeadlines {
  readonly #deadlines = new Deadlines<ActorId>();

  /** Replaces the deadline of an actor; `undefined` removes it. */
  set(actor: ActorId, atMs: number | undefined): void {
    if (atMs === undefined) this.#deadlines.delete(actor);
    else if (this.#deadlines.get(actor) !== atMs) this.#deadlines.set(atMs, 0, actor);
  }

  get(actor: ActorId): number | undefined {
    return this.#deadlines.get(actor);
  }

  /** Returns the earliest deadline. */
  next(): number | undefined {
    return this.#deadlines.first()?.at;
  }

  /** Returns the actors that are due, at most `limit`. An actor stays due until its deadline is replaced. */
  due(nowMs: number, limit: number): readonly ActorId[] {
    const due: Deadline<ActorId>[] = [];
    while (due.length < limit) {
      const atMs = this.next();
      if (atMs === undefined || atMs > nowMs) break;
      const first = this.#deadlines.pop();
      if (first === undefined) break;
      due.push(first);
    }
    for (const { at, subject } of due) this.#deadlines.set(at, 0, subject);
    return due.map(({ subject }) => subject);
  }
}
