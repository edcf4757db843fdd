/** Recovery of an actor from the log: its latest sound snapshot, and the entries after it. */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import { rowAt } from "../../actors/runs.js";
import type { Position } from "../log/lineage.js";
import type { EntriesOf, Head, Log, Snapshot } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { continues, CorruptLog, NewerFormat, parseEntry, parseSnapshot, partHash } from "../log/packing.js";
import { type Archive, readRemoved } from "./removal/removal.js";
import { type ActorOf, Instance, PART_KINDS, type SavedParts, type SavedWhole } from "./instance.js";

type RecoveryLog = Pick<Log, "heads" | "readSnapshot" | "readParts" | "readEntries">;

export interface RecoveryPorts {
  readonly log: RecoveryLog;
  readonly actorOf: ActorOf;
  readonly logger: Logger;
  /** Called between two pieces of work (default nothing). */
  readonly rest?: (() => Promise<void>) | undefined;
}

/** Entries of the first page, and of a page of small entries. */
const FIRST_ENTRIES = 50;
const MAX_ENTRIES = 500;
/** Approximate bytes of a page, so that the event loop can turn between two pages. */
const PAGE_BYTES = 128 * 1024;
/** Parts of a snapshot that are read at once, for the same reason. */
const PAGE_PARTS = 4;
const MAX_TRIES = 3;

/** Thrown for an actor that was removed: the log has its positions, and an archive its last snapshot. */
export class RemovedActor extends Error {
  override readonly name = "RemovedActor";
  constructor(
    id: ActorId,
    readonly hash: string,
  ) {
    super(`${id} is removed from the log, with the snapshot ${hash}`);
  }
}

/**
 * Returns the state of an actor and its position, at the head of the log or later. To miss no entry, a reader follows
 * the actor first and then ignores the entries up to this seq. The caller may change the state. A removed actor is read
 * from the archive, if there is one, and stays removed.
 */
export async function loadState(
  ports: RecoveryPorts & { readonly archive?: Pick<Archive, "read"> | undefined },
  id: ActorId,
): Promise<Position & { readonly state: unknown }> {
  const partition = partitionOf(id);
  try {
    const { instance, lineage } = await loadActor(ports, partition, id);
    return { state: instance.state, seq: instance.seq, lineage };
  } catch (error) {
    if (!(error instanceof RemovedActor) || ports.archive === undefined) throw error;
    const { snapshot, parts } = await readRemoved(ports.archive, id, error.hash);
    const bodies = new Map(parts.map(({ hash, body }) => [hash, body]));
    const log: Pick<Log, "readParts"> = {
      readParts: (_partition, _actor, hashes) => Promise.resolve(hashes.map((hash) => bodies.get(hash))),
    };
    const { instance } = await restoreSnapshot({ ...ports, log }, partition, id, snapshot);
    const [head] = await ports.log.heads(partition, [id]);
    return { state: instance.state, seq: instance.seq, lineage: head?.lineage ?? "" };
  }
}

/** A recovered actor. */
export interface Recovered {
  readonly instance: Instance;
  /** Hashes of the parts of the snapshot from which it was recovered. All of them are sound. */
  readonly parts: readonly string[];
}

/**
 * Recovers an actor, and returns the head from which it was recovered. Throws `RemovedActor`, and `CorruptLog` like
 * `recover`.
 */
