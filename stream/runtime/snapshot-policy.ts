/** Snapshot policy of one actor: when a snapshot is due, and which entries a reader may still resume from. */

/** Limits of the policy. A simulation makes them small, so that a short run has snapshots, trims and evictions. */
export interface SnapshotLimits {
  /** A snapshot is due after this many entries. */
  readonly snapshotEntries: number;
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
  #usedAtMs: number;
  /** The last seq at some moments of the resume window, oldest first. */
  readonly #samples: { readonly atMs: number; readonly seq: number }[];

  constructor(limits: SnapshotLimits, snapshotSeq: number, seq: number, nowMs: number) {
    this.#limits = limits;
    this.#snapshotSeq = snapshotSeq;
    this.#snapshotAtMs = nowMs;
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

  /** Records that the actor has committed an entry. */
  used(seq: number, nowMs: number): void {
    this.#usedAtMs = nowMs;
    const last = this.#samples.at(-1);
    if (last === undefined || nowMs - last.atMs >= this.#limits.resumeMs / SAMPLES) {
      this.#samples.push({ atMs: nowMs, seq });
    }
  }

  snapshotDue(seq: number, nowMs: number): boolean {
    const entries = seq - this.#snapshotSeq;
    const { snapshotEntries, snapshotMinEntries, snapshotMs } = this.#limits;
    if (entries >= snapshotEntries) return true;
    return entries >= snapshotMinEntries && nowMs - this.#snapshotAtMs >= snapshotMs;
  }

  snapshotTaken(seq: number, nowMs: number): void {
    this.#snapshotSeq = seq;
    this.#snapshotAtMs = nowMs;
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
