/** Values from Postgres, kept for a while and dropped when someone says that they changed. */

interface Kept<Value> {
  readonly value: Value;
  readonly freshUntilMs: number;
}

/** How a cache is kept. */
export interface CacheOptions {
  readonly ttlMs: number;
  readonly maxEntries: number;
  /**
   * Whether an error of a load means that the source is out of reach. The last value is then used on: what cannot be
   * read cannot have been changed either, and trading goes on while Postgres is down.
   */
  readonly unreachable: (error: unknown) => boolean;
}

/** Who has an old value does not wait longer than this for a new one, ms: the source then counts as out of reach. */
const PATIENCE_MS = 500;
/** How long an old value serves before a source that is out of reach is tried again, ms. */
const RETRY_MS = 1_000;

/** Loads each key once at a time. A missing value is never kept, so what was just created is found at once. */
export class Cache<Value> {
  private readonly kept = new Map<string, Kept<Value>>();
  private readonly loading = new Map<string, Promise<Value | undefined>>();

  constructor(
    private readonly load: (key: string) => Promise<Value | undefined>,
    private readonly options: CacheOptions,
    private readonly nowMs: () => number = Date.now,
  ) {}

  /** The value of a key, or `undefined` when there is none. Throws what the load throws. */
  async get(key: string): Promise<Value | undefined> {
    const kept = this.kept.get(key);
    if (kept !== undefined && kept.freshUntilMs > this.nowMs()) return kept.value;
    let loading = this.loading.get(key);
    if (loading === undefined) {
      loading = this.reload(key, kept);
      this.loading.set(key, loading);
    }
    return kept === undefined ? loading : this.hurry(key, loading, kept);
  }

  /** The new value if it comes soon, else the old one. */
  private async hurry(
    key: string,
    loading: Promise<Value | undefined>,
    last: Kept<Value>,
  ): Promise<Value | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Value>((resolve) => {
      timer = setTimeout(() => {
        this.serveOn(key, last);
        resolve(last.value);
      }, PATIENCE_MS);
    });
    try {
      return await Promise.race([loading, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets an old value serve a while longer, unless it was dropped or a new one has come. */
  private serveOn(key: string, last: Kept<Value>): void {
    if (this.kept.get(key) !== last) return;
    this.kept.set(key, { value: last.value, freshUntilMs: this.nowMs() + RETRY_MS });
  }

  /** Forgets a key; a load that is under way does not bring the old value back. */
  drop(key: string): void {
    this.kept.delete(key);
    this.loading.delete(key);
  }

  /** Forgets every key whose value matches. */
  dropWhere(matches: (value: Value) => boolean): void {
    this.loading.clear();
    for (const [key, { value }] of this.kept) if (matches(value)) this.kept.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    this.kept.clear();
    this.loading.clear();
  }

  private async reload(key: string, last: Kept<Value> | undefined): Promise<Value | undefined> {
    // Yielding first lets `get` register this load, which `drop` has to be able to find.
    await Promise.resolve();
    const own = this.loading.get(key);
    try {
      const value = await this.load(key);
      if (own !== undefined && this.loading.get(key) === own) this.keep(key, value);
      return value;
    } catch (error) {
      if (last === undefined || !this.options.unreachable(error)) throw error;
      this.serveOn(key, last);
      return last.value;
    } finally {
      if (this.loading.get(key) === own) this.loading.delete(key);
    }
  }

  private keep(key: string, value: Value | undefined): void {
    this.kept.delete(key);
    if (value === undefined) return;
    this.kept.set(key, { value, freshUntilMs: this.nowMs() + this.options.ttlMs });
    if (this.kept.size <= this.options.maxEntries) return;
    const oldest = this.kept.keys().next();
    if (oldest.done !== true) this.kept.delete(oldest.value);
  }
}
