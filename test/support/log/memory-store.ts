/**
 * The data of a `MemoryLog`: streams and hashes as in Redis, and a journal of the operations that are not on disk. A
 * power cut undoes operations of the journal.
 */

/** A stream with whole numbers as ids: `n` stands for `0-n` in a mailbox, and for `n-0` in a delta stream. */
export interface MemoryStream {
  last: number;
  entries: { readonly id: number; readonly body: string }[];
}

export class MemoryStore {
  readonly #streams = new Map<string, MemoryStream>();
  readonly #hashes = new Map<string, Map<string, string>>();
  /** The undo steps of each operation since the last sync, newest last. */
  #journal: (() => void)[][] = [];
  /** The undo steps of the current operation. */
  #operation: (() => void)[] | undefined;
  readonly #growth = new Set<(key: string) => void>();
  readonly #listeners = new Set<(channel: string, text: string) => void>();
  readonly #cuts = new Set<() => void>();
  #server = 1;

  /** Runs one operation. A power cut undoes all of its writes or none. */
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

  /** Records that all operations so far are on disk. */
  sync(): void {
    this.#journal = [];
  }

  /** Name of the server that holds the data, a new one after each power cut. */
  get server(): string {
    return String(this.#server);
  }

  /** Number of operations that a power cut can undo. */
  get unsynced(): number {
    return this.#journal.length;
  }

  /** Cuts the power: undoes all operations that are not on disk except the first `kept`, and cuts every connection. */
  powerCut(kept = 0): void {
    for (const operation of this.#journal.splice(kept).reverse()) {
      for (const undo of operation.reverse()) undo();
    }
    this.#journal = [];
    this.#server += 1;
    for (const listener of this.#cuts) listener();
  }

  /**
   * Keeps a copy of the keys of one partition. The returned function sets them back to it and cuts every connection, as
   * when the node of a cluster that holds the partition fails over to a replica that lags.
   */
  keep(partition: string): () => void {
    const isKept = (key: string): boolean => key.startsWith(`{${partition}}:`);
    const streams = [...this.#streams].filter(([key]) => isKept(key));
    const hashes = [...this.#hashes].filter(([key]) => isKept(key));
    const copy = structuredClone({ streams, hashes });
    return () => {
      this.sync();
      for (const key of [...this.#streams.keys()].filter(isKept)) this.#streams.delete(key);
      for (const key of [...this.#hashes.keys()].filter(isKept)) this.#hashes.delete(key);
      for (const [key, stream] of copy.streams) this.#streams.set(key, stream);
      for (const [key, hash] of copy.hashes) this.#hashes.set(key, hash);
      this.powerCut();
    };
  }

  onPowerCut(listener: () => void): () => void {
    this.#cuts.add(listener);
    return () => this.#cuts.delete(listener);
  }

  /** Calls the listener with the key of each stream that grows. */
  onGrowth(listener: (key: string) => void): () => void {
    this.#growth.add(listener);
    return () => this.#growth.delete(listener);
  }

  /** Publishes to the present listeners, and stores nothing. */
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

  /** Appends with the next id, or with an explicit id, which must be above the last. */
  append(key: string, body: string, id?: number): number {
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      stream = { last: 0, entries: [] };
      this.#streams.set(key, stream);
      this.#undoable(() => this.#streams.delete(key));
    }
    const { last } = stream;
    const next = id ?? last + 1;
    if (next <= last) throw new Error(`${key}: id ${next} is not above the last id ${last}`);
    const appended = stream;
    appended.last = next;
    appended.entries.push({ id: next, body });
    this.#undoable(() => {
      appended.last = last;
      appended.entries.pop();
    });
    for (const listener of this.#growth) listener(key);
    return next;
  }

  /** Removes the entries below an id. */
  trim(key: string, below: number): void {
    const stream = this.#streams.get(key);
    if (stream === undefined) return;
    const removed = stream.entries.splice(0, firstAbove(stream, below - 1));
    if (removed.length === 0) return;
    this.#undoable(() => {
      stream.entries = [...removed, ...stream.entries];
    });
  }

  /** Removes one entry; returns false when there is none with this id. */
  remove(key: string, id: number): boolean {
    const stream = this.#streams.get(key);
    const index = stream?.entries.findIndex((entry) => entry.id === id) ?? -1;
    if (stream === undefined || index === -1) return false;
    const before = stream.entries;
    stream.entries = before.toSpliced(index, 1);
    this.#undoable(() => {
      stream.entries = before;
    });
    return true;
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

  /** Yields each stream and hash that is not empty, with the texts that it stores. */
  *contents(): Generator<readonly [key: string, texts: readonly string[]]> {
    for (const [key, { entries }] of this.#streams)
      if (entries.length > 0) yield [key, entries.map(({ body }) => body)];
    for (const [key, hash] of this.#hashes) if (hash.size > 0) yield [key, [...hash].flat()];
  }

  /** Sets a field; `undefined` removes it. */
  set(key: string, field: string, value: string | undefined): void {
    let hash = this.#hashes.get(key);
    if (hash === undefined) {
      hash = new Map();
      this.#hashes.set(key, hash);
    }
    const fields = hash;
    const before = fields.get(field);
    const write = (to: string | undefined): void => {
      if (to === undefined) fields.delete(field);
      else fields.set(field, to);
    };
    write(value);
    this.#undoable(() => write(before));
  }
}

/** Returns the index of the first entry whose id is above the given one. */
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
