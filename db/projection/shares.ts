/**
 * The shares of several projectors. All actors are in 16 groups. A projector owns a group while its connection holds the
 * advisory lock of the group, and it owns no more groups than its part of all.
 */

import { type ActorId, partitionOf, PARTITIONS } from "../../actors/actor.js";
import { PROJECTOR_GROUPS } from "../locks.js";

/** Returns the group of a partition. The partitions of one kind are dealt evenly. */
function groupOfPartition(partition: string): number {
  return Number(partition.slice(1)) % PROJECTOR_GROUPS;
}

/** Returns true when an actor belongs to one of the groups. */
export function isInGroups(groups: ReadonlySet<number>, actor: ActorId): boolean {
  return groups.has(groupOfPartition(partitionOf(actor)));
}

/** Returns the partitions of groups. */
export function partitionsOf(groups: ReadonlySet<number>): readonly string[] {
  return PARTITIONS.filter((partition) => groups.has(groupOfPartition(partition)));
}

/** Returns the most groups that one of several projectors owns. */
export function quotaOf(projectors: number): number {
  return Math.ceil(PROJECTOR_GROUPS / Math.max(1, projectors));
}
