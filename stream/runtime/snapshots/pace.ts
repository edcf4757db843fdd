/** Slows work in the background down, so that it does not hold up the requests of others on the same cores. */

import { performance } from "node:perf_hooks";

/** Time of work after which there is a rest, in ms: half of the time for which Linux leaves a core to a thread. */
const WORK_MS = 2;
/** Length of a rest, as a multiple of the work before it. */
const REST = 3;
/** Longest rest, in ms. */
const MAX_REST_MS = 30;

export class Pace {
  readonly #isHurried: () => boolean;
  #workedMs = busyMs();
  #restedMs = 0;

  /** There are no rests while `isHurried`. */
  constructor(isHurried: () => boolean) {
    this.#isHurried = isHurried;
  }

  /** Sum of all rests in ms. */
  get restedMs(): number {
    return this.#restedMs;
  }

  /** Rests if the thread has worked for long enough since the last rest. Waits of its event loop are no work. */
  async rest(): Promise<void> {
    const workMs = busyMs() - this.#workedMs;
    if (workMs < WORK_MS) return;
    if (!this.#isHurried()) {
      const beganMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, Math.min(REST * workMs, MAX_REST_MS)));
      this.#restedMs += performance.now() - beganMs;
    }
    this.#workedMs = busyMs();
  }
}

/** Time for which the event loop of this thread has been busy, in ms. */
function busyMs(): number {
  return performance.eventLoopUtilization().active;
}
