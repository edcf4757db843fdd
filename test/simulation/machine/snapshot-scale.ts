/**
 * Scales the snapshot policy down. A simulation lasts seconds, in which no actor would reach its first snapshot. While a
 * simulation runs, snapshots are therefore taken after few entries, and few entries are kept for readers that resume.
 */

import { SnapshotPolicy } from "../../../stream/runtime/snapshot-policy.js";

const SNAPSHOT_ENTRIES = 12;
const RESUME_ENTRIES = 10;

/** Replaces the snapshot policy. Returns the function that restores it. */
export function scaleDownSnapshots(): () => void {
  const originals = { ...Object.getOwnPropertyDescriptors(SnapshotPolicy.prototype) };
  SnapshotPolicy.prototype.snapshotDue = function due(seq) {
    return seq - this.snapshotSeq >= SNAPSHOT_ENTRIES;
  };
  SnapshotPolicy.prototype.resumeFrom = (seq) => Math.max(1, seq - RESUME_ENTRIES);
  return () => {
    const { snapshotDue, resumeFrom } = originals;
    Object.defineProperties(SnapshotPolicy.prototype, { snapshotDue, resumeFrom });
  };
}
