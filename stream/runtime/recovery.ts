/** Brings an actor back from the log: its latest sound snapshot and the entries after it. */

import type { ActorId } from "../../actors/actor.js";
import type { Head, Log } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { CorruptLog } from "../log/packing.js";
import { type AnyActor, Instance } from "./instance.js";

const PAGE = 500;
const LOAD_TRIES = 3;

/** The actor as the log has it now. Throws `CorruptLog` like `recover`. */
export async function loadActor(
  log: Log,
  partition: string,
  actor: AnyActor,
  id: ActorId,
  logger: Logger,
): Promise<{ readonly instance: Instance; readonly head: Head }> {
  for (let tries = 1; ; tries += 1) {
    const [head] = await log.heads(partition, [id]);
    if (head === undefined) throw new Error(`no head of ${id}`);
    try {
      return { instance: await recover(log, partition, actor, id, head, logger), head };
    } catch (error) {
      // Its entries may have been trimmed meanwhile, after a newer snapshot.
      if (tries === LOAD_TRIES) throw error;
    }
  }
}

/**
 * The actor as of `head`, or later when its owner goes on meanwhile. A snapshot whose hash is wrong is passed over
 * for the one before it, and that for the very first entry. Throws `CorruptLog` when what is needed is not there or
 * does not fold; that is for people to mend.
 */
export async function recover(
  log: Log,
  partition: string,
  actor: AnyActor,
  id: ActorId,
  head: Head,
  logger: Logger,
): Promise<Instance> {
  const instance = await latestSnapshot(log, partition, actor, id, head, logger);
  while (instance.seq < head.seq) {
    const [found] = await log.readEntries([{ partition, actor: id, afterSeq: instance.seq }], PAGE);
    if (found === undefined || found.gap) {
      throw new CorruptLog(`${id}: the entries after ${instance.seq} are gone, and it stands at ${head.seq}`);
    }
    for (const entry of found.entries) orCorrupt(id, () => instance.fold(entry));
  }
  return instance;
}

async function latestSnapshot(
  log: Log,
  partition: string,
  actor: AnyActor,
  id: ActorId,
  head: Head,
  logger: Logger,
): Promise<Instance> {
  const kept: ("latest" | "previous")[] = [];
  if (head.snapshot > 0) kept.push("latest");
  if (head.previous > 0) kept.push("previous");
  for (const which of kept) {
    const snapshot = await log.readSnapshot(partition, id, which);
    try {
      if (snapshot !== undefined) return orCorrupt(id, () => Instance.restore(actor, id, snapshot));
      throw new CorruptLog(`the ${which} snapshot of ${id} is missing`);
    } catch (error) {
      if (!(error instanceof CorruptLog)) throw error;
      logger.error({ err: error, actor: id, which }, "a snapshot cannot be used, going further back");
    }
  }
  return Instance.create(actor, id);
}

/** Whatever goes wrong in folding what the log has says that it does not fit the code. */
function orCorrupt<T>(id: ActorId, fold: () => T): T {
  try {
    return fold();
  } catch (error) {
    if (error instanceof CorruptLog) throw error;
    throw new CorruptLog(`what the log has of ${id} does not fold`, { cause: error });
  }
}
