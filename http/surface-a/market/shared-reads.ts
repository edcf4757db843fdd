/** Reads that their callers share for a short time, so that their number does not matter to the source. */

export class SharedReads<Value> {
  readonly #reads = new Map<string, Promise<Value>>();

  /** A read serves the callers of the `keepMs` after its start; one that fails, those until then. */
  constructor(
    private readonly read: (key: string) => Promise<Value>,
    private readonly keepMs: number,
  ) {}

  get(key: string): Promise<Value> {
    const shared = this.#reads.get(key);
    if (shared !== undefined) return shared;
    const reading = this.read(key);
    this.#reads.set(key, reading);
    const drop = (): void => {
      if (this.#reads.get(key) === reading) this.#reads.delete(key);
    };
    setTimeout(drop, this.keepMs).unref();
    reading.catch(drop);
    return reading;
  }
}
