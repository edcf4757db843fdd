/** Calls of a script that a thread repeats, so that no long step of the event loop delays them; see `beat-thread.mjs`. */

import { Worker as Thread } from "node:worker_threads";
import { readAddress } from "./address.js";
import { HEARTBEAT_OPTIONS } from "./connection.js";
import { type ScriptName, sourceOf } from "./scripts.js";

export interface BeatOptions {
  /** Address of Redis; see `readAddress`. */
  readonly url: string;
  readonly script: ScriptName;
  readonly intervalMs: number;
  /** Stall of the event loop, in ms, after which the calls stop until it turns again. */
  readonly stallMs: number;
}

/** Keys and arguments of the script. */
export interface BeatCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Message of the thread: a call with its reply or its error, and the time at which it was sent. */
export interface Beat {
  readonly call: BeatCall;
  readonly sentNs: bigint;
  readonly reply?: unknown;
  readonly error?: unknown;
}

/** Interval at which the event loop shows that it turns, in ms. */
const TURN_MS = 50;
const THREAD = new URL("beat-thread.mjs", import.meta.url);

/** A thread that repeats a call on a connection of its own. An error of the thread itself is thrown and ends the process. */
export class Beats {
  readonly #thread: Thread;
  readonly #turning: NodeJS.Timeout;

  constructor({ url, script, intervalMs, stallMs }: BeatOptions, onBeat: (beat: Beat) => void) {
    const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const turns = new Int32Array(shared);
    this.#turning = setInterval(() => Atomics.add(turns, 0, 1), TURN_MS);
    this.#thread = new Thread(THREAD, {
      // The thread runs plain JavaScript, and needs no loader of the process.
      execArgv: [],
      workerData: {
        address: readAddress(url),
        options: HEARTBEAT_OPTIONS,
        lua: sourceOf(script),
        intervalMs,
        stallMs,
        shared,
      },
    });
    this.#thread.on("message", onBeat);
    this.#thread.on("error", (error) => {
      throw error;
    });
  }

  /** Repeats this call from now on, in place of the one before. */
  repeat(call: BeatCall): void {
    this.#thread.postMessage(call);
  }

  async stop(): Promise<void> {
    clearInterval(this.#turning);
    await this.#thread.terminate();
  }
}
