/**
 * Deadlines in a binary heap: by time, then by rank (lower first), then by insertion. A subject has one deadline at most,
 * and a deadline that is replaced or removed leaves the heap at once, so the heap is never larger than what is live.
 */

export interface Deadline<Subject> {
  readonly at: number;
  readonly subject: Subject;
}

interface Numbered<Subject> extends Deadline<Subject> {
  readonly rank: number;
  readonly n: number;
  /** Position in the heap. */
  index: number;
}

export class Deadlines<Subject> {
  readonly #heap: Numbered<Subject>[] = [];
  readonly #bySubject = new Map<Subject, Numbered<Subject>>();
  #inserted = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** Sets the deadline of a subject; an earlier one of the same subject is replaced. */
  set(at: number, rank: number, subject: Subject): void {
    this.delete(subject);
    const entry = { at, subject, rank, n: this.#inserted, index: this.#heap.length };
    this.#inserted += 1;
    this.#bySubject.set(subject, entry);
    this.#heap.push(entry);
    this.#rise(entry);
  }

  /** Removes the deadline of a subject, if it has one. */
  delete(subject: Subject): void {
    const entry = this.#bySubject.get(subject);
    if (entry === undefined) return;
    this.#bySubject.delete(subject);
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return;
    this.#put(last, entry.index);
    this.#rise(last);
    this.#sink(last);
  }

  /** Returns the time of the deadline of a subject, if it has one. */
  get(subject: Subject): number | undefined {
    return this.#bySubject.get(subject)?.at;
  }

  first(): Deadline<Subject> | undefined {
    return this.#heap[0];
  }

  pop(): Deadline<Subject> | undefined {
    const first = this.#heap[0];
    if (first !== undefined) this.delete(first.subject);
    return first;
  }

  #put(entry: Numbered<Subject>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #rise(entry: Numbered<Subject>): void {
    let i = entry.index;
    while (i > 0) {
      const above = this.#heap[(i - 1) >> 1];
      if (above === undefined || !before(entry, above)) break;
      this.#put(above, i);
      i = (i - 1) >> 1;
    }
    this.#put(entry, i);
  }

  #sink(entry: Numbered<Subject>): void {
    let i = entry.index;
    for (;;) {
      const left = this.#heap[2 * i + 1];
      const right = this.#heap[2 * i + 2];
      if (left === undefined) break;
      const [child, at] = right !== undefined && before(right, left) ? [right, 2 * i + 2] : [left, 2 * i + 1];
      if (!before(child, entry)) break;
      this.#put(child, i);
      i = at;
    }
    this.#put(entry, i);
  }
}

function before<Subject>(a: Numbered<Subject>, b: Numbered<Subject>): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.rank < b.rank || (a.rank === b.rank && a.n < b.n);
}
