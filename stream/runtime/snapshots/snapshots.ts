/** Snapshots of actors, which are taken from the log and not from the memory of the owner. */

import type { ActorId } from "../../../actors/actor.js";
import type { Format } from "../../../actors/format.js";

export interface SnapshotRequest {
  readonly partition: string;
  /** Epoch of the owner, under which the snapshot is written. */
  readonly epoch: number;
  readonly actor: ActorId;
  readonly format: Format;
  /** Engine time of the owner (Unix ms). Answers that have expired by then are left out. */
  readonly nowMs: number;
  /**
   * True when the previous snapshot must be the same as the latest, so that the log needs no entry of the actor but
   * the last.
   */
  readonly both: boolean;
  /** True when the partition waits for the snapshot to move. */
  readonly isForMove: boolean;
  /** False for a snapshot that may rest, because neither a stop nor the bound of the log waits for it. */
  readonly isUrgent: boolean;
}

/** Facts about a snapshot that was taken. */
export interface SnapshotTaken {
  readonly seq: number;
  /** Size of the snapshot. */
  readonly bytes: number;
  /** Size of the parts that the previous snapshot did not have. */
  readonly writtenBytes: number;
  /** Its time without its rests. */
  readonly durationMs: number;
  /** Its rests, and those of the snapshots before it since it was asked for. */
  readonly restedMs: number;
}

export interface Snapshots {
  /**
   * Takes a snapshot of an actor up to its last entry. Resolves with `undefined` when the log refuses the snapshot,
   * because the epoch is fenced, and when the actor has no entry. Rejects when the log fails, and with `CorruptLog` when
   * the entries do not fold.
   */
  take(request: SnapshotRequest): Promise<SnapshotTaken | undefined>;
  /** Lets no snapshot rest that has been asked for, of those for moves or of the others. */
  hurry(isForMove: boolean): void;
  /** Ends the snapshot that is being taken; its promise may reject. */
  close(): Promise<void>;
}
