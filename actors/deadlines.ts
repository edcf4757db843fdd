/**
 * What is due when: a binary heap by time, then by rank (lower first), then by insertion. Stale entries are the caller's
 * to skip.
 */

export interface Deadline<What> {
  readonly at: number;
  readonly what: What;
}

interface Numbered<What> extends Deadline<What> {
  readonly rank: number;
  readonly n: number;
}

export class Deadlines<What> {
  readonly #heap: Numbered<What>[] = [];
  #inserted = 0;

  push(at: number, rank: number, what: What): void {
    const heap = this.#heap;
    const entry = { at, what, rank, n: this.#inserted };
    this.#inserted += 1;
    heap.push(entry);
    let i = heap.length - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(entry, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = entry;
  }

  first(): Deadline<What> | undefined {
    return this.#heap[0];
  }

  pop(): Deadline<What> | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let i = 0;
    for (;;) {
      const left = heap[2 * i + 1];
      const right = heap[2 * i + 2];
      if (left === undefined) break;
      const [child, at] = right !== undefined && before(right, left) ? [right, 2 * i + 2] : [left, 2 * i + 1];
      if (!before(child, last)) break;
      heap[i] = child;
      i = at;
    }
    heap[i] = last;
    return first;
  }
}

function before<What>(a: Numbered<What>, b: Numbered<What>): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.rank < b.rank || (a.rank === b.rank && a.n < b.n);
}
