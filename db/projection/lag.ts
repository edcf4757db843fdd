/** The time from the decisions of actors to their rows. */

import type { Clock } from "../../stream/log/clock.js";
import type { Entry } from "../../stream/log/ports.js";

/**
 * Measures how late the rows of a projector are: in engine time, and since it began to write them, because the decisions of
 * an actor are dated ahead of engine time after that was set back.
 */
export class ProjectionLag {
  readonly #time: Pick<Clock, "now" | "monotonic">;
  #longestMs = 0;
  /** Engine time of the oldest decision that is being written. */
  #writingTs: number | undefined;
  #begunMs = 0;

  constructor(time: Pick<Clock, "now" | "monotonic">) {
    this.#time = time;
  }

  /** Begins to write entries. They are late from now on, also while an attempt to write them fails. */
  begin(entries: readonly Entry[]): void {
    this.#begunMs = this.#time.monotonic();
    this.#writingTs = Math.min(...entries.map(({ batches }) => batches[0]?.ts ?? Infinity));
  }

  /** Ends the writing of the entries of the last `begin`. */
  end(): void {
    this.#longestMs = Math.max(this.#longestMs, this.writingMs());
    this.forget();
  }

  /** Forgets the entries of the last `begin`, which another projector may write. */
  forget(): void {
    this.#writingTs = undefined;
  }

  /** Returns the longest time in ms from a decision to its rows since the last call. */
  takeMs(): number {
    const lagMs = Math.max(this.#longestMs, this.writingMs());
    this.#longestMs = 0;
    return lagMs;
  }

  /** Returns the age in ms of the oldest decision that is being written, 0 when none is. */
  writingMs(): number {
    if (this.#writingTs === undefined) return 0;
    return Math.max(this.#time.now() - this.#writingTs, this.#time.monotonic() - this.#begunMs);
  }
}
