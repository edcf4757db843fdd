/** Serialized books of surface A: a book that has not changed is not serialized again, however often it is read. */

interface Kept {
  readonly seq: number;
  readonly json: Buffer;
}

/** Memory for the serialized books of a gateway, in bytes. */
const MAX_BYTES = 64 * 1_048_576;
/** Memory that a book takes beside its bytes: its name and its place. A caller may ask for many small parts. */
const ENTRY_BYTES = 500;

export class BookCache {
  /** The least recently used one first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** Returns the last book under a name, which the caller compares by its seq. */
  get(name: string): Kept | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept;
  }

  /** Keeps a book in place of the last one under its name, and drops others while there are too many bytes. */
  keep(name: string, kept: Kept): void {
    this.#drop(name);
    this.#kept.set(name, kept);
    this.#bytes += sizeOf(kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#bytes -= sizeOf(kept);
    this.#kept.delete(name);
  }
}

function sizeOf({ json }: Kept): number {
  return json.length + ENTRY_BYTES;
}
