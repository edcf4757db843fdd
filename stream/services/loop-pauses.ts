/**
 * Pauses of the event loop of a process: how long the loop did not turn, and for how much of that time its thread had a
 * core. The rest of a pause is the work of other processes, or of other machines on the host of a virtual one.
 */

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** The longest pauses of a time, in ms. */
export interface LongestPauses {
  /** Longest pause. */
  readonly pauseMs: number;
  /** Longest pause without the time that the host of a virtual machine took from it; as `pauseMs` if that is unknown. */
  readonly guestPauseMs: number;
  /** The same without the time in which its thread waited for a core; the same as `guestPauseMs` if that is unknown. */
  readonly ownPauseMs: number;
}

/** Time in which the main thread was ready to run, and had no core. */
interface CoreWaits {
  /** Returns this time since the start of the thread, in ms. */
  waitedMs(): number;
  /** Returns the time since its start that the host has taken from all cores of a virtual machine, in ms. */
  stolenMs(): number;
  close(): void;
}

/** Interval at which the event loop is observed, in ms. A shorter pause is not seen. */
const INTERVAL_MS = 5;
/** Shortest pause of which the time that the host took is read, and the number of turns between two readings. */
const STOLEN_FROM_MS = 10;
const STOLEN_TURNS = 50;
/** Length of a clock tick in `/proc`, in ms. */
const TICK_MS = 10;
const UNKNOWN: CoreWaits = { waitedMs: () => 0, stolenMs: () => 0, close: () => undefined };
const NO_PAUSES: LongestPauses = { pauseMs: 0, guestPauseMs: 0, ownPauseMs: 0 };

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
    stolenMs: () =>
      TICK_MS * Number(/^cpu +(?:\d+ ){7}(\d+)/.exec(readFileSync("/proc/stat", "latin1"))?.[1] ?? 0),
    close: () => closeSync(file),
  };
}

/** Observes the event loop of this process, from its main thread, until `stop`. */
export class LoopPauses {
  readonly #waits: CoreWaits;
  readonly #timer: NodeJS.Timeout;
  #turnedMs = performance.now();
  #waitedMs: number;
  /** Stolen time at the last reading, and the turns since. */
  #stolenMs: number;
  #turns = 0;
  #longest = NO_PAUSES;

  /** Only tests pass `waits`. */
  constructor(waits: CoreWaits = coreWaits()) {
    this.#waits = waits;
    this.#waitedMs = waits.waitedMs();
    this.#stolenMs = waits.stolenMs();
    this.#timer = setInterval(() => this.#turned(), INTERVAL_MS).unref();
  }

  #turned(): void {
    const [nowMs, waitedMs] = [performance.now(), this.#waits.waitedMs()];
    const pauseMs = Math.max(0, nowMs - this.#turnedMs - INTERVAL_MS);
    const guestPauseMs = Math.max(0, pauseMs - this.#takeStolenMs(pauseMs));
    const ownPauseMs = Math.max(0, guestPauseMs - (waitedMs - this.#waitedMs));
    [this.#turnedMs, this.#waitedMs] = [nowMs, waitedMs];
    this.#longest = {
      pauseMs: Math.max(this.#longest.pauseMs, pauseMs),
      guestPauseMs: Math.max(this.#longest.guestPauseMs, guestPauseMs),
      ownPauseMs: Math.max(this.#longest.ownPauseMs, ownPauseMs),
    };
  }

  /** Returns the time that the host took since the last reading, which is a moment before a pause; 0 for a short pause. */
  #takeStolenMs(pauseMs: number): number {
    this.#turns += 1;
    if (pauseMs < STOLEN_FROM_MS && this.#turns < STOLEN_TURNS) return 0;
    const before = this.#stolenMs;
    this.#stolenMs = this.#waits.stolenMs();
    this.#turns = 0;
    return pauseMs < STOLEN_FROM_MS ? 0 : this.#stolenMs - before;
  }

  /** Returns the longest pauses since the last call. */
  take(): LongestPauses {
    const longest = this.#longest;
    this.#longest = NO_PAUSES;
    return longest;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#waits.close();
  }
}
