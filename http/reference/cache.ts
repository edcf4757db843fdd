/** Cache of values from Postgres, with a time to live and invalidation. */

/** Cached value. Whoever asks for it after `freshUntilMs` waits for a new one. */
interface Entry<Value> {
  readonly value: Value;
  readonly freshUntilMs: number;
  /** Time from which on a use has the value reloaded ahead; `Infinity` when one has. */
  reloadAtMs: number;
}

/** Settings of a cache. */
export interface CacheOptions {
  readonly ttlMs: number;
  readonly maxEntries: number;
  /**
   * Time in ms for which a missing value stays missing (default 0). Only for keys that nobody can know before their value
   * exists, or whose creation is announced by `drop`.
   */
  readonly missTtlMs?: number | undefined;
  /**
   * Returns true for an error of a load that means that the source cannot be reached. The cache then keeps serving the
   * old value: a source that cannot be read cannot be changed either, and trading continues while Postgres is down.
   */
  readonly unreachable: (error: unknown) => boolean;
}

/** Longest wait for a new value while an old one is cached, in ms. After it the old value is served. */
const RELOAD_WAIT_MS = 500;
/** Time for which the old value is served before another attempt to reach the source, in ms. */
const RETRY_MS = 1_000;
/**
 * Shares of the time to live between which a value in use is reloaded ahead, each at a time of its own: nobody waits for it
 * then, and values that were loaded together are not reloaded together.
 */
const AHEAD = { from: 0.5, to: 0.9 };

/**
 * Runs at most one load of a key at a time. A missing value is not cached unless the options say so, and a value is found
 * as soon as it is created.
 */
export class Cache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();
  /** Times until which keys count as missing, the oldest first. */
  private readonly misses = new Map<string, number>();
  private readonly loading = new Map<string, Promise<Value | undefined>>();

  constructor(
    private readonly load: (key: string) => Promise<Value | undefined>,
    private readonly options: CacheOptions,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** Returns the value of a key, or `undefined` when there is none. Throws the errors of the load. */
  async get(key: string): Promise<Value | undefined> {
    const entry = this.entries.get(key);
    if (entry !== undefined && entry.freshUntilMs > this.nowMs()) {
      if (entry.reloadAtMs <= this.nowMs()) this.reloadAhead(key, entry);
      return entry.value;
    }
    if ((this.misses.get(key) ?? 0) > this.nowMs()) return undefined;
    const loading = this.loading.get(key) ?? this.startLoading(key, entry);
    return entry === undefined ? loading : this.loadedOrOld(key, loading, entry);
  }

  private startLoading(key: string, last: Entry<Value> | undefined): Promise<Value | undefined> {
    const loading = this.reload(key, last);
    this.loading.set(key, loading);
    return loading;
  }

  /** Reloads a value that is still fresh. After a failure it is reloaded when it is no longer fresh. */
  private reloadAhead(key: string, entry: Entry<Value>): void {
    entry.reloadAtMs = Infinity;
    if (!this.loading.has(key)) this.startLoading(key, entry).catch(() => undefined);
  }

  /** Returns the value that is cached, and whether it is fresh. */
  peek(key: string): { readonly value: Value; readonly isFresh: boolean } | undefined {
    const entry = this.entries.get(key);
    return entry && { value: entry.value, isFresh: entry.freshUntilMs > this.nowMs() };
  }

  /** Returns the new value if it is loaded in time, else the old one. */
  private async loadedOrOld(
    key: string,
    loading: Promise<Value | undefined>,
    last: Entry<Value>,
  ): Promise<Value | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Value>((resolve) => {
      timer = setTimeout(() => {
        this.extend(key, last);
        resolve(last.value);
      }, RELOAD_WAIT_MS);
    });
    try {
      return await Promise.race([loading, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Serves an old value for a while longer, unless it was dropped or a new one was loaded. */
  private extend(key: string, last: Entry<Value>): void {
    if (this.entries.get(key) !== last) return;
    const freshUntilMs = Math.max(last.freshUntilMs, this.nowMs() + RETRY_MS);
    this.entries.set(key, { value: last.value, freshUntilMs, reloadAtMs: Infinity });
  }

  /** Drops a key; a load in progress does not bring the old value back. */
  drop(key: string): void {
    this.entries.delete(key);
    this.misses.delete(key);
    this.loading.delete(key);
  }

  /** Drops every key whose value matches. */
  dropWhere(matches: (value: Value) => boolean): void {
    this.loading.clear();
    this.misses.clear();
    for (const [key, entry] of this.entries) {
      if (matches(entry.value)) this.entries.delete(key);
      // The load ahead that was in progress is discarded.
      else if (entry.reloadAtMs === Infinity) entry.reloadAtMs = 0;
    }
  }

  /** Drops every key. */
  clear(): void {
    this.entries.clear();
    this.misses.clear();
    this.loading.clear();
  }

  private async reload(key: string, last: Entry<Value> | undefined): Promise<Value | undefined> {
    // `get` registers this load during the yield, and `drop` finds it there.
    await Promise.resolve();
    const own = this.loading.get(key);
    try {
      const value = await this.load(key);
      if (own !== undefined && this.loading.get(key) === own) this.store(key, value);
      return value;
    } catch (error) {
      if (last === undefined || !this.options.unreachable(error)) throw error;
      this.extend(key, last);
      return last.value;
    } finally {
      if (this.loading.get(key) === own) this.loading.delete(key);
    }
  }

  private store(key: string, value: Value | undefined): void {
    const { ttlMs, maxEntries, missTtlMs = 0 } = this.options;
    this.entries.delete(key);
    this.misses.delete(key);
    if (value !== undefined) {
      const loadedMs = this.nowMs();
      const ahead = AHEAD.from + Math.random() * (AHEAD.to - AHEAD.from);
      this.entries.set(key, {
        value,
        freshUntilMs: loadedMs + ttlMs,
        reloadAtMs: loadedMs + ahead * ttlMs,
      });
      dropOldest(this.entries, maxEntries);
    } else if (missTtlMs > 0) {
      this.misses.set(key, this.nowMs() + missTtlMs);
      dropOldest(this.misses, maxEntries);
    }
  }
}

/** Drops the oldest entry of a map that has become larger than `maxEntries`. */
function dropOldest(map: Map<string, unknown>, maxEntries: number): void {
  if (map.size <= maxEntries) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