export async function loadActor(
  ports: RecoveryPorts,
  partition: string,
  id: ActorId,
): Promise<Recovered & { readonly head: Head; readonly lineage: string }> {
  for (let tries = 1; ; tries += 1) {
    const [head] = await ports.log.heads(partition, [id]);
    if (head === undefined) throw new Error(`the log returned no head of ${id}`);
    if (head.removed !== undefined) throw new RemovedActor(id, head.removed);
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
): Promise<Recovered & { readonly lineage: string }> {
  const recovered = await latestSnapshot(ports, partition, id, head);
  return { ...recovered, lineage: await catchUp(ports, partition, recovered.instance, head) };
}

/**
 * Folds the entries up to `head`, and those that are committed meanwhile. Reads the next page while it folds one. Returns
 * the lineage of the last one. Throws `CorruptLog` like `recover`.
 */
export async function catchUp(
  { log, rest }: Pick<RecoveryPorts, "rest"> & { readonly log: Pick<Log, "readEntries"> },
  partition: string,
  instance: Instance,
  head: Head,
): Promise<string> {
  const { id } = instance;
  let { lineage } = head;
  let limit = FIRST_ENTRIES;
  const read = async (afterSeq: number): Promise<EntriesOf | undefined> => {
    const [found] = await log.readEntries([{ partition, actor: id, afterSeq }], limit);
    return found;
  };
  let next = instance.seq < head.seq ? read(instance.seq) : undefined;
  while (next !== undefined) {
    const { entries = [] } = (await next) ?? {};
    const [first] = entries;
    if (first === undefined || !continues(parseEntry(id, first), instance.seq))
      throw new CorruptLog(`${id}: the entries after ${instance.seq} are missing; the last is ${head.seq}`);
    const bytes = entries.reduce((sum, { body }) => sum + body.length, 0);
    limit = Math.ceil(Math.min(MAX_ENTRIES, (PAGE_BYTES * entries.length) / Math.max(1, bytes)));
    const lastSeq = entries.at(-1)?.seq ?? head.seq;
    next = lastSeq < head.seq ? read(lastSeq) : undefined;
    // A page that does not fold ends the recovery; a later failure of the read has then no other reader.
    next?.catch(() => undefined);
    for (const entry of entries) {
      const { seq, resumed } = orCorrupt(id, () => instance.fold(entry));
      if (seq > head.seq && resumed !== undefined) lineage = resumed.lineage;
    }
    await rest?.();
  }
  return lineage;
}

/** Restores the latest sound snapshot, or creates the actor when there is none. */
async function latestSnapshot(
  ports: RecoveryPorts,
  partition: string,
  id: ActorId,
  head: Head,
): Promise<Recovered> {
  const { log, logger } = ports;
  const kept: ("latest" | "previous")[] = [];
  if (head.snapshot > 0) kept.push("latest");
  if (head.previous > 0) kept.push("previous");
  for (const which of kept) {
    const snapshot = await log.readSnapshot(partition, id, which);
    try {
      if (snapshot !== undefined) return await restoreSnapshot(ports, partition, id, snapshot);
      throw new CorruptLog(`the ${which} snapshot of ${id} is missing`);
    } catch (error) {
      if (!(error instanceof CorruptLog) || error instanceof NewerFormat) throw error;
      logger.error({ err: error, actor: id, which }, "a snapshot cannot be used; an earlier one is tried");
    }
  }
  return { instance: Instance.create(ports.actorOf(id), id), parts: [] };
}

/** Restores an actor from a snapshot. Throws `CorruptLog` when a part is missing, or a hash is wrong. */
async function restoreSnapshot(
  { log, actorOf, rest }: Pick<RecoveryPorts, "actorOf" | "rest"> & { readonly log: Pick<Log, "readParts"> },
  partition: string,
  id: ActorId,
  snapshot: Snapshot,
): Promise<Recovered> {
  const saved = parseSnapshot(id, snapshot) as SavedWhole | SavedParts;
  if (!("parts" in saved))
    return {
      instance: orCorrupt(id, () => Instance.restoreWhole(actorOf(id), id, snapshot, saved)),
      parts: [],
    };
  const builder = Instance.restore(actorOf(id), id, snapshot, saved.lastTs);
  const named = PART_KINDS.flatMap((kind) => saved.parts[kind].map((hash) => ({ kind, hash })));
  const read = (from: number) =>
    log.readParts(
      partition,
      id,
      named.slice(from, from + PAGE_PARTS).map(({ hash }) => hash),
    );
  let next = read(0);
  for (let from = 0; from < named.length; from += PAGE_PARTS) {
    const parts = await next;
    next = read(from + PAGE_PARTS);
    next.catch(() => undefined);
    for (const [index, part] of parts.entries()) {
      const { kind, hash } = rowAt(named, from + index);
      if (part === undefined || partHash(part) !== hash)
        throw new CorruptLog(`part ${from + index} of the snapshot of ${id} at ${snapshot.seq} is not sound`);
      orCorrupt(id, () => builder.add(kind, part));
    }
    await rest?.();
  }
  return { instance: orCorrupt(id, () => builder.finish()), parts: named.map(({ hash }) => hash) };
}

/**
 * Returns those of the stored parts that match their hashes. Two snapshots may share a part only if it is sound, because
 * a damaged part must leave one of them usable.
 */
export async function soundParts(
  { log, rest }: Pick<RecoveryPorts, "rest"> & { readonly log: Pick<Log, "readParts"> },
  partition: string,
  id: ActorId,
  hashes: readonly string[],
): Promise<readonly string[]> {
  const sound: string[] = [];
  for (let from = 0; from < hashes.length; from += PAGE_PARTS) {
    const page = hashes.slice(from, from + PAGE_PARTS);
    const bodies = await log.readParts(partition, id, page);
    for (const [index, body] of bodies.entries())
      if (body !== undefined && partHash(body) === page[index]) sound.push(partHash(body));
    await rest?.();
  }
  return sound;
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
