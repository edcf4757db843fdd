/** Assignment of partitions to live workers. Every worker computes the same assignment by itself. */

import { createHash } from "node:crypto";

/**
 * Returns the partitions of one worker by rendezvous hashing, so that a worker that joins or leaves moves only its own
 * share. A worker that is not in `live` gets none.
 */
export function assignedTo(
  worker: string,
  live: readonly string[],
  partitions: readonly string[],
): ReadonlySet<string> {
  return new Set(partitions.filter((partition) => ownerOf(partition, live) === worker));
}

function ownerOf(partition: string, live: readonly string[]): string | undefined {
  let owner: string | undefined;
  let highest = "";
  for (const worker of live) {
    const weight = createHash("sha256").update(`${worker} ${partition}`).digest("hex");
    if (weight > highest) {
      highest = weight;
      owner = worker;
    }
  }
  return owner;
}
