/**
 * Later answers for a sender who has many that cost no token, which are refusals and repeats. A client that sends the next
 * request as soon as it has an answer, such as a faulty program, then takes little time from the others.
 */

import { MemoryBuckets, type BucketSize } from "../request/throttle.js";

/** Delay of such an answer, in ms. */
export const SLOW_ANSWER_MS = 200;
/** Most answers that wait at once. One more is sent at once, so that their requests take no more memory. */
const MAX_WAITING = 5_000;

export class Slowdown {
  readonly #atOnce: MemoryBuckets;
  #waiting = 0;

  /** `atOnce` is the rate of answers to a sender that are not delayed. */
  constructor(atOnce: BucketSize) {
    this.#atOnce = new MemoryBuckets(atOnce);
  }

  /** Calls `answer` at once, or later when the sender has had too many such answers. */
  answer(sender: string, answer: () => void): void {
    if (this.#atOnce.charge(sender, 1).granted || this.#waiting >= MAX_WAITING) {
      answer();
      return;
    }
    this.#waiting += 1;
    setTimeout(() => {
      this.#waiting -= 1;
      answer();
    }, SLOW_ANSWER_MS);
  }

  /** Resolves when a sender may have such an answer. */
  wait(sender: string): Promise<void> {
    return new Promise((resolve) => this.answer(sender, resolve));
  }
}
