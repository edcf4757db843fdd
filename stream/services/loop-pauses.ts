/**
 * Pauses of the event loop of a process: how long the loop did not turn, and for how much of that time its thread had a
 * core. The rest of a pause is the work of other processes.
 */

import { closeSync, openSync, readSync } from "node:fs";

/** The longest pauses of a time, in ms. */
export interface LongestPauses {
  /** Longest pause. */
  readonly pauseMs: number;
  /** Longest pause without the time in which its thread waited for a core; the same as `pauseMs` if that is unknown. */
  readonly ownPauseMs: number;
}

/** Time in which the main thread was ready to run, and had no core. */
interface CoreWaits {
  /** Returns this time since the start of the thread, in ms. */
  waitedMs(): number;
  close(): void;
}

/** Interval at which the event loop is observed, in ms. A shorter pause is not seen. */
const INTERVAL_MS = 5;
const UNKNOWN: CoreWaits = { waitedMs: () => 0, close: () => undefined };

/** Reads the waits of the main thread, which Linux counts in nanoseconds. Elsewhere they are unknown. */
function coreWaits(): CoreWaits {
  let file: number;
  try {
    file = openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    return UNKNOWN;
  }
  const buffer = Buffer.alloc(128);
  return {
    waitedMs: () => {
      const length = readSync(file, buffer, 0, buffer.length, 0);
      return Number(buffer.toString("latin1", 0, length).split(" ")[1]) / 1e6;
    },
    close: () => closeSync(file),
  };
}

/** Observes the event loop of this process, from its main thread, until `stop`. */
export class LoopPauses {
  readonly #waits: CoreWaits;
  readonly #timer: NodeJS.Timeout;
  #turnedMs = performance.now();
  #waitedMs: number;
  #longest: LongestPauses = { pauseMs: 0, ownPauseMs: 0 };

  /** Only tests pass `waits`. */
  constructor(waits: CoreWaits = coreWaits()) {
    this.#waits = waits;
    this.#waitedMs = waits.waitedMs();
    this.#timer = setInterval(() => this.#turned(), INTERVAL_MS).unref();
  }

  #turned(): void {
    const [nowMs, waitedMs] = [performance.now(), this.#waits.waitedMs()];
    const pauseMs = Math.max(0, nowMs - this.#turnedMs - INTERVAL_MS);
    const ownPauseMs = Math.max(0, pauseMs - (waitedMs - this.#waitedMs));
    [this.#turnedMs, this.#waitedMs] = [nowMs, waitedMs];
    this.#longest = {
      pauseMs: Math.max(this.#longest.pauseMs, pauseMs),
      ownPauseMs: Math.max(this.#longest.ownPauseMs, ownPauseMs),
    };
  }

  /** Returns the longest pauses since the last call. */
  take(): LongestPauses {
    const longest = this.#longest;
    this.#longest = { pauseMs: 0, ownPauseMs: 0 };
    return longest;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#waits.close();
  }
}
