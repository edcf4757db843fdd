/**
 * What `MemoryLog` keeps, as Redis would: streams, hashes, and a journal of what has not reached the disk. The
 * journal is what a power cut undoes.
 */

/** A stream whose ids are whole numbers: `n` stands for `0-n` in mailboxes, `<n>-0` in deltas. */
export interface MemoryStream {
  last: number;
  entries: { readonly id: number; readonly body: string }[];
}

export class MemoryStore {
  readonly #streams = new Map<string, MemoryStream>();
  readonly #hashes = new Map<string, Map<string, string>>();
  /** How to take back each operation since the last sync, newest last. */
  #journal: (() => void)[][] = [];
  #operation: (() => void)[] | undefined;
  readonly #growth = new Set<(key: string) => void>();
  readonly #listeners = new Set<(channel: string, text: string) => void>();
  readonly #cuts = new Set<() => void>();

  /** Runs one operation: everything it writes is kept, or lost in a power cut, together. */
  operate<T>(operation: () => T): T {
    const undo: (() => void)[] = [];
    this.#operation = undo;
    try {
      return operation();
    } finally {
      this.#operation = undefined;
      if (undo.length > 0) this.#journal.push(undo);
    }
  }

  /** Everything so far has reached the disk. */
  sync(): void {
    this.#journal = [];
  }

  /** The operations that a power cut could take, oldest first. */
  get unsynced(): number {
    return this.#journal.length;
  }

  /** The power fails: of what was not synced only the first `kept` operations survive, and every connection is lost. */
  powerCut(kept = 0): void {
    for (const operation of this.#journal.splice(kept).reverse()) {
      for (const undo of operation.reverse()) undo();
    }
    this.#journal = [];
    for (const listener of this.#cuts) listener();
  }

  onPowerCut(listener: () => void): () => void {
    this.#cuts.add(listener);
    return () => this.#cuts.delete(listener);
  }

  /** Calls with the key of every stream that grows. */
  onGrowth(listener: (key: string) => void): () => void {
    this.#growth.add(listener);
    return () => this.#growth.delete(listener);
  }

  /** Tells those who listen now; nothing of it is kept. */
  publish(channel: string, text: string): void {
    for (const listener of this.#listeners) listener(channel, text);
  }

  onPublished(listener: (channel: string, text: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #undoable(undo: () => void): void {
    this.#operation?.push(undo);
  }

  stream(key: string): Readonly<MemoryStream> {
    return this.#streams.get(key) ?? { last: 0, entries: [] };
  }

  /** Appends with the next id, or with an explicit one, which must be higher than the last. */
  append(key: string, body: string, id?: number): number {
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = { last: 0, entries: [] };
      this.#streams.set(key, stream);
      this.#undoable(() => this.#streams.delete(key));
    }
    const { last } = stream;
    const next = id ?? last + 1;
    if (next <= last) throw new Error(`${key}: id ${next} is not above ${last}`);
    const grown = stream;
    grown.last = next;
    grown.entries.push({ id: next, body });
    this.#undoable(() => {
      grown.last = last;
      grown.entries.pop();
    });
    for (const listener of this.#growth) listener(key);
    return next;
  }

  /** Forgets entries below an id. */
  trim(key: string, below: number): void {
    const stream = this.#streams.get(key);
    if (stream === undefined) return;
    const removed = stream.entries.splice(0, firstAbove(stream, below - 1));
    if (removed.length === 0) return;
    this.#undoable(() => {
      stream.entries = [...removed, ...stream.entries];
    });
  }

  after(key: string, id: number, limit: number): readonly { readonly id: number; readonly body: string }[] {
    const stream = this.stream(key);
    const first = firstAbove(stream, id);
    return stream.entries.slice(first, first + limit);
  }

  get(key: string, field: string): string | undefined {
    return this.#hashes.get(key)?.get(field);
  }

  fields(key: string): ReadonlyMap<string, string> {
    return this.#hashes.get(key) ?? new Map<string, string>();
  }

  /** Sets a field; `undefined` removes it. */
  set(key: string, field: string, value: string | undefined): void {
    let hash = this.#hashes.get(key);
    if (hash === undefined) {
      hash = new Map();
      this.#hashes.set(key, hash);
    }
    const known = hash;
    const before = known.get(field);
    const write = (to: string | undefined): void => {
      if (to === undefined) known.delete(field);
      else known.set(field, to);
    };
    write(value);
    this.#undoable(() => write(before));
  }
}

/** The index of the first entry whose id is above the given one. */
function firstAbove(stream: Readonly<MemoryStream>, id: number): number {
  let low = 0;
  let high = stream.entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((stream.entries[middle]?.id ?? Infinity) > id) high = middle;
    else low = middle + 1;
  }
  return low;
}
