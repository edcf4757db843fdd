/** When the ticks of a partition's actors are due. A heap whose outdated entries are passed over. */

import type { ActorId } from "../../actors/actor.js";

interface Due {
  readonly atMs: number;
  readonly actor: ActorId;
}

export class Deadlines {
  readonly #current = new Map<ActorId, number>();
  #heap: Due[] = [];

  /** The deadline of an actor from now on, or none. */
  set(actor: ActorId, atMs: number | undefined): void {
    if (atMs === undefined) {
      this.#current.delete(actor);
      return;
    }
    if (this.#current.get(actor) === atMs) return;
    this.#current.set(actor, atMs);
    this.#push({ atMs, actor });
  }

  get(actor: ActorId): number | undefined {
    return this.#current.get(actor);
  }

  /** The earliest deadline. */
  next(): number | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || this.#current.get(first.actor) === first.atMs) return first?.atMs;
      this.#pop();
    }
  }

  /** The actors whose deadline has come, at most `limit`. They stay until their deadline is set anew. */
  due(nowMs: number, limit: number): readonly ActorId[] {
    const actors: ActorId[] = [];
    const popped: Due[] = [];
    while (actors.length < limit) {
      const atMs = this.next();
      if (atMs === undefined || atMs > nowMs) break;
      const first = this.#pop();
      if (first === undefined) break;
      if (!actors.includes(first.actor)) {
        actors.push(first.actor);
        popped.push(first);
      }
    }
    for (const due of popped) this.#push(due);
    return actors;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.atMs <= due.atMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let smaller = left;
      if (right !== undefined && right.atMs < left.atMs) {
        smaller = right;
        child += 1;
      }
      if (smaller.atMs >= last.atMs) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
