/** Which live worker gets which partition, the same on every worker without asking anybody. */

import { createHash } from "node:crypto";

/**
 * The partitions of one worker by rendezvous hashing: a worker that comes or goes moves only its own share.
 * A worker that is not in `live` gets none.
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
