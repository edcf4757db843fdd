/**
 * Removal of actors that have nothing left to do, and their restoration. The log keeps the positions of a removed actor,
 * and an archive its last snapshot. Whoever finds a removed actor with messages restores it; the actor then goes on with
 * its next seq.
 */

import { type ActorId, partitionOf, PARTITIONS } from "../../../actors/actor.js";
import type { Log, StoredActor } from "../../log/log.js";
import { CorruptLog, parseSnapshot, partHash } from "../../log/packing.js";

/** Place of the last snapshots of removed actors. A snapshot stays there under its hash. */
export interface Archive {
  /** Keeps a snapshot for good; resolves when it is stored and reads back as it was given. */
  keep(actor: ActorId, stored: StoredActor): Promise<void>;
  /** Returns the snapshot of an actor with this hash. */
  read(actor: ActorId, hash: string): Promise<StoredActor | undefined>;
  /** Records that an actor is removed with this snapshot, or, with `undefined`, that it is about to be restored. */
  mark(actor: ActorId, removed: string | undefined): Promise<void>;
  /** Returns those of some actors that are recorded as removed. */
  removedOf(actors: readonly ActorId[]): Promise<readonly ActorId[]>;
}

type RemovalLog = Pick<Log, "heads" | "readStored" | "removeActor" | "restoreActor" | "wanted">;

/**
 * Keeps the latest snapshot of an actor in the archive and removes the actor. Returns false for an actor that still has
 * something to do, or whose owner has not stored a sound snapshot of its last entry yet.
 */
export async function removeActor(log: RemovalLog, archive: Archive, actor: ActorId): Promise<boolean> {
  const partition = partitionOf(actor);
  const [head] = await log.heads(partition, [actor]);
  if (head === undefined || head.seq === 0) return false;
  if (head.removed === undefined) {
    if (head.snapshot < head.seq || head.projected < head.seq || head.relayed < head.seq) return false;
    const stored = await log.readStored(partition, actor);
    if (stored === undefined || !isSound(actor, stored)) return false;
    await archive.keep(actor, stored);
    if (!(await log.removeActor(partition, actor, stored.snapshot.hash))) return false;
    await recordRemoval(log, archive, actor, stored.snapshot.hash);
  } else {
    // An earlier removal ended before it was recorded.
    await recordRemoval(log, archive, actor, head.removed);
  }
  return true;
}

/** Records the removal of an actor, unless it has been restored meanwhile. */
async function recordRemoval(
  log: RemovalLog,
  archive: Archive,
  actor: ActorId,
  removed: string,
): Promise<void> {
  await archive.mark(actor, removed);
  const [head] = await log.heads(partitionOf(actor), [actor]);
  if (head?.removed === undefined) await archive.mark(actor, undefined);
}

/** Returns false for a damaged snapshot. The log still has the one before it, and the entries since. */
function isSound(actor: ActorId, { snapshot, parts }: StoredActor): boolean {
  try {
    parseSnapshot(actor, snapshot);
  } catch (error) {
    if (error instanceof CorruptLog) return false;
    throw error;
  }
  return parts.every(({ hash, body }) => partHash(body) === hash);
}

/** Restores a removed actor. Does nothing for one that is not removed. Throws when the archive lacks its snapshot. */
export async function restoreActor(log: RemovalLog, archive: Archive, actor: ActorId): Promise<void> {
  const partition = partitionOf(actor);
  const [head] = await log.heads(partition, [actor]);
  if (head?.removed === undefined) return;
  const stored = await readRemoved(archive, actor, head.removed);
  await archive.mark(actor, undefined);
  await log.restoreActor(partition, actor, stored);
  // The removal may have been recorded since.
  await archive.mark(actor, undefined);
}

/** Restores the removed actors that have received messages, whose senders could not do it. Throws after the last one. */
export async function restoreWanted(log: RemovalLog, archive: Archive): Promise<void> {
  const failures: unknown[] = [];
  for (const actor of await log.wanted(PARTITIONS)) {
    try {
      await restoreActor(log, archive, actor);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "some removed markets cannot be restored");
}

/**
 * Records the restoration of actors that the log has although they are recorded as removed: a power loss of the log has
 * undone their removal. They are removed again later, like any restored actor.
 */
export async function findUndoneRemovals(
  log: Pick<Log, "actors" | "heads">,
  archive: Archive,
): Promise<void> {
  for (const partition of PARTITIONS) {
    const undone = await archive.removedOf(await log.actors(partition));
    const heads = await log.heads(partition, undone);
    // A removed actor with messages is among the actors of the log too.
    for (const [index, actor] of undone.entries())
      if (heads[index]?.removed === undefined) await archive.mark(actor, undefined);
  }
}

/** Returns the last snapshot of a removed actor. Throws when the archive does not have it. */
export async function readRemoved(
  archive: Pick<Archive, "read">,
  actor: ActorId,
  hash: string,
): Promise<StoredActor> {
  const stored = await archive.read(actor, hash);
  if (stored === undefined) throw new Error(`the archive has no snapshot ${hash} of ${actor}`);
  return stored;
}
