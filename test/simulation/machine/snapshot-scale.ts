/**
 * A simulation lasts seconds, in which no actor would ever be due for a snapshot. So while one runs, the decision
 * when to take one, and how much to keep for readers that resume, is made on a small scale.
 */

import { SnapshotPolicy } from "../../../stream/runtime/snapshot-policy.js";

const SNAPSHOT_ENTRIES = 12;
const RESUME_ENTRIES = 10;

/** Gives back what puts things as they were. */
export function onSmallScale(): () => void {
  const plain = { ...Object.getOwnPropertyDescriptors(SnapshotPolicy.prototype) };
  SnapshotPolicy.prototype.snapshotDue = function due(seq) {
    return seq - this.snapshotSeq >= SNAPSHOT_ENTRIES;
  };
  SnapshotPolicy.prototype.resumeFrom = (seq) => Math.max(1, seq - RESUME_ENTRIES);
  return () => {
    const { snapshotDue, resumeFrom } = plain;
    Object.defineProperties(SnapshotPolicy.prototype, { snapshotDue, resumeFrom });
  };
}
