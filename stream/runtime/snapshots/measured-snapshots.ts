/** Snapshots with figures for the report of the worker. */

import type { Clock } from "../../log/clock.js";
import type { SnapshotRequest, Snapshots, SnapshotTaken } from "./snapshots.js";

/** Time over which the largest and the longest snapshot are reported, in ms. */
const WINDOW_MS = 600_000;

export class MeasuredSnapshots implements Snapshots {
  readonly #snapshots: Snapshots;
  readonly #clock: Clock;
  #taken = 0;
  #writtenBytes = 0;
  /** Snapshots within the window, oldest first. */
  #recent: { readonly atMs: number; readonly taken: SnapshotTaken }[] = [];

  constructor(snapshots: Snapshots, clock: Clock) {
    this.#snapshots = snapshots;
    this.#clock = clock;
  }

  async take(request: SnapshotRequest): Promise<SnapshotTaken | undefined> {
    const taken = await this.#snapshots.take(request);
    if (taken === undefined) return undefined;
    this.#taken += 1;
    this.#writtenBytes += taken.writtenBytes;
    this.#recent.push({ atMs: this.#clock.monotonic(), taken });
    this.#forget();
    return taken;
  }

  hurry(isForMove: boolean): void {
    this.#snapshots.hurry(isForMove);
  }

  #forget(): void {
    const oldest = this.#clock.monotonic() - WINDOW_MS;
    const first = this.#recent.findIndex(({ atMs }) => atMs >= oldest);
    if (first !== 0) this.#recent = first === -1 ? [] : this.#recent.slice(first);
  }

  /** Returns the figures by the names of `FIGURES` in `stream/services/process-reports.ts`. */
  figures() {
    this.#forget();
    const recent = this.#recent.map(({ taken }) => taken);
    return {
      snapshots_total: this.#taken,
      snapshot_written_bytes_total: this.#writtenBytes,
      snapshot_bytes: recent.reduce((most, { bytes }) => Math.max(most, bytes), 0),
      snapshot_seconds: recent.reduce((most, { durationMs }) => Math.max(most, durationMs), 0) / 1_000,
    };
  }

  close(): Promise<void> {
    return this.#snapshots.close();
  }
}
