/** Reads earlier entries of an actor, from the latest to the first. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { AnyDelta, Entry, Tail } from "../log/ports.js";

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
  let size = FIRST_WINDOW;
  while (depth < furthest) {
    const next = Math.min(furthest, depth + size);
    if (!(await turns.take(depth, endMs - performance.now()))) return;
    const beganMs = performance.now();
    try {
      const read = await tail.read<Delta>(actor, throughSeq - next, throughSeq - depth);
      if (read === undefined) {
        furthest = next - 1;
        size = Math.ceil((furthest - depth) / 2);
      } else {
        const fitting = Math.floor(((next - depth) * WINDOW_BYTES) / read.bytes);
        // Twice as many at most, because the entries before these may be larger.
        size = Math.min(MAX_WINDOW, 2 * size, Math.max(1, fitting));
        depth = next;
        yield read.entries;
      }
    } finally {
      // A turn contains the work of the caller with the entries.
      void turns.end(performance.now() - beganMs);
    }
  }
}
