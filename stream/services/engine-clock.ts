/**
 * Engine time: the time that actors are given. It follows the clock of the log, which all processes share, and advances
 * with the monotonic clock of the process. A difference of up to five seconds is slewed. A jump of the log's clock
 * beyond that is held: the workers record the difference in the log, engine time goes on as before, and an operator
 * confirms the jump (contract section 8.19). The wall clock of a host never changes engine time.
 */

import { type Clock, sleep } from "../log/clock.js";
import type { ConfirmedJump, Log, LogTime } from "../log/log.js";
import type { Logger } from "../log/logger.js";

export interface EngineClockOptions {
  readonly log: Log;
  /** Clock of this host. */
  readonly clock: Clock;
  readonly logger: Logger;
  /** Unique to this process. */
  readonly name: string;
  /** True for a worker: it records engine time, and holds a jump. The others follow the record. */
  readonly sets: boolean;
}

/** Largest difference in ms that is slewed; a larger one is a jump. */
const MAX_STEP_MS = 5_000;
/** Interval of reading the clock of the log, in ms. */
const SAMPLE_MS = 1_000;
/** Largest correction in one interval, in ms. */
const MAX_SLEW_MS = 50;
/**
 * Samples in a row after which an unchanged record of engine time is one of dead workers. A live worker records at each
 * of its samples, but some come late, because its log was slow or because they are lost.
 */
const SILENT_SAMPLES = 4;
/** The same while the clock of this host agrees with the clock of the log, as it does after a time without workers. */
const SILENT_SAMPLES_AGREEING = 1;
/** Round trip in ms above which the time of the log is too uncertain. */
const MAX_ROUND_TRIP_MS = 500;

/** Records in agreement with the log that show this process to be ahead: the first may be from before a stall of the log. */
const AHEAD_RECORDS = 3;
/** Engine times that a process knows as its own, because what it recorded last may reach the log late. */
const OWN_RECORDS = 8;

/** Decision on a difference between the recorded time and the engine time of a process. */
export type Judgment = "slew" | "adopt" | "wait" | "hold";

export class EngineClock implements Clock {
  readonly #options: EngineClockOptions;
  #atMonotonicMs = 0;
  #atMs: number | undefined;
  /** Correction in the present interval, in ms. */
  #correctionMs = 0;
  #confirmed = 0;
  #heldMs = 0;
  #lastJump: ConfirmedJump | undefined;
  /** The engine time that the workers had recorded at the last sample of the start, and how often it was the same. */
  #recordedMs: number | undefined;
  #sameRecords = 0;
  /** The engine times that this process recorded last, and the one that it found at the last sample. */
  readonly #ownMs: (number | undefined)[] = [];
  #seenMs: number | undefined;
  /** Samples in a row at which this process was ahead of the log, and those of them whose record agreed with the log. */
  #waits = 0;
  #agreeing = 0;
  /** Clock of this host less the clock of the log, in ms, while they differ by more than a step. */
  #hostDifferenceMs: number | undefined;
  #cancel: () => void = () => undefined;
  #stopped = false;

  private constructor(options: EngineClockOptions) {
    this.#options = options;
  }

