/**
 * Long work on an event loop, such as serializing lists of thousands of rows. It runs in pieces, with pauses between them,
 * in which the short requests of everybody else are served.
 */

import { Unavailable } from "../log/ports.js";

/** Pause after pieces, as a multiple of their time: all pieces together take a third of the event loop at most. */
const PAUSE = 2;
/** Time of pieces that run without a pause, in ms; no timer is finer. */
const AT_ONCE_MS = 1;
/** Time that an owner gets for a work, as a multiple of its length: the works of an owner take a tenth of the time. */
const SPACING = 10;
/** Time by which an owner may be ahead of that share when its next work begins, and its longest rest, in ms. */
const AHEAD_MS = 1_000;
const MAX_REST_MS = 1_000;

/** Bounds of the wait for a turn. */
export interface Bounds {
  /** Number of works of the owner that may run and wait. */
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

/** Runs the pieces of one work. */
export interface WorkPieces extends Pieces {
  /** Pauses for a time in ms, which does not count as time that the work takes. */
  rest(ms: number): Promise<void>;
}

/** Works of one owner. */
interface Line {
  /** Starts of the works that wait, in order. */
  readonly waiting: Set<() => void>;
  isRunning: boolean;
  /** Time that the last work took without the pieces of other owners, in ms. */
  lastMs: number;
  /** End of the time that the owner has got for its works so far, on the clock of `performance.now()`. */
  spentUntilMs: number;
  /** Calls `#advance` when the owner has rested. */
  timer?: NodeJS.Timeout;
}

/** Runs the long works of an event loop: one at a time for each owner, and one piece at a time for all of them. */
export class LongWork implements Pieces {
  /** Lines of the owners with a work, or with a rest to come. */
  readonly #lines = new Map<string, Line>();
  #pieces: Promise<void> = Promise.resolve();
  /** Time of the pieces since the last pause, in ms. */
  #unpausedMs = 0;

  /** Returns the number of works of an owner that run or wait. */
  lengthOf(owner: string): number {
    const line = this.#lines.get(owner);
    return line === undefined ? 0 : line.waiting.size + (line.isRunning ? 1 : 0);
  }

  /** Number of owners that are known. */
  get owners(): number {
    return this.#lines.size;
  }

  /**
   * Runs a work after the earlier ones of its owner. Works of 100 ms in all run without a rest; an owner who goes on rests
   * between them, so that one owner keeps no other process, such as a database, busy all the time. Throws `NotBegun`.
   */
  async run<Result>(
    owner: string,
    bounds: Bounds,
    work: (pieces: WorkPieces) => Promise<Result>,
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
    const rest = async (ms: number): Promise<void> => {
      const askedMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, ms));
      waitedMs += performance.now() - askedMs;
    };
    try {
      return await work({ piece, rest });
    } finally {
      const nowMs = performance.now();
      line.lastMs = Math.max(0, nowMs - beganMs - waitedMs);
      const spentUntilMs = Math.max(nowMs, line.spentUntilMs) + SPACING * line.lastMs;
      line.spentUntilMs = Math.min(nowMs + AHEAD_MS + MAX_REST_MS, spentUntilMs);
      line.isRunning = false;
      this.#advance(owner, line);
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
    const line = this.#lines.get(owner) ?? {
      waiting: new Set(),
      isRunning: false,
      lastMs: 0,
      spentUntilMs: 0,
    };
    const before = this.lengthOf(owner);
    const aheadMs = Math.max(0, line.spentUntilMs - performance.now());
    const eachMs = Math.min(SPACING * line.lastMs, line.lastMs + MAX_REST_MS);
    const expectedMs = Math.max(before * line.lastMs, aheadMs + before * eachMs - AHEAD_MS);
    if (before >= most || expectedMs > waitMs)
      throw new NotBegun(`${before} earlier works are in progress or wait`);
    this.#lines.set(owner, line);
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
      this.#advance(owner, line);
    });
    return line;
  }

  /** Starts the next work of an owner when the owner has rested. Forgets an owner without one who has nothing to rest for. */
  #advance(owner: string, line: Line): void {
    clearTimeout(line.timer);
    if (line.isRunning) return;
    const [start] = line.waiting;
    const restMs = line.spentUntilMs - performance.now() - (start === undefined ? 0 : AHEAD_MS);
    if (restMs > 0) line.timer = setTimeout(() => this.#advance(owner, line), restMs);
    else if (start === undefined) this.#lines.delete(owner);
    else {
      line.isRunning = true;
      start();
    }
  }

  async #pause(): Promise<void> {
    if (this.#unpausedMs < AT_ONCE_MS) return;
    const pauseMs = PAUSE * this.#unpausedMs;
    this.#unpausedMs = 0;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
