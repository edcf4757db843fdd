/** The time and the timers of the runtime, as a port, so that a simulation can control both. */

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
