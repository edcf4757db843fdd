/**
 * Pauses of the event loop of a process: how long the loop did not turn, and for how much of that time its thread had a
 * core. The rest of a pause is the work of other processes, or of other machines on the host of a virtual one.
 */

import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { performance } from "node:perf_hooks";

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

/**
 * Interval at which a calm event loop is observed, in ms. Each look wakes a process that would sleep, which costs far more
 * than the look: at 5 ms, five idle processes used a tenth of a core for it. A pause between two looks is not seen.
 */
const CALM_MS = 100;
/** An event loop that has worked for less than this share of the last window is calm in the next one. */
const CALM_SHARE = 0.1;
const WINDOW_MS = 1_000;
/** A calm event loop that has worked for this share of the time since the last look is busy at once. */
const BUSY_SHARE = 0.25;
/** Shortest pause of which the time that the host took is read, and the interval of the other readings, in ms. */
const STOLEN_FROM_MS = 10;
const STOLEN_MS = 250;
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

/** Time at which the event loop turned, and for how long it had worked until then, in ms. */
interface Turn {
  readonly atMs: number;
  readonly activeMs: number;
}

function turnNow(): Turn {
  return { atMs: performance.now(), activeMs: performance.eventLoopUtilization().active };
}

/** Returns the share of the time between two turns for which the loop worked. */
function shareOf(from: Turn, to: Turn): number {
  return (to.activeMs - from.activeMs) / (to.atMs - from.atMs);
}

/** Observes the event loop of this process, from its main thread, until `stop`. */
export class LoopPauses {
  readonly #busyMs: number;
  readonly #waits: CoreWaits;
  #timer: NodeJS.Timeout;
  /** Time until the next look. */
  #intervalMs: number;
  #turn = turnNow();
  /** First turn of the window. */
  #since = this.#turn;
  #waitedMs: number;
  /** Stolen time at the last reading, and the time of that. */
  #stolenMs: number;
  #stolenAtMs: number;
  #longest = NO_PAUSES;

  /**
   * `busyMs` is the interval at which a busy event loop is observed: its pauses count as shorter by up to this time. The own
   * pauses of a calm loop lack all waits for a core since the last look. Only tests pass `waits`.
   */
  constructor(busyMs: number, waits: CoreWaits = coreWaits()) {
    this.#busyMs = busyMs;
    this.#waits = waits;
    this.#waitedMs = waits.waitedMs();
    this.#stolenMs = waits.stolenMs();
    this.#stolenAtMs = this.#turn.atMs;
    this.#intervalMs = busyMs;
    this.#timer = this.#wait();
  }

  #wait(): NodeJS.Timeout {
    return setTimeout(() => this.#turned(), this.#intervalMs).unref();
  }

  #turned(): void {
    const [turn, waitedMs] = [turnNow(), this.#waits.waitedMs()];
    const pauseMs = this.#pauseBefore(turn);
    const guestPauseMs = Math.max(0, pauseMs - this.#takeStolenMs(pauseMs, turn.atMs));
    const ownPauseMs = Math.max(0, guestPauseMs - (waitedMs - this.#waitedMs));
    const last = this.#turn;
    [this.#turn, this.#waitedMs] = [turn, waitedMs];
    this.#longest = {
      pauseMs: Math.max(this.#longest.pauseMs, pauseMs),
      guestPauseMs: Math.max(this.#longest.guestPauseMs, guestPauseMs),
      ownPauseMs: Math.max(this.#longest.ownPauseMs, ownPauseMs),
    };
    this.#chooseInterval(turn, last);
    this.#timer = this.#wait();
  }

  /**
   * Returns how long the loop did not turn before a late look. In a calm loop, most work since the last look was that pause
   * if the look was late by half of the work; the pause then counts as all of it.
   */
  #pauseBefore({ atMs, activeMs }: Turn): number {
    const lateMs = Math.max(0, atMs - this.#turn.atMs - this.#intervalMs);
    const workedMs = activeMs - this.#turn.activeMs;
    return this.#isCalm && lateMs >= this.#busyMs && lateMs >= workedMs / 2
      ? Math.max(lateMs, workedMs)
      : lateMs;
  }

  get #isCalm(): boolean {
    return this.#intervalMs !== this.#busyMs;
  }

  #chooseInterval(turn: Turn, last: Turn): void {
    const hasLoad = this.#isCalm && shareOf(last, turn) >= BUSY_SHARE;
    if (!hasLoad && turn.atMs - this.#since.atMs < WINDOW_MS) return;
    this.#intervalMs = hasLoad || shareOf(this.#since, turn) >= CALM_SHARE ? this.#busyMs : CALM_MS;
    this.#since = turn;
  }

  /** Returns the time that the host took since the last reading, which is a moment before a pause; 0 for a short pause. */
  #takeStolenMs(pauseMs: number, nowMs: number): number {
    if (pauseMs < STOLEN_FROM_MS && nowMs - this.#stolenAtMs < STOLEN_MS) return 0;
    const before = this.#stolenMs;
    this.#stolenMs = this.#waits.stolenMs();
    this.#stolenAtMs = nowMs;
    return pauseMs < STOLEN_FROM_MS ? 0 : this.#stolenMs - before;
  }

  /** Returns the longest pauses since the last call. */
  take(): LongestPauses {
    const longest = this.#longest;
    this.#longest = NO_PAUSES;
    return longest;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waits.close();
  }
}