  /** Starts the clock; rejects when the log cannot be reached. */
  static async start(options: EngineClockOptions): Promise<EngineClock> {
    const clock = new EngineClock(options);
    for (;;) {
      await clock.#sample();
      if (clock.#atMs !== undefined) break;
      await sleep(options.clock, SAMPLE_MS);
    }
    // A worker records its engine time at once, so that a process that starts now notices a jump.
    if (options.sets) await clock.#sample();
    clock.#sampleLater();
    return clock;
  }

  now(): number {
    const elapsedMs = this.monotonic() - this.#atMonotonicMs;
    const correctedMs = this.#correctionMs * Math.min(1, elapsedMs / SAMPLE_MS);
    return Math.floor((this.#atMs ?? 0) + elapsedMs + correctedMs);
  }

  /** Engine time less the time of the log, in ms, while a jump of the log's clock is held; else 0. */
  get heldMs(): number {
    return this.#heldMs;
  }

  /** The last jump that an operator has confirmed. */
  get lastJump(): ConfirmedJump | undefined {
    return this.#lastJump;
  }

  monotonic(): number {
    return this.#options.clock.monotonic();
  }

  after(ms: number, call: () => void): () => void {
    return this.#options.clock.after(ms, call);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #sampleLater(): void {
    if (this.#stopped) return;
    this.#cancel = this.after(SAMPLE_MS, () => {
      // Engine time goes on with the monotonic clock while the log does not answer.
      void this.#sample()
        .catch(() => undefined)
        .finally(() => this.#sampleLater());
    });
  }

  async #sample(): Promise<void> {
    const { log, name, sets } = this.#options;
    const sentMs = this.monotonic();
    const engineMs = sets && this.#atMs !== undefined ? this.now() : undefined;
    const hostDifferenceMs = this.#hostDifferenceMs;
    this.#ownMs.push(engineMs);
    if (this.#ownMs.length > OWN_RECORDS) this.#ownMs.shift();
    const time = await log.time({ name, engineMs, confirmed: this.#confirmed, hostDifferenceMs });
    const isNew = time.engineMs !== this.#seenMs && !this.#ownMs.includes(time.engineMs);
    this.#seenMs = time.engineMs;
    const roundTripMs = this.monotonic() - sentMs;
    // A confirmation is received however late: gateways that do not know of it take timestamps for those of another clock.
    const isConfirmed = this.#atMs !== undefined && time.confirmed > this.#confirmed;
    if (roundTripMs > MAX_ROUND_TRIP_MS && !isConfirmed) return;
    const logMs = time.logMs + roundTripMs / 2;
    this.#compareHost(logMs);
    await this.#receive(time, logMs + time.heldMs, isNew);
  }

  /** Notes a clock of this host that differs from the clock of the log: one of the two is wrong. */
  #compareHost(logMs: number): void {
    const differenceMs = Math.round(this.#options.clock.now() - logMs);
    const differs = Math.abs(differenceMs) > MAX_STEP_MS;
    const message = "the clock of this host differs from the clock of the log";
    if (differs && this.#hostDifferenceMs === undefined)
      this.#options.logger.error({ differenceMs }, message);
    this.#hostDifferenceMs = differs ? differenceMs : undefined;
  }

  /**
   * Returns true when the clock of the log has perhaps jumped just now: it differs from what live workers record. They
   * know by how much, because a record can be late, and hold the jump within a second or two.
   */
  #mayHaveJumped({ engineMs }: LogTime, targetMs: number): boolean {
    if (engineMs === undefined) return false;
    this.#sameRecords = engineMs === this.#recordedMs ? this.#sameRecords + 1 : 0;
    this.#recordedMs = engineMs;
    const aheadMs = targetMs - engineMs;
    const hostAgrees = aheadMs > 0 && this.#hostDifferenceMs === undefined;
    const silentSamples = hostAgrees ? SILENT_SAMPLES_AGREEING : SILENT_SAMPLES;
    return this.#sameRecords < silentSamples && Math.abs(aheadMs) > MAX_STEP_MS;
  }

  /**
   * Follows the time of the log, which puts engine time at `targetMs`. `isNew` is true when another process has recorded
   * engine time since the last sample.
   */
  async #receive(time: LogTime, targetMs: number, isNew: boolean): Promise<void> {
    const { logger, sets } = this.#options;
    this.#heldMs = time.heldMs;
    this.#lastJump = time.lastJump;
    if (this.#atMs === undefined) {
      this.#confirmed = time.confirmed;
      if (this.#mayHaveJumped(time, targetMs)) return;
      // While no worker ran, the clock of the log may have been set back, but not engine time.
      const backMs = (time.engineMs ?? 0) - targetMs;
      this.#set(sets && backMs > MAX_STEP_MS ? targetMs + backMs : targetMs);
      if (sets && backMs > MAX_STEP_MS) await this.#hold(time, -backMs);
      return;
    }
    const differenceMs = targetMs - this.now();
    // After a loss of the log's last writes, the number is lower than the one that was seen.
    const isConfirmed = time.confirmed > this.#confirmed;
    this.#confirmed = time.confirmed;
    if (isConfirmed) {
      logger.warn({ differenceMs }, "an operator has confirmed the clock of the log; engine time follows it");
      this.#set(targetMs);
      return;
    }
    const recordedMs = time.engineMs === undefined ? undefined : targetMs - time.engineMs;
    switch (this.judge(differenceMs, recordedMs, isNew)) {
      case "slew":
        this.#set(this.now(), Math.max(-MAX_SLEW_MS, Math.min(MAX_SLEW_MS, differenceMs)));
        return;
      case "adopt":
        logger.warn(
          { differenceMs },
          "this process alone has another time; it adopts the engine time of the workers",
        );
        this.#set(targetMs);
        return;
      case "wait":
        return;
      case "hold":
        if (sets) await this.#hold(time, differenceMs);
    }
  }

  /**
   * Decides on the difference between the time in the log and the engine time of this process. `recordedMs` is the
   * difference to the engine time that the workers have recorded; if that is small, the workers agree with the log.
   */
  judge(differenceMs: number, recordedMs: number | undefined, isNew: boolean): Judgment {
    if (differenceMs < -MAX_STEP_MS) return this.#judgeAhead(recordedMs, isNew);
    [this.#waits, this.#agreeing] = [0, 0];
    if (differenceMs <= MAX_STEP_MS) return "slew";
    // The monotonic clock of a process that was suspended is behind.
    return recordedMs !== undefined && Math.abs(recordedMs) <= MAX_STEP_MS ? "adopt" : "hold";
  }

  /**
   * Decides the same for a process that is ahead of the log: either the log's clock was set back, or the monotonic clock of
   * this process is wrong. The first record decides nothing if it agrees with the log, because one from before a stall agrees
   * with a log that was set back by the time of the stall. Records are up to one interval old, so that those of workers that
   * are ahead too may lack a part of the difference.
   */
  #judgeAhead(recordedMs: number | undefined, isNew: boolean): Judgment {
    const isFirst = this.#waits === 0;
    this.#waits += 1;
    if (isFirst || isNew) {
      const agrees = recordedMs !== undefined && recordedMs > -MAX_STEP_MS / 2 && recordedMs <= MAX_STEP_MS;
      if (!agrees) return "hold";
      this.#agreeing += 1;
      if (this.#agreeing === AHEAD_RECORDS) return "adopt";
    }
    if (this.#waits <= SILENT_SAMPLES) return "wait";
    // No other worker says which clock is wrong. The clock of this host does.
    return this.#hostDifferenceMs === undefined ? "adopt" : "hold";
  }

  /** Records the jump of the log's clock, so that no process follows it. A jump that is undone ends the hold. */
  async #hold(time: LogTime, jumpMs: number): Promise<void> {
    const heldMs = Math.round(time.heldMs - jumpMs);
    const isOver = Math.abs(heldMs) <= MAX_STEP_MS;
    if (!(await this.#options.log.holdTime(time, isOver ? 0 : heldMs))) return;
    const fields = { jumpMs: Math.round(jumpMs), heldMs: isOver ? 0 : heldMs };
    if (isOver) this.#options.logger.warn(fields, "the clock of the log agrees with engine time again");
    else {
      const message = "the clock of the log has jumped; engine time ignores it until an operator confirms it";
      this.#options.logger.error(fields, message);
    }
  }

  #set(atMs: number, correctionMs = 0): void {
    this.#atMs = atMs;
    this.#atMonotonicMs = this.monotonic();
    this.#correctionMs = correctionMs;
  }
}
