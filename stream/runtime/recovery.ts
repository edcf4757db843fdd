/** Recovery of an actor from the log: its latest sound snapshot, and the entries after it. */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Position } from "../log/lineage.js";
import type { Head, Log } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { continues, CorruptLog, NewerFormat, parseEntry } from "../log/packing.js";
import { type ActorOf, Instance } from "./instance.js";

export interface RecoveryPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly logger: Logger;
}

const PAGE_ENTRIES = 500;
const MAX_TRIES = 3;

/**
 * Returns the state of an actor and its position, at the head of the log or later. To miss no entry, a reader follows
 * the actor first and then ignores the entries up to this seq. The caller may change the state.
 */
export async function loadState(
  ports: RecoveryPorts,
  id: ActorId,
): Promise<Position & { readonly state: unknown }> {
  const { instance, lineage } = await loadActor(ports, partitionOf(id), id);
  return { state: instance.state, seq: instance.seq, lineage };
}

/** Recovers an actor, and returns the head from which it was recovered. Throws `CorruptLog` like `recover`. */
export async function loadActor(
  ports: RecoveryPorts,
  partition: string,
  id: ActorId,
): Promise<{ readonly instance: Instance; readonly head: Head; readonly lineage: string }> {
  for (let tries = 1; ; tries += 1) {
    const [head] = await ports.log.heads(partition, [id]);
    if (head === undefined) throw new Error(`the log returned no head of ${id}`);
    try {
      return { ...(await recover(ports, partition, id, head)), head };
    } catch (error) {
      // After a newer snapshot, entries may have been trimmed between the reads.
      if (tries === MAX_TRIES) throw error;
    }
  }
}

/**
 * Recovers an actor as of `head`, or later when its owner commits meanwhile. A snapshot with a wrong hash is replaced
 * by the previous one, and that by the first entry. Throws `CorruptLog` when entries are missing or do not fold; an
 * operator must then repair the log. Throws `NewerFormat` when a snapshot or an entry is of a newer build.
 */
async function recover(
  ports: RecoveryPorts,
  partition: string,
  id: ActorId,
  head: Head,
): Promise<{ readonly instance: Instance; readonly lineage: string }> {
  let { lineage } = head;
  const instance = await latestSnapshot(ports, partition, id, head);
  while (instance.seq < head.seq) {
    const reads = [{ partition, actor: id, afterSeq: instance.seq }];
    const [found] = await ports.log.readEntries(reads, PAGE_ENTRIES);
    const first = found?.entries[0];
    if (found === undefined || first === undefined || !continues(parseEntry(id, first), instance.seq)) {
      throw new CorruptLog(`${id}: the entries after ${instance.seq} are missing; the last is ${head.seq}`);
    }
    for (const stored of found.entries) {
      const { seq, resumed } = orCorrupt(id, () => instance.fold(stored));
      if (seq > head.seq && resumed !== undefined) lineage = resumed.lineage;
    }
  }
  return { instance, lineage };
}

/** Restores the latest sound snapshot, or creates the actor when there is none. */
async function latestSnapshot(
  ports: RecoveryPorts,
  partition: string,
  id: ActorId,
  head: Head,
): Promise<Instance> {
  const { log, actorOf, logger } = ports;
  const kept: ("latest" | "previous")[] = [];
  if (head.snapshot > 0) kept.push("latest");
  if (head.previous > 0) kept.push("previous");
  for (const which of kept) {
    const snapshot = await log.readSnapshot(partition, id, which);
    try {
      if (snapshot !== undefined) return orCorrupt(id, () => Instance.restore(actorOf(id), id, snapshot));
      throw new CorruptLog(`the ${which} snapshot of ${id} is missing`);
    } catch (error) {
      if (!(error instanceof CorruptLog) || error instanceof NewerFormat) throw error;
      logger.error({ err: error, actor: id, which }, "a snapshot cannot be used; an earlier one is tried");
    }
  }
  return Instance.create(actorOf(id), id);
}

/** Rethrows any error while folding an entry or restoring a snapshot as `CorruptLog`. */
function orCorrupt<T>(id: ActorId, fold: () => T): T {
  try {
    return fold();
  } catch (error) {
    if (error instanceof CorruptLog) throw error;
    throw new CorruptLog(`the log of ${id} does not fold`, { cause: error });
  }
}
