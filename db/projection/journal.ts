/** The part of the log that the projector needs. */

import { partitionOf, type ActorId } from "../../actors/actor.js";
import type { Log } from "../../stream/log/log.js";
import type { LogTail } from "../../stream/log/tail.js";
import type { Entry } from "../../stream/log/ports.js";

/** The log, as the projector needs it. */
export interface Journal {
  /**
   * Emits the entries of every actor, each actor's in order after the seq that `afterSeq` has for it. Waits for the
   * promise that `onEntries` returns before it emits more. `onStop` names an actor whose next entries were trimmed, or cannot be read
   * for the given reason; the actor is no longer followed.
   */
  followAll(
    afterSeq: ReadonlyMap<ActorId, number>,
    onEntries: (entries: readonly Entry[]) => Promise<void>,
    onStop: (actor: ActorId, unreadable?: Error) => void,
  ): { stop(): Promise<void> };
  /** Returns the seq of the last entry of each actor's log, 0 for none. */
  heads(actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, number>>;
  /** Reports to the log which entries the tables have, so that it may trim them. */
  markProjected(seqs: ReadonlyMap<ActorId, number>): Promise<void>;
}

/** Makes a journal of the log and its tail, which the caller closes. */
export function journalOf(log: Log, tail: LogTail): Journal {
  return {
    followAll: (cursors, onEntries, onStop) =>
      tail.everyActor({ cursors, onEntries, onGap: (actor) => onStop(actor), onUnreadable: onStop }),
    markProjected: (seqs) => tail.projected(seqs),
    async heads(actors) {
      const byPartition = new Map<string, ActorId[]>();
      for (const actor of actors) {
        const partition = partitionOf(actor);
        const members = byPartition.get(partition);
        if (members === undefined) byPartition.set(partition, [actor]);
        else members.push(actor);
      }
      const found = new Map<ActorId, number>();
      for (const [partition, members] of byPartition) {
        const heads = await log.heads(partition, members);
        members.forEach((actor, index) => found.set(actor, heads[index]?.seq ?? 0));
      }
      return found;
    },
  };
}
