/** Reads earlier entries of an actor, from the latest to the first. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, EarlierEntry, Entry, Tail } from "../log/ports.js";

/** Number of entries of the first window, and of the largest one. */
const FIRST_WINDOW = 8;
const MAX_WINDOW = 256;
/** Size of a window in bytes, which take about 3 ms: entries differ in size by a factor of a thousand. */
const WINDOW_BYTES = 128 * 1024;
/** Pause after a window as a multiple of its time, and the longest one in ms. */
const REST = 2;
const MAX_REST_MS = 50;
/** Maximum number of entries that are read back. A resume from before them is answered with a snapshot. */
const MAX_ENTRIES_BACK = 20_000;
/** Time after which a resume is answered with a snapshot instead, in ms. */
export const RESUME_MS = 10_000;

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
 * or until no older ones are left or one cannot be parsed, or for `mostMs` (default without end). Throws `Unavailable`.
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
  let size = FIRST_WINDOW;
  /** Entries that are read and not yielded. */
  let read: readonly EarlierEntry<Delta>[] = [];
  while (read.length > 0 || depth < furthest) {
    if (!(await turns.take(depth - read.length, endMs - performance.now()))) return;
    const beganMs = performance.now();
    try {
      if (read.length === 0) {
        const next = Math.min(furthest, depth + size);
        const found = await tail.read<Delta>(actor, throughSeq - next, throughSeq - depth);
        if (found === undefined) {
          // Some are trimmed; those that remain are found by halves.
          furthest = next - 1;
          size = Math.ceil((furthest - depth) / 2);
          continue;
        }
        read = found;
        depth = next;
        size = nextSize(found, size);
      }
      const window = lastWindow(read);
      read = read.slice(0, -window.length);
      const entries = window.map(({ parse }) => parse());
      const unreadable = entries.lastIndexOf(undefined);
      yield entries.slice(unreadable + 1).filter((entry) => entry !== undefined);
      if (unreadable >= 0) return;
    } finally {
      // A turn contains the work of the caller with the entries.
      void turns.end(performance.now() - beganMs);
    }
  }
}

/** Returns the number of entries to read after these: twice as many at most, because they may be larger. */
function nextSize(read: readonly EarlierEntry<unknown>[], size: number): number {
  const bytes = read.reduce((sum, entry) => sum + entry.bytes, 0);
  return Math.min(MAX_WINDOW, 2 * size, Math.max(1, Math.floor((read.length * WINDOW_BYTES) / bytes)));
}

/** Returns the last entries that fit into a window, one at least: entries may be much larger than those before them. */
function lastWindow<Delta>(read: readonly EarlierEntry<Delta>[]): readonly EarlierEntry<Delta>[] {
  let bytes = 0;
  let from = read.length;
  for (; from > 0; from -= 1) {
    bytes += read[from - 1]?.bytes ?? 0;
    if (bytes > WINDOW_BYTES && from < read.length) break;
  }
  return read.slice(from);
}
