/** The time and the timers of the runtime, as ports, so that a simulation can control both. */

import { setImmediate } from "node:timers/promises";

export interface Clock {
  /** Returns the time (Unix ms). */
  now(): number;
  /** Returns the time since an arbitrary moment, in ms. Unlike `now`, it never steps. */
  monotonic(): number;
  /** Calls once after `ms`. The returned function cancels the call. */
  after(ms: number, call: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` on the given clock. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}

/** Work that blocks the event loop, in slices between which the event loop turns. */
export interface Slices {
  /** True when the slice has taken its time. */
  readonly isOver: boolean;
  /** True when the slice has taken twice its time. */
  readonly isLate: boolean;
  /** Begins a slice, after the work has waited for something else. */
  begin(): void;
  /** Lets the event loop turn, and begins the next slice. */
  next(): Promise<void>;
}

/** Default length of a slice, in ms. A slice ends at the first place after it at which the work can be divided. */
const SLICE_MS = 3;

/** Slices of a length of time. The first one begins at once. */
export class TimeSlices implements Slices {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #ms: number;
  #endMs = 0;

  constructor(clock: Pick<Clock, "monotonic">, ms = SLICE_MS) {
    this.#clock = clock;
    this.#ms = ms;
    this.begin();
  }

  get isOver(): boolean {
    return this.#clock.monotonic() >= this.#endMs;
  }

  get isLate(): boolean {
    return this.#clock.monotonic() >= this.#endMs + this.#ms;
  }

  begin(): void {
    this.#endMs = this.#clock.monotonic() + this.#ms;
  }

  async next(): Promise<void> {
    // Work that began when data came goes on after the first wait before timers run and more data is read.
    await setImmediate();
    await setImmediate();
    this.begin();
  }
}

/** Slices that several tasks share, so that together they block the event loop no longer than one would. */
export class SharedSlices {
  readonly #slices: Slices;
  /** The end of the wait of the task that came last. */
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(slices: Slices) {
    this.#slices = slices;
  }

  /** Resolves when the task may work on: at once within a slice, and otherwise in a slice after those of the tasks before. */
  async turn(): Promise<void> {
    if (!this.#slices.isOver) return;
    this.#lastTurn = this.#lastTurn.then(() => this.#slices.next());
    await this.#lastTurn;
  }
}
