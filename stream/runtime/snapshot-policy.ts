/** When an actor in memory is due for a snapshot, and which of its entries a reader may still want to resume from. */

/** A simulation makes these small, so that a short run has snapshots, trimming and actors that are let go. */
export interface SnapshotLimits {
  /** A snapshot is due after so many entries, */
  readonly snapshotEntries: number;
  /** or after this time, when there are at least so many that folding them takes longer than writing one. */
  readonly snapshotMs: number;
  readonly snapshotMinEntries: number;
  /** Contract section 6: what can be resumed from. An entry has at least one batch. */
  readonly resumeEntries: number;
  readonly resumeMs: number;
  /** Longer than the resume window, so that an actor that is let go can have all its old entries trimmed. */
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

/** How many moments of the resume window are remembered. */
const SAMPLES = 20;

export class SnapshotPolicy {
  readonly #limits: SnapshotLimits;
  #snapshotSeq: number;
  #snapshotAtMs: number;
  #usedAtMs: number;
  /** Which seq was the last at some moments of the last ten minutes, oldest first. */
  readonly #samples: { readonly atMs: number; readonly seq: number }[];

  constructor(limits: SnapshotLimits, snapshotSeq: number, seq: number, nowMs: number) {
    this.#limits = limits;
    this.#snapshotSeq = snapshotSeq;
    this.#snapshotAtMs = nowMs;
    this.#usedAtMs = nowMs;
    this.#samples = [{ atMs: nowMs, seq }];
  }

  get snapshotSeq(): number {
    return this.#snapshotSeq;
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >= this.#limits.idleMs;
  }

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

  /** The first entry of the resume window: whichever of its two limits keeps less. */
  resumeFrom(seq: number, nowMs: number): number {
    const { resumeEntries, resumeMs } = this.#limits;
    while ((this.#samples[1]?.atMs ?? Infinity) <= nowMs - resumeMs) this.#samples.shift();
    const oldest = this.#samples[0];
    const byTime = oldest !== undefined && oldest.atMs <= nowMs - resumeMs ? oldest.seq + 1 : 1;
    return Math.max(byTime, seq - resumeEntries + 1);
  }
}
