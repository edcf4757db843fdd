/** Reads earlier entries of an actor through the `Tail` port, which otherwise delivers the entries to come. */

import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, Entry, Tail } from "../log/ports.js";
import { Unavailable } from "../log/ports.js";

const FIRST_WINDOW = 256;
const WINDOW_GROWTH = 8;
/** Maximum number of entries that are read back. A resume from before them is answered with a snapshot. */
const MAX_ENTRIES_BACK = 20_000;
const READ_TIMEOUT_MS = 5_000;

/**
 * Returns the entries after `afterSeq` through `throughSeq`, or `undefined` when some were trimmed. Throws
 * `Unavailable` after 5 s.
 */
function readEntries<Delta extends AnyDelta>(
  tail: Tail,
  actor: ActorId,
  afterSeq: number,
  throughSeq: number,
): Promise<readonly Entry<Delta>[] | undefined> {
  if (throughSeq <= afterSeq) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const found: Entry<Delta>[] = [];
    const done = new AbortController();
    const end = (): void => {
      done.abort();
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Unavailable(`the log did not return the history of ${actor} in time`));
    }, READ_TIMEOUT_MS);
    const stop = tail.follow<Delta>(
      actor,
      afterSeq,
      (entries) => {
        if (done.signal.aborted) return;
        for (const entry of entries) if (entry.seq <= throughSeq) found.push(entry);
        if (found.at(-1)?.seq !== throughSeq) return;
        end();
        resolve(found);
      },
      () => {
        end();
        resolve(undefined);
      },
    );
    // The tail may have delivered all entries before `follow` returned.
    if (done.signal.aborted) stop();
    else done.signal.addEventListener("abort", stop);
  });
}

/** Entries that were read back, in order, and whether they satisfied `enough`. */
export interface LookBack<Delta> {
  readonly entries: readonly Entry<Delta>[];
  readonly complete: boolean;
}

/**
 * Reads back from `throughSeq` in growing windows until `enough` accepts the entries, the first entry of the actor is
 * reached (`enough` then decides once more), or no older entries are left. A window that reaches into trimmed entries
 * is narrowed to those that remain.
 */
export async function lookBack<Delta extends AnyDelta>(
  tail: Tail,
  actor: ActorId,
  throughSeq: number,
  enough: (entries: readonly Entry<Delta>[]) => boolean,
): Promise<LookBack<Delta>> {
  let entries: readonly Entry<Delta>[] = [];
  let depth = 0;
  let furthest = Math.min(throughSeq, MAX_ENTRIES_BACK);
  let trimmed = false;
  while (!enough(entries)) {
    if (depth === furthest) return { entries, complete: false };
    const wider = Math.min(furthest, depth === 0 ? FIRST_WINDOW : depth * WINDOW_GROWTH);
    const next = trimmed ? Math.ceil((depth + furthest) / 2) : wider;
    const older = await readEntries<Delta>(tail, actor, throughSeq - next, throughSeq - depth);
    if (older === undefined) {
      trimmed = true;
      furthest = next - 1;
    } else {
      entries = [...older, ...entries];
      depth = next;
    }
  }
  return { entries, complete: true };
}
