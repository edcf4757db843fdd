/**
 * Snapshot policy of one actor: when a snapshot is due, and when the actor is idle. All times are monotonic, because engine
 * time may jump.
 */

import type { RetentionLimits } from "./retention.js";
import type { SnapshotTaken } from "./snapshots/snapshots.js";

/** Limits of the policy. A simulation makes them small, so that a short run has snapshots, trims and evictions. */
export interface SnapshotLimits extends RetentionLimits {
  /** A snapshot is due after this many entries. */
  readonly snapshotEntries: number;
  /** A snapshot is also due when the entries since the last one have this size. */
  readonly snapshotBytes: number;
  /**
   * No snapshot begins before this multiple of the time that the last one took with its wait for those before it, without
   * all rests.
   */
  readonly snapshotPause: number;
  /** Size of the entries since the last snapshot at which the next one does not wait, so that recovery stays short. */
  readonly recoveryBytes: number;
  /** A snapshot is also due after this time, when there are at least `snapshotMinEntries` entries since the last. */
  readonly snapshotMs: number;
  /** Number of entries that take longer to fold than a snapshot takes to write. */
  readonly snapshotMinEntries: number;
  /** Size of the entries since the last snapshot at which a new one is taken before the partition moves. */
  readonly moveBytes: number;
  /**
   * Idle time before eviction. Longer than the resume window, so that an evicted actor's old entries can be trimmed.
   */
  readonly idleMs: number;
  /**
   * Actors of a partition that a maintenance round visits in turn, beside those that have committed since the last round. A
   * round comes every second.
   */
  readonly roundActors: number;
}

export const SNAPSHOT_LIMITS: SnapshotLimits = {
  snapshotEntries: 10_000,
  snapshotBytes: 8 * 1024 * 1024,
  snapshotPause: 20,
  recoveryBytes: 48 * 1024 * 1024,
  snapshotMs: 10_000,
  snapshotMinEntries: 500,
  moveBytes: 256 * 1024,
  resumeEntries: 1_000,
  resumeMs: 600_000,
  resumeBytes: 1_073_741_824,
  idleMs: 900_000,
  roundActors: 16,
};

export class SnapshotPolicy {
  readonly #limits: SnapshotLimits;
  #snapshotSeq: number;
  #snapshotAtMs: number;
  #beganAtMs: number;
  #pauseUntilMs = -Infinity;
  #usedAtMs: number;

  constructor(limits: SnapshotLimits, snapshotSeq: number, nowMs: number) {
    this.#limits = limits;
    this.#snapshotSeq = snapshotSeq;
    this.#snapshotAtMs = nowMs;
    this.#beganAtMs = nowMs;
    this.#usedAtMs = nowMs;
  }

  /** Seq of the latest snapshot. */
  get snapshotSeq(): number {
    return this.#snapshotSeq;
  }

  isIdle(nowMs: number): boolean {
    return nowMs - this.#usedAtMs >= this.#limits.idleMs;
  }

  /** Records that the actor has committed an entry. */
  used(nowMs: number): void {
    this.#usedAtMs = nowMs;
  }

  /** Returns true when a snapshot is due, with this many bytes of entries since the last one. */
  snapshotDue(seq: number, bytes: number, nowMs: number): boolean {
    const entries = seq - this.#snapshotSeq;
    const { snapshotEntries, snapshotBytes, snapshotMinEntries, snapshotMs } = this.#limits;
    const isLarge = entries >= snapshotEntries || bytes >= snapshotBytes;
    const isOld = entries >= snapshotMinEntries && nowMs - this.#snapshotAtMs >= snapshotMs;
    if (!isLarge && !isOld) return false;
    return nowMs >= this.#pauseUntilMs || this.isFarBehind(bytes);
  }

  /** True when the next owner would fold so much that a snapshot must not rest. */
  isFarBehind(bytes: number): boolean {
    return bytes >= this.#limits.recoveryBytes;
  }

  /** Records that a snapshot begins. */
  snapshotBegins(nowMs: number): void {
    this.#beganAtMs = nowMs;
  }

  /** Records that the snapshot has ended, which failed without `taken`. */
  snapshotEnds(taken: Pick<SnapshotTaken, "seq" | "restedMs"> | undefined, nowMs: number): void {
    const tookMs = Math.max(0, nowMs - this.#beganAtMs - (taken?.restedMs ?? 0));
    this.#pauseUntilMs = nowMs + this.#limits.snapshotPause * tookMs;
    if (taken === undefined) return;
    this.#snapshotSeq = taken.seq;
    this.#snapshotAtMs = nowMs;
  }
}
