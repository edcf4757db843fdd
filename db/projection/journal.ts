/** The log as the projector sees it. */

import { partitionOf, type ActorId } from "../../actors/actor.js";
import type { Log } from "../../stream/log/log.js";
import type { LogTail } from "../../stream/log/tail.js";
import type { Journal } from "./projector.js";

/** Joins the log and its tail to what the projector needs. Both belong to the caller. */
export function journalOf(log: Log, tail: LogTail): Journal {
  return {
    followAll: (cursors, onEntries, onGap) => tail.everyActor({ cursors, onEntries, onGap }),
    markProjected: (seqs) => tail.projected(seqs),
    async heads(actors) {
      const byPartition = new Map<string, ActorId[]>();
      for (const actor of actors) {
        const partition = partitionOf(actor);
        const known = byPartition.get(partition);
        if (known === undefined) byPartition.set(partition, [actor]);
        else known.push(actor);
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
