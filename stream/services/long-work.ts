/**
 * Long work on an event loop, such as serializing lists of thousands of rows. It runs in pieces, with pauses between them,
 * in which the short requests of everybody else are served.
 */

/** Pause after pieces, as a multiple of their time: all pieces together take a third of the event loop at most. */
const PAUSE = 2;
/** Time of pieces that run without a pause, in ms; no timer is finer. */
const AT_ONCE_MS = 1;
/** Longest rest of an owner after a work, in ms. */
const MAX_REST_MS = 500;

/** Works of one owner. */
interface Line {
  /** Number of works that run, rest or wait. */
  length: number;
  /** Resolves when the last work of the line has rested. */
  end: Promise<void>;
}

/** Runs the long works of an event loop: one at a time for each owner, and one piece at a time for all of them. */
export class LongWork {
  readonly #lines = new Map<string, Line>();
  #pieces: Promise<void> = Promise.resolve();
  /** Time of the pieces since the last pause, in ms. */
  #unpausedMs = 0;

  /** Returns the number of works of an owner that run, rest or wait. */
  lengthOf(owner: string): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  /**
   * Runs a work after the earlier ones of its owner. The owner then rests as long as the work took, so that one owner
   * keeps no other process, such as a database, busy all the time.
   */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(owner) ?? { length: 0, end: Promise.resolve() };
    this.#lines.set(owner, line);
    const before = line.end;
    let end = (): void => undefined;
    line.length += 1;
    line.end = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    const beganMs = performance.now();
    try {
      return await work();
    } finally {
      const restMs = Math.min(MAX_REST_MS, performance.now() - beganMs);
      setTimeout(() => {
        line.length -= 1;
        if (line.length === 0) this.#lines.delete(owner);
        end();
      }, restMs);
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

  async #pause(): Promise<void> {
    if (this.#unpausedMs < AT_ONCE_MS) return;
    const pauseMs = PAUSE * this.#unpausedMs;
    this.#unpausedMs = 0;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
