/** When the ticks of a partition's actors are due. Outdated entries of the heap are passed over. */

import type { ActorId } from "../../actors/actor.js";
import { type Deadline, Deadlines as Heap } from "../../actors/deadlines.js";

export class ActorDeadlines {
  readonly #current = new Map<ActorId, number>();
  readonly #heap = new Heap<ActorId>();

  /** The deadline of an actor from now on, or none. */
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

  /** The earliest deadline. */
  next(): number | undefined {
    for (;;) {
      const first = this.#heap.first();
      if (first === undefined || this.#current.get(first.what) === first.at) return first?.at;
      this.#heap.pop();
    }
  }

  /** The actors whose deadline has come, at most `limit`. They stay until their deadline is set anew. */
  due(nowMs: number, limit: number): readonly ActorId[] {
    const actors: ActorId[] = [];
    const popped: Deadline<ActorId>[] = [];
    while (actors.length < limit) {
      const atMs = this.next();
      if (atMs === undefined || atMs > nowMs) break;
      const first = this.#heap.pop();
      if (first === undefined) break;
      if (!actors.includes(first.what)) {
        actors.push(first.what);
        popped.push(first);
      }
    }
    for (const { at, what } of popped) this.#heap.push(at, 0, what);
    return actors;
  }
}
