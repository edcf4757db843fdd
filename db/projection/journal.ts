/** The part of the log that the projector needs. */

import { byPartition, partitionOf, type ActorId } from "../../actors/actor.js";
import { idOfLog } from "../../stream/log/installation.js";
import { entriesAfter, lineageAt, NOWHERE, type Position } from "../../stream/log/lineage.js";
import type { Log } from "../../stream/log/log.js";
import type { Logger } from "../../stream/log/logger.js";
import { continues, parseEntry } from "../../stream/log/packing.js";
import type { LogTail } from "../../stream/log/tail.js";
import type { Entry } from "../../stream/log/ports.js";
import { actorOf } from "../../stream/runtime/actors.js";
import type { Archive } from "../../stream/runtime/removal/removal.js";
import { loadState } from "../../stream/runtime/recovery.js";

/** The history of an actor after one of its entries. */
export interface History {
  /** State of the actor at `head`. */
  readonly state: unknown;
  readonly head: Position;
  /** Lineage of the entry after which this history begins. */
  readonly lineage: string;
  /**
   * Engine time at which the actor last emitted a delta up to that entry (Unix ms): no later entry is older. 0 when the log
   * does not have it any more.
   */
  readonly sinceTs: number;
  /** The entries up to `head`. Throws when some of them are no longer in the log. */
  entries(): AsyncIterable<readonly Entry[]>;
}

/** The position of an actor in the log. */
export interface JournalHead extends Position {
  /** Seq of the last entry that is marked as projected. */
  readonly projected: number;
}

/** The partitions of a feed, and the positions after which it emits the entries of their actors. */
export interface Followed {
  readonly partitions: readonly string[];
  readonly cursors: ReadonlyMap<ActorId, Position>;
  /** Returns the positions of actors that are not among the cursors. */
  readonly positionsOf: (actors: readonly ActorId[]) => Promise<ReadonlyMap<ActorId, Position>>;
}

export interface Feed {
  /** Forgets the positions of actors that are silent; see `Followed.positionsOf`. */
  forget(actors: readonly ActorId[]): void;
  stop(): Promise<void>;
}

/** The log, as the projector needs it. */
export interface Journal {
  /**
   * Emits the entries of every actor of some partitions, each actor's in order after its position. Waits for the promise that `onEntries`
   * returns before it emits more. `onStop` names an actor that is no longer followed, because its log has no entry that
   * follows its position, or the next one cannot be read for the given reason.
   */
  followAll(
    followed: Followed,
    onEntries: (entries: readonly Entry[]) => Promise<void>,
    onStop: (actor: ActorId, unreadable?: Error) => void,
  ): Feed;
  /** Returns the actors of some partitions that are in the log. */
  actors(partitions: readonly string[]): Promise<readonly ActorId[]>;
  /** Returns the position of each actor after the last entry of its log. */
  heads(actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, JournalHead>>;
  /** Returns the id of the log, `undefined` for a log without one. */
  logId(): Promise<string | undefined>;
  /** Returns the history of an actor after the entry `seq`, 0 for all of it. */
  historyAfter(actor: ActorId, seq: number): Promise<History>;
  /** Reports to the log which entries the tables have, so that it may trim them. */
  markProjected(seqs: ReadonlyMap<ActorId, Position>): Promise<void>;
}

const PAGE_ENTRIES = 500;

/** Makes a journal of the log and its tail, which the caller closes. `archive` has the states of removed actors. */
export function journalOf(log: Log, tail: LogTail, logger: Logger, archive?: Pick<Archive, "read">): Journal {
  return {
    followAll: (followed, onEntries, onStop) =>
      tail.everyActor({ ...followed, onEntries, onGap: (actor) => onStop(actor), onUnreadable: onStop }),
    markProjected: (cursors) => tail.projected([...cursors].map(([actor, { seq }]) => [actor, seq] as const)),
    async actors(partitions) {
      return (await Promise.all(partitions.map((partition) => log.actors(partition)))).flat();
    },
    async heads(actors) {
      const found = new Map<ActorId, JournalHead>();
      for (const [partition, members] of byPartition(actors)) {
        const heads = await log.heads(partition, members);
        members.forEach((actor, index) => found.set(actor, heads[index] ?? { ...NOWHERE, projected: 0 }));
      }
      return found;
    },
    logId: () => idOfLog(log),
    async historyAfter(actor, seq) {
      const { state, ...head } = await loadState({ log, actorOf, logger, archive }, actor);
      return {
        state,
        head,
        lineage: lineageAt(head, seq),
        sinceTs: await timeOf(log, actor, seq),
        entries: () => readEntries(log, actor, { seq, lineage: lineageAt(head, seq) }, head),
      };
    },
  };
}

/**
 * Returns the engine time of the last batch up to an entry, 0 when the log does not have it any more. An entry has no batch
 * when it only answers, as a refusal does.
 */
async function timeOf(log: Log, actor: ActorId, seq: number): Promise<number> {
  let last = seq;
  while (last > 0) {
    const afterSeq = Math.max(0, last - PAGE_ENTRIES);
    const reads = [{ partition: partitionOf(actor), actor, afterSeq }];
    const [found] = await log.readEntries(reads, last - afterSeq);
    const stored = (found?.entries ?? []).filter((entry) => entry.seq <= last);
    if (stored.length === 0) return 0;
    const batches = stored.flatMap((entry) => parseEntry(actor, entry).batches);
    const ts = batches.at(-1)?.ts;
    if (ts !== undefined) return ts;
    last = afterSeq;
  }
  return 0;
}

async function* readEntries(
  log: Log,
  actor: ActorId,
  from: Position,
  head: Position,
): AsyncGenerator<readonly Entry[]> {
  let { seq } = from;
  let left = entriesAfter(from, head);
  while (left > 0) {
    const reads = [{ partition: partitionOf(actor), actor, afterSeq: seq }];
    const [found] = await log.readEntries(reads, Math.min(left, PAGE_ENTRIES));
    // The log has only entries of this actor, so their deltas are of its type.
    const entries = (found?.entries ?? []).map((stored) => parseEntry(actor, stored) as unknown as Entry);
    const [first] = entries;
    if (first === undefined || !continues(first, seq))
      throw new Error(`${actor}: the log has lost the entries after ${seq}`);
    yield entries;
    seq = entries.at(-1)?.seq ?? seq;
    left -= entries.length;
  }
}
