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
  /** Called before each piece of work (default nothing). */
  readonly rest?: (() => Promise<void>) | undefined;
}

/** Entries of the first page, and of a page of small entries. */
const FIRST_ENTRIES = 50;
const MAX_ENTRIES = 500;
/** Approximate bytes of a page, so that the event loop can turn between two pages. */
const PAGE_BYTES = 128 * 1024;
/** Parts of a snapshot that are read at once, and pages of them that are read ahead, so that few turns of a busy loop pass. */
const PAGE_PARTS = 8;
const PAGES_AHEAD = 8;
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
      // After newer snapshots, entries or parts may have been removed between the reads.
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
    await rest?.();
    for (const entry of entries) {
      const { seq, resumed } = orCorrupt(id, () => instance.fold(entry));
      if (seq > head.seq && resumed !== undefined) lineage = resumed.lineage;
    }
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
      const [now] = await log.heads(partition, [id]);
      // Two newer snapshots remove the parts of one that is being read, so that nothing is known against it.
      if (now?.snapshot !== head.snapshot) throw error;
      logger.error({ err: error, actor: id, which }, "a snapshot cannot be used; an earlier one is tried");
    }
  }
  return { instance: Instance.create(ports.actorOf(id), id), parts: [] };
}

/** Restores an actor from a snapshot. Throws `CorruptLog` when a part is missing, or a hash is wrong. */
async function restoreSnapshot(
  { log, actorOf, rest }: PartPorts & Pick<RecoveryPorts, "actorOf">,
  partition: string,
  id: ActorId,
  snapshot: Snapshot,
): Promise<Recovered> {
  const { seq, cursor } = snapshot;
  const parsed = parseSnapshot(id, snapshot);
  const saved = parsed.saved as SavedWhole | SavedParts;
  const origin = { seq, cursor, format: parsed.format };
  if (!("parts" in saved))
    return {
      instance: orCorrupt(id, () => Instance.restoreWhole(actorOf(id), id, origin, saved)),
      parts: [],
    };
  const builder = Instance.restore(actorOf(id), id, origin, saved.lastTs);
  const named = PART_KINDS.flatMap((kind) => saved.parts[kind].map((hash) => ({ kind, hash })));
  const hashes = named.map(({ hash }) => hash);
  for await (const { index, body } of storedParts({ log, rest }, partition, id, hashes)) {
    const { kind, hash } = rowAt(named, index);
    if (body === undefined || partHash(body) !== hash)
      throw new CorruptLog(`part ${index} of the snapshot of ${id} at ${seq} is not sound`);
    orCorrupt(id, () => builder.add(kind, body));
  }
  return { instance: orCorrupt(id, () => builder.finish()), parts: hashes };
}

/**
 * Returns those of the stored parts that match their hashes. Two snapshots may share a part only if it is sound, because
 * a damaged part must leave one of them usable.
 */
export async function soundParts(
  ports: PartPorts,
  partition: string,
  id: ActorId,
  hashes: readonly string[],
): Promise<readonly string[]> {
  const sound: string[] = [];
  for await (const { index, body } of storedParts(ports, partition, id, hashes))
    if (body !== undefined && partHash(body) === hashes[index]) sound.push(rowAt(hashes, index));
  return sound;
}

type PartPorts = Pick<RecoveryPorts, "rest"> & { readonly log: Pick<Log, "readParts"> };

/** Yields the stored parts with these hashes in order, without a body those that are missing. Rests before each. */
async function* storedParts(
  { log, rest }: PartPorts,
  partition: string,
  id: ActorId,
  hashes: readonly string[],
): AsyncGenerator<{ readonly index: number; readonly body: string | undefined }> {
  const read = (from: number): Promise<readonly (string | undefined)[]> => {
    const page = log.readParts(partition, id, hashes.slice(from, from + PAGE_PARTS));
    // A part that is not sound ends the restoration; a later failure of this read has then no other reader.
    page.catch(() => undefined);
    return page;
  };
  const pages: Promise<readonly (string | undefined)[]>[] = [];
  let [index, next] = [0, 0];
  do {
    for (; next < hashes.length && pages.length < PAGES_AHEAD; next += PAGE_PARTS) pages.push(read(next));
    for (const body of (await pages.shift()) ?? []) {
      await rest?.();
      yield { index, body };
      index += 1;
    }
  } while (pages.length > 0);
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
