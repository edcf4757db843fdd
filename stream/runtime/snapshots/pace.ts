/** Pace of work that nothing waits for, on cores that others wait for. */

/** Time of work after which there is a rest, in ms. A thread that waits for a core is often given one only that much later. */
const WORK_MS = 2;
/** Length of a rest, as a multiple of the work before it. */
const REST = 3;
/** Longest rest, in ms. */
const MAX_REST_MS = 30;

export class Pace {
  readonly #isHurried: () => boolean;
  #sinceMs = performance.now();

  /** There are no rests while `isHurried`. */
  constructor(isHurried: () => boolean) {
    this.#isHurried = isHurried;
  }

  /** Rests if the work since the last rest was long enough. */
  async rest(): Promise<void> {
    const workedMs = performance.now() - this.#sinceMs;
    if (workedMs < WORK_MS) return;
    if (!this.#isHurried())
      await new Promise((resolve) => setTimeout(resolve, Math.min(REST * workedMs, MAX_REST_MS)));
    this.#sinceMs = performance.now();
  }
}
