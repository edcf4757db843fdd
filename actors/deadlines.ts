/**
 * Deadlines in a binary heap: by time, then by rank (lower first), then by insertion. The heap keeps deadlines that no
 * longer apply; the caller skips them.
 */

export interface Deadline<Subject> {
  readonly at: number;
  readonly subject: Subject;
}

interface Numbered<Subject> extends Deadline<Subject> {
  readonly rank: number;
  readonly n: number;
}

export class Deadlines<Subject> {
  readonly #heap: Numbered<Subject>[] = [];
  #inserted = 0;

  push(at: number, rank: number, subject: Subject): void {
    const heap = this.#heap;
    const entry = { at, subject, rank, n: this.#inserted };
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

  first(): Deadline<Subject> | undefined {
    return this.#heap[0];
  }

  pop(): Deadline<Subject> | undefined {
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

function before<Subject>(a: Numbered<Subject>, b: Numbered<Subject>): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.rank < b.rank || (a.rank === b.rank && a.n < b.n);
}
