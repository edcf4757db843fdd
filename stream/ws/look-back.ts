/** Reads earlier entries of an actor through the `Tail` port, which otherwise delivers the entries to come. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, Entry, Tail } from "../log/ports.js";
import { Unavailable } from "../log/ports.js";

/** Number of entries that are read at once. */
const WINDOW = 256;
/** Pause after a window as a multiple of its time, and the longest one in ms. */
const REST = 2;
const MAX_REST_MS = 50;
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

/**
 * Yields the entries of an actor through `throughSeq` in windows, the latest one first, until the first entry of the actor,
 * or until no older ones are left. A window that reaches into trimmed entries is narrowed to those that remain. Pauses by
 * `rest` between the windows, so that the event loop serves others in between. Throws `Unavailable`.
 */
export async function* lookBack<Delta extends AnyDelta>(
  tail: Tail,
  actor: ActorId,
  throughSeq: number,
  rest: (ms: number) => Promise<unknown> = sleep,
): AsyncGenerator<readonly Entry<Delta>[]> {
  let depth = 0;
  let furthest = Math.min(throughSeq, MAX_ENTRIES_BACK);
  let isTrimmed = false;
  while (depth < furthest) {
    const next = isTrimmed ? Math.ceil((depth + furthest) / 2) : Math.min(furthest, depth + WINDOW);
    const beganMs = performance.now();
    const entries = await readEntries<Delta>(tail, actor, throughSeq - next, throughSeq - depth);
    if (entries === undefined) {
      isTrimmed = true;
      furthest = next - 1;
    } else {
      depth = next;
      yield entries;
    }
    // The time of a window contains the work of the caller with its entries.
    if (depth < furthest) await rest(Math.min(MAX_REST_MS, REST * (performance.now() - beganMs)));
  }
}
