/** Reading what an actor said before now, through the same port that says what it says next. */

import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, Entry, Tail } from "../log/ports.js";
import { Unavailable } from "../log/ports.js";

const FIRST_WINDOW = 256;
const WINDOW_GROWTH = 8;
/** The furthest back that is looked for anything; a resume from before it gets a snapshot. */
export const MAX_ENTRIES_BACK = 20_000;
const READ_TIMEOUT_MS = 5_000;

/** The entries after `afterSeq` up to `throughSeq`, or `undefined` when some are no longer there. */
export function readEntries<Delta extends AnyDelta>(
  tail: Tail,
  actor: ActorId,
  afterSeq: number,
  throughSeq: number,
): Promise<readonly Entry<Delta>[] | undefined> {
  if (throughSeq <= afterSeq) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const found: Entry<Delta>[] = [];
    const over = new AbortController();
    const end = (): void => {
      over.abort();
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Unavailable(`the history of ${actor} did not arrive`));
    }, READ_TIMEOUT_MS);
    const stop = tail.follow<Delta>(
      actor,
      afterSeq,
      (entries) => {
        if (over.signal.aborted) return;
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
    // The tail may have told everything while it was being asked to.
    if (over.signal.aborted) stop();
    else over.signal.addEventListener("abort", stop);
  });
}

/** What was found looking back: entries in order, and whether `enough` was satisfied by them. */
export interface LookBack<Delta> {
  readonly entries: readonly Entry<Delta>[];
  readonly complete: boolean;
}

/**
 * Looks back from `throughSeq` in growing windows until the entries are `enough`, the actor's first one is reached
 * (then `enough` decides once more), or there are no more. Where a window reaches into what is trimmed, it is narrowed
 * down to what is not.
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
