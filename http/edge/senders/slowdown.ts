/**
 * Pace of the answers that cost their sender no token, which are refusals and repeats. A client that sends the next request
 * as soon as it has an answer, such as a faulty program, then takes little time from the others.
 */

import type { BucketSize } from "../../request/throttle.js";

/** Longest wait of an answer, in ms. Further requests of a sender whose answers wait this long are refused at the edge. */
export const LONGEST_WAIT_MS = 2_000;
/** Most answers that wait at once. One more is sent at once, so that their requests take no more memory. */
const MAX_WAITING = 5_000;

export class Slowdown {
  readonly #spacingMs: number;
  readonly #aheadMs: number;
  /** Times by which the answers of each sender have used up its rate, in ms, in the order of their last change. */
  readonly #usedUntil = new Map<string, number>();
  #waiting = 0;

  /** `pace`: answers to a sender a second, and the most of them at once. */
  constructor({ capacity, refillPerSec }: BucketSize) {
    this.#spacingMs = 1_000 / refillPerSec;
    this.#aheadMs = capacity * this.#spacingMs;
  }

  /**
   * Calls `answer` at the pace of the sender: at once, or after at most `LONGEST_WAIT_MS`, and by `untilMs`
   * (`performance.now()`).
   */
  answer(sender: string, answer: () => void, untilMs = Infinity): void {
    const now = performance.now();
    const usedUntil = Math.max(now, this.#usedUntil.get(sender) ?? now) + this.#spacingMs;
    const waitMs = usedUntil - this.#aheadMs - now;
    this.#usedUntil.delete(sender);
    this.#usedUntil.set(sender, Math.min(usedUntil, now + this.#aheadMs + LONGEST_WAIT_MS));
    this.#forget(now);
    this.#later(Math.min(waitMs, LONGEST_WAIT_MS, untilMs - now), answer);
  }

  /**
   * Calls `refuse` after the longest wait to twice as long, so that a client that repeats what is refused does so rarely.
   * The waits differ: requests that came together are not answered, and repeated, together.
   */
  refuse(refuse: () => void): void {
    this.#later(LONGEST_WAIT_MS * (1 + Math.random()), refuse);
  }

  /** Resolves when a sender may have such an answer. */
  wait(sender: string): Promise<void> {
    return new Promise((resolve) => this.answer(sender, resolve));
  }

  /** Returns whether a further answer to the sender would wait longer than the longest wait. */
  isFull(sender: string): boolean {
    const usedUntil = this.#usedUntil.get(sender);
    const now = performance.now();
    return usedUntil !== undefined && usedUntil + this.#spacingMs > now + this.#aheadMs + LONGEST_WAIT_MS;
  }

  #later(ms: number, answer: () => void): void {
    if (ms <= 0 || this.#waiting >= MAX_WAITING) {
      answer();
      return;
    }
    this.#waiting += 1;
    setTimeout(() => {
      this.#waiting -= 1;
      answer();
    }, ms);
  }

  /** Drops the least recently changed senders that have their whole rate again. */
  #forget(now: number): void {
    for (const [sender, usedUntil] of this.#usedUntil) {
      if (usedUntil > now) return;
      this.#usedUntil.delete(sender);
    }
  }
}
