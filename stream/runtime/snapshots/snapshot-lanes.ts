/** Snapshots in two lanes, so that a partition that moves waits for no snapshot of one that stays. */

import type { SnapshotRequest, Snapshots, SnapshotTaken } from "./snapshots.js";

/**
 * Takes the snapshots for moves beside the others. Two snapshots of the same actor may then be taken at once, and each may
 * remove parts that only the other has; the log refuses a snapshot that lacks a part.
 */
export class SnapshotLanes implements Snapshots {
  readonly #moves: Snapshots;
  readonly #others: Snapshots;

  constructor(moves: Snapshots, others: Snapshots) {
    this.#moves = moves;
    this.#others = others;
  }

  take(request: SnapshotRequest): Promise<SnapshotTaken | undefined> {
    return this.#lane(request.isForMove).take(request);
  }

  hurry(isForMove: boolean): void {
    this.#lane(isForMove).hurry(isForMove);
  }

  #lane(isForMove: boolean): Snapshots {
    return isForMove ? this.#moves : this.#others;
  }

  async close(): Promise<void> {
    await Promise.all([this.#moves.close(), this.#others.close()]);
  }
}
