/** Reads earlier entries of an actor through the `Tail` port, which otherwise delivers the entries to come. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, Entry, Tail } from "../log/ports.js";
import { PAGE_ENTRIES, Unavailable } from "../log/ports.js";

/** Number of entries that are read at once: a page of the tail, because the tail reads no less. */
const WINDOW = PAGE_ENTRIES;
/** Pause after a window as a multiple of its time, and the longest one in ms. */
const REST = 2;
const MAX_REST_MS = 50;
/** Maximum number of entries that are read back. A resume from before them is answered with a snapshot. */
const MAX_ENTRIES_BACK = 20_000;
/** Time after which a resume is answered with a snapshot instead, in ms. */
export const RESUME_MS = 10_000;
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

interface Waiting {
  /** Number of entries that the reader has read. */
  readonly depth: number;
  readonly start: () => void;
}

/**
 * The turns of all readers of an event loop: one window at a time, with a rest after each, in which the loop serves others.
 * The reader that has read least comes first, so that nobody with a short way back waits for those with a long one.
 */
export class WindowTurns {
  readonly #rest: (ms: number) => Promise<unknown>;
  readonly #waiting = new Set<Waiting>();
  #isTaken = false;

  constructor(rest: (ms: number) => Promise<unknown> = sleep) {
    this.#rest = rest;
  }

  /** Resolves with true when a reader at this depth has its turn, which it must end; with false after `waitMs`. */
  take(depth: number, waitMs: number): Promise<boolean> {
    if (waitMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const end = (isTurn: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve(isTurn);
      };
      const waiting: Waiting = { depth, start: () => end(true) };
      this.#waiting.add(waiting);
      if (Number.isFinite(waitMs)) timer = setTimeout(() => end(false), waitMs);
      this.#next();
    });
  }

  /** Ends a turn of this length. The next one begins after a rest. */
  async end(tookMs: number): Promise<void> {
    await this.#rest(Math.min(MAX_REST_MS, REST * tookMs));
    this.#isTaken = false;
    this.#next();
  }

  #next(): void {
    if (this.#isTaken) return;
    let least: Waiting | undefined;
    for (const waiting of this.#waiting) if (waiting.depth < (least?.depth ?? Infinity)) least = waiting;
    if (least === undefined) return;
    this.#isTaken = true;
    least.start();
  }
}

/** The turns of this process, whose readers share its event loop. */
const TURNS = new WindowTurns();

/** Runs a piece of the work that follows a reading, in a turn of its own and before those of the readers. */
export async function inTurn<Result>(piece: () => Result, turns = TURNS): Promise<Result> {
  await turns.take(0, Infinity);
  const beganMs = performance.now();
  try {
    return piece();
  } finally {
    void turns.end(performance.now() - beganMs);
  }
}

/**
 * Yields the entries of an actor through `throughSeq` in windows, the latest one first, until the first entry of the actor,
 * or until no older ones are left, or for `mostMs` (default without end). A window that reaches into trimmed entries is
 * narrowed to those that remain. Throws `Unavailable`.
 */
export async function* lookBack<Delta extends AnyDelta>(
  tail: Tail,
  actor: ActorId,
  throughSeq: number,
  { mostMs = Infinity, turns = TURNS }: { readonly mostMs?: number; readonly turns?: WindowTurns } = {},
): AsyncGenerator<readonly Entry<Delta>[]> {
  const endMs = performance.now() + mostMs;
  let depth = 0;
  let furthest = Math.min(throughSeq, MAX_ENTRIES_BACK);
  let isTrimmed = false;
  while (depth < furthest) {
    const next = isTrimmed ? Math.ceil((depth + furthest) / 2) : Math.min(furthest, depth + WINDOW);
    if (!(await turns.take(depth, endMs - performance.now()))) return;
    const beganMs = performance.now();
    try {
      const entries = await readEntries<Delta>(tail, actor, throughSeq - next, throughSeq - depth);
      if (entries === undefined) {
        isTrimmed = true;
        furthest = next - 1;
      } else {
        depth = next;
        yield entries;
      }
    } finally {
      // A turn contains the work of the caller with the entries.
      void turns.end(performance.now() - beganMs);
    }
  }
}
