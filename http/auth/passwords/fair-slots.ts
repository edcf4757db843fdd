/** Few tasks at a time, in fair turns: the sender that has waited longest since its last turn is next. */

import { retryAfter } from "../../edge/headers.js";
import { Refused } from "../../request/errors.js";

/** Turn of a task. */
export interface Turn {
  /** Name under which the tasks of one sender are counted. */
  readonly sender: string;
  /** Larger group of the sender: a sender without a turn so far counts as served when its group was. */
  readonly group?: string;
  /** True for a sender who goes before all that are not preferred. */
  readonly preferred?: boolean;
}

interface Waiter {
  readonly start: () => void;
  readonly refuse: (error: Refused) => void;
}

/** Tasks of one sender that wait, in the order of their arrival. */
interface Line {
  readonly turn: Turn;
  readonly waiters: Waiter[];
}

/** Returns the refusal of a task for which there is no place. */
export function tooManyWait(): Refused {
  return new Refused("UNAVAILABLE", "too many passwords are being checked; try again", {}, retryAfter(1));
}

/** Longest wait of a task in ms: nobody waits for the answer of a later one any more. */
const MAX_WAIT_MS = 4_000;
/** Most tasks of one sender that wait; the turn of a later one would not come in time. */
const LONGEST_LINE = 8;
/** Most senders whose last turns are known; the one served longest ago is forgotten, and counts as new. */
const MAX_SENDERS = 100_000;

/**
 * Runs at most `slots` tasks at once, and lets `places` tasks wait. A free slot goes to the sender that was served least
 * recently, so a sender who comes for the first time waits for no one who has been here before. Of those who come for the
 * first time the newest and the oldest are served in turns: a crowd that waits holds up nobody who comes after it, and one
 * that keeps coming nobody who has waited.
 * The task that would run last is refused with `UNAVAILABLE` while every place is taken, which is a turn of its sender
 * too unless others wait. A sender has a few places at most, so that its tasks do not all give up at the same moment.
 */
export class FairSlots {
  #running = 0;
  #waiting = 0;
  #turns = 0;
  /** True when the newest of equal lines is next. */
  #isNewestNext = true;
  readonly #lines = new Map<string, Line>();
  /** Number of the last turn of each sender, the latest last. */
  readonly #served = new Map<string, number>();

  constructor(
    private readonly slots: number,
    private readonly places: number,
    private readonly maxWaitMs = MAX_WAIT_MS,
  ) {}

  /**
   * Runs a task in its turn. The task may call `rest`, which leaves its slot empty for a time in ms after it. Refuses
   * `UNAVAILABLE` when too many tasks wait that go before it, or when its turn does not come in time.
   */
  async run<T>(turn: Turn, task: (rest: (ms: number) => void) => Promise<T>): Promise<T> {
    if (this.#running < this.slots) {
      this.#running += 1;
      this.#serve(turn);
    } else await this.#wait(turn);
    let restMs = 0;
    try {
      return await task((ms) => {
        restMs = ms;
      });
    } finally {
      if (restMs > 0) setTimeout(() => this.#next(), restMs).unref();
      else this.#next();
    }
  }

  #serve({ sender, group = sender }: Turn): void {
    this.#turns += 1;
    for (const name of new Set([group, sender])) {
      this.#served.delete(name);
      this.#served.set(name, this.#turns);
    }
    for (const longestAgo of this.#served.keys()) {
      if (this.#served.size <= MAX_SENDERS) return;
      this.#served.delete(longestAgo);
    }
  }

  #wait(turn: Turn): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#lines.get(turn.sender) ?? { turn, waiters: [] };
      if (line.waiters.length >= LONGEST_LINE) {
        reject(tooManyWait());
        return;
      }
      const limit = setTimeout(() => this.#giveUp(line, waiter), this.maxWaitMs);
      const waiter: Waiter = {
        start: () => {
          clearTimeout(limit);
          resolve();
        },
        refuse: (error) => {
          clearTimeout(limit);
          reject(error);
        },
      };
      line.waiters.push(waiter);
      this.#lines.set(turn.sender, line);
      this.#waiting += 1;
      if (this.#waiting > this.places) this.#refuseLast();
    });
  }

  #giveUp(line: Line, waiter: Waiter): void {
    line.waiters.splice(line.waiters.indexOf(waiter), 1);
    this.#left(line);
    waiter.refuse(tooManyWait());
  }

  #refuseLast(): void {
    const lines = [...this.#lines.values()];
    const behind = lines.reduce((one, other) => (this.#isBefore(one, other) ? other : one));
    const equals = lines.filter((line) => !this.#isBefore(line, behind));
    // Turns go from both ends of equal lines to their middle.
    const last = equals[Math.floor((equals.length - (this.#isNewestNext ? 1 : 0)) / 2)] ?? behind;
    last.waiters.pop()?.refuse(tooManyWait());
    // Otherwise those who come again at once after each refusal would stay before a sender who comes for the first time.
    if (last.waiters.length === 0) this.#serve(last.turn);
    this.#left(last);
  }

  /** Returns whether a line is served before another; of two senders without a turn so far, the one with fewer tasks. */
  #isBefore(one: Line, other: Line): boolean {
    const difference = this.#rankOf(one.turn) - this.#rankOf(other.turn);
    return difference === 0 ? one.waiters.length < other.waiters.length : difference < 0;
  }

  #rankOf({ sender, group = sender, preferred = false }: Turn): number {
    return preferred ? -1 : (this.#served.get(sender) ?? this.#served.get(group) ?? 0);
  }

  /** Passes the slot of a finished task on. */
  #next(): void {
    const lines = [...this.#lines.values()];
    const lowest = Math.min(...lines.map(({ turn }) => this.#rankOf(turn)));
    const equals = lines.filter(({ turn }) => this.#rankOf(turn) === lowest);
    const line = equals.at(this.#isNewestNext ? -1 : 0);
    if (line === undefined) {
      this.#running -= 1;
      return;
    }
    if (equals.length > 1) this.#isNewestNext = !this.#isNewestNext;
    const waiter = line.waiters.shift();
    this.#left(line);
    this.#serve(line.turn);
    waiter?.start();
  }

  /** Counts a task that has left its line. */
  #left({ turn, waiters }: Line): void {
    this.#waiting -= 1;
    if (waiters.length === 0) this.#lines.delete(turn.sender);
  }
}
