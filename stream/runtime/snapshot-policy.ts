/** Snapshot policy of one actor: when a snapshot is due, and which entries a reader may still resume from. */

/** Limits of the policy. A simulation makes them small, so that a short run has snapshots, trims and evictions. */
export interface SnapshotLimits {
  /** A snapshot is due after this many entries. */
  readonly snapshotEntries: number;
  /** A snapshot is also due when the entries since the last one have this size. */
  readonly snapshotBytes: number;
  /** No snapshot begins before this multiple of the time that the last one took. */
  readonly snapshotPause: number;
  /** Size of the entries since the last snapshot at which the next one does not wait, so that recovery stays short. */
  readonly recoveryBytes: number;
  /** A snapshot is also due after this time, when there are at least `snapshotMinEntries` entries since the last. */
  readonly snapshotMs: number;
  /** Number of entries that take longer to fold than a snapshot takes to write. */
  readonly snapshotMinEntries: number;
  /** Resume window in entries (contract section 6.10). An entry has at least one batch. */
  readonly resumeEntries: number;
  /** Resume window in time (contract section 6.10). */
  readonly resumeMs: number;
  /**
   * Idle time before eviction. Longer than the resume window, so that an evicted actor's old entries can be trimmed.
   */
  readonly idleMs: number;
}

export const SNAPSHOT_LIMITS: SnapshotLimits = {
  snapshotEntries: 10_000,
  snapshotBytes: 8 * 1024 * 1024,
  snapshotPause: 20,
  recoveryBytes: 48 * 1024 * 1024,
  snapshotMs: 30_000,
  snapshotMinEntries: 500,
  resumeEntries: 10_000,
  resumeMs: 600_000,
  idleMs: 900_000,
};

/** Number of moments of the resume window at which the seq is sampled. */
const SAMPLES = 20;

export class SnapshotPolicy {
  readonly #limits: SnapshotLimits;
  #snapshotSeq: number;
  #snapshotAtMs: number;
  /** Size of the entries since the last snapshot, and of those since the snapshot that is being taken began. */
  #bytes = 0;
  #bytesSinceBegin = 0;
  #beganAtMs: number;
  #pauseUntilMs = -Infinity;
  #usedAtMs: number;
  /** The last seq at some moments of the resume window, oldest first. */
  readonly #samples: { readonly atMs: number; readonly seq: number }[];

  constructor(limits: SnapshotLimits, snapshotSeq: number, seq: number, nowMs: number) {
    this.#limits = limits;
    this.#snapshotSeq = snapshotSeq;
    this.#snapshotAtMs = nowMs;
    this.#beganAtMs = nowMs;
    this.#usedAtMs = nowMs;
    this.#samples = [{ atMs: nowMs, seq }];
  }

  /** Seq of the latest snapshot. */
  get snapshotSeq(): number {
    return this.#snapshotSeq;
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >= this.#limits.idleMs;
  }

  /** Size of the entries since the last snapshot, as far as this owner has written them. */
  get bytesSinceSnapshot(): number {
    return this.#bytes;
  }

  /** Records that the actor has committed an entry of this size. */
  used(seq: number, entryBytes: number, nowMs: number): void {
    this.#usedAtMs = nowMs;
    this.#bytes += entryBytes;
    this.#bytesSinceBegin += entryBytes;
    const last = this.#samples.at(-1);
    if (last === undefined || nowMs - last.atMs >= this.#limits.resumeMs / SAMPLES) {
      this.#samples.push({ atMs: nowMs, seq });
    }
  }

  snapshotDue(seq: number, nowMs: number): boolean {
    const entries = seq - this.#snapshotSeq;
    const { snapshotEntries, snapshotBytes, snapshotMinEntries, snapshotMs, recoveryBytes } = this.#limits;
    const isLarge = entries >= snapshotEntries || this.#bytes >= snapshotBytes;
    const isOld = entries >= snapshotMinEntries && nowMs - this.#snapshotAtMs >= snapshotMs;
    if (!isLarge && !isOld) return false;
    return nowMs >= this.#pauseUntilMs || this.#bytes >= recoveryBytes;
  }

  /** Records that a snapshot begins. */
  snapshotBegins(nowMs: number): void {
    this.#beganAtMs = nowMs;
    this.#bytesSinceBegin = 0;
  }

  /** Records that the snapshot has ended: with this seq, or with a failure. */
  snapshotEnds(seq: number | undefined, nowMs: number): void {
    this.#pauseUntilMs = nowMs + this.#limits.snapshotPause * (nowMs - this.#beganAtMs);
    if (seq === undefined) return;
    this.#snapshotSeq = seq;
    this.#snapshotAtMs = nowMs;
    this.#bytes = this.#bytesSinceBegin;
  }

  /** Returns the seq of the first entry of the resume window. Of its two limits, the one that keeps less applies. */
  resumeFrom(seq: number, nowMs: number): number {
    const { resumeEntries, resumeMs } = this.#limits;
    while ((this.#samples[1]?.atMs ?? Infinity) <= nowMs - resumeMs) this.#samples.shift();
    const oldest = this.#samples[0];
    const byTime = oldest !== undefined && oldest.atMs <= nowMs - resumeMs ? oldest.seq + 1 : 1;
    return Math.max(byTime, seq - resumeEntries + 1);
  }
}
