/**
 * Long work on an event loop, such as serializing lists of thousands of rows. It runs in pieces, with pauses between them,
 * in which the short requests of everybody else are served.
 */

import { Unavailable } from "../log/ports.js";

/** Pause after pieces, as a multiple of their time: all pieces together take a third of the event loop at most. */
const PAUSE = 2;
/** Time of pieces that run without a pause, in ms; no timer is finer. */
const AT_ONCE_MS = 1;
/** Rest of an owner after a work, as a multiple of its time, and its greatest length in ms. */
const REST = 4;
const MAX_REST_MS = 1_000;

/** Bounds of the wait for a turn. */
export interface Bounds {
  /** Number of works of the owner that may run, rest and wait. */
  readonly most: number;
  /** Longest wait for the turn, in ms. */
  readonly waitMs: number;
  /** Aborts when nobody waits for the result any more. */
  readonly signal?: AbortSignal | undefined;
}

/** A work was not begun, because too many works of its owner are before it or because nobody waits for it any more. */
export class NotBegun extends Unavailable {}

/** Runs the pieces of a work. */
export interface Pieces {
  /** Runs one piece of a work, which should take a few ms at most, after the pieces of all works that came before. */
  piece<Result>(piece: () => Result): Promise<Result>;
}

/** Works of one owner. */
interface Line {
  /** Starts of the works that wait, in order. */
  readonly waiting: Set<() => void>;
  /** Time that the last work and its rest took, in ms. */
  lastMs: number;
}

/** Runs the long works of an event loop: one at a time for each owner, and one piece at a time for all of them. */
export class LongWork implements Pieces {
  /** Lines of the owners whose work runs or rests. */
  readonly #lines = new Map<string, Line>();
  #pieces: Promise<void> = Promise.resolve();
  /** Time of the pieces since the last pause, in ms. */
  #unpausedMs = 0;

  /** Returns the number of works of an owner that run, rest or wait. */
  lengthOf(owner: string): number {
    const line = this.#lines.get(owner);
    return line === undefined ? 0 : 1 + line.waiting.size;
  }

  /**
   * Runs a work after the earlier ones of its owner. The owner then rests four times as long as the work took without the pieces
   * of other works, so that one owner keeps no other process, such as a database, busy all the time. Throws `NotBegun`.
   */
  async run<Result>(
    owner: string,
    bounds: Bounds,
    work: (pieces: Pieces) => Promise<Result>,
  ): Promise<Result> {
    const line = await this.#turn(owner, bounds);
    const beganMs = performance.now();
    let waitedMs = 0;
    const piece = async <Value>(run: () => Value): Promise<Value> => {
      const askedMs = performance.now();
      return this.piece(() => {
        waitedMs += performance.now() - askedMs;
        return run();
      });
    };
    try {
      return await work({ piece });
    } finally {
      const tookMs = performance.now() - beganMs;
      const restMs = Math.min(MAX_REST_MS, REST * Math.max(0, tookMs - waitedMs));
      line.lastMs = tookMs + restMs;
      setTimeout(() => this.#next(owner, line), restMs);
    }
  }

  /** Runs one piece of a work, which should take a few ms at most, after the pieces of all works that came before. */
  piece<Result>(piece: () => Result): Promise<Result> {
    const done = this.#pieces.then(() => {
      const beganMs = performance.now();
      try {
        return piece();
      } finally {
        this.#unpausedMs += performance.now() - beganMs;
      }
    });
    const pause = (): Promise<void> => this.#pause();
    this.#pieces = done.then(pause, pause);
    return done;
  }

  /** Waits for the turn of a work. Throws `NotBegun`, at once when the wait is expected to be too long. */
  async #turn(owner: string, { most, waitMs, signal }: Bounds): Promise<Line> {
    if (signal?.aborted === true) throw new NotBegun("nobody waits for the work");
    const line = this.#lines.get(owner);
    if (line === undefined) {
      const started = { waiting: new Set<() => void>(), lastMs: 0 };
      this.#lines.set(owner, started);
      return started;
    }
    const before = this.lengthOf(owner);
    if (before >= most || before * line.lastMs > waitMs)
      throw new NotBegun(`${before} earlier works are in progress or wait`);
    await new Promise<void>((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abandon);
        line.waiting.delete(start);
      };
      const start = (): void => {
        end();
        resolve();
      };
      const abandon = (): void => {
        end();
        reject(new NotBegun("the work was not begun in time"));
      };
      const timer = setTimeout(abandon, waitMs);
      signal?.addEventListener("abort", abandon);
      line.waiting.add(start);
    });
    return line;
  }

  /** Starts the next work of an owner, or forgets an owner without one. */
  #next(owner: string, { waiting }: Line): void {
    const [start] = waiting;
    if (start === undefined) this.#lines.delete(owner);
    else start();
  }

  async #pause(): Promise<void> {
    if (this.#unpausedMs < AT_ONCE_MS) return;
    const pauseMs = PAUSE * this.#unpausedMs;
    this.#unpausedMs = 0;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
