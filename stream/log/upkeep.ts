/** When an actor in memory is due for a snapshot, and which of its entries a reader may still want to resume from. */

const SNAPSHOT_ENTRIES = 10_000;
const SNAPSHOT_MS = 30_000;
/** Fewer entries than this are quicker to fold than a snapshot is to write. */
const SNAPSHOT_MIN_ENTRIES = 500;
/** Contract section 6: the last 10,000 batches or 10 minutes can be resumed from. An entry has at least one batch. */
const RESUME_ENTRIES = 10_000;
const RESUME_MS = 600_000;
const SAMPLE_MS = 30_000;

export class Upkeep {
  #snapshotSeq: number;
  #snapshotAtMs: number;
  #usedAtMs: number;
  /** Which seq was the last at some moments of the last ten minutes, oldest first. */
  readonly #samples: { readonly atMs: number; readonly seq: number }[];

  constructor(snapshotSeq: number, seq: number, nowMs: number) {
    this.#snapshotSeq = snapshotSeq;
    this.#snapshotAtMs = nowMs;
    this.#usedAtMs = nowMs;
    this.#samples = [{ atMs: nowMs, seq }];
  }

  get snapshotSeq(): number {
    return this.#snapshotSeq;
  }

  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  used(seq: number, nowMs: number): void {
    this.#usedAtMs = nowMs;
    const last = this.#samples.at(-1);
    if (last === undefined || nowMs - last.atMs >= SAMPLE_MS) this.#samples.push({ atMs: nowMs, seq });
  }

  snapshotDue(seq: number, nowMs: number): boolean {
    const entries = seq - this.#snapshotSeq;
    if (entries >= SNAPSHOT_ENTRIES) return true;
    return entries >= SNAPSHOT_MIN_ENTRIES && nowMs - this.#snapshotAtMs >= SNAPSHOT_MS;
  }

  snapshotTaken(seq: number, nowMs: number): void {
    this.#snapshotSeq = seq;
    this.#snapshotAtMs = nowMs;
  }

  /** The first entry of the resume window: whichever of its two limits keeps less. */
  resumeFrom(seq: number, nowMs: number): number {
    while ((this.#samples[1]?.atMs ?? Infinity) <= nowMs - RESUME_MS) this.#samples.shift();
    const oldest = this.#samples[0];
    const byTime = oldest !== undefined && oldest.atMs <= nowMs - RESUME_MS ? oldest.seq + 1 : 1;
    return Math.max(byTime, seq - RESUME_ENTRIES + 1);
  }
}
