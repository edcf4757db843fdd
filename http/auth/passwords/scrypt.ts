/**
 * Scrypt on threads of its own. A hash takes a core for a tenth of a second, and many of them at once, as in a flood of
 * sign-ins, must not take the cores from the event loop; see `scrypt-thread.mjs`.
 */

import type { ScryptOptions } from "node:crypto";
import { Worker as Thread } from "node:worker_threads";

/** Input of scrypt, and the length of its output in bytes. */
export interface ScryptInput {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly bytes: number;
  readonly options: ScryptOptions;
}

const THREAD = new URL("scrypt-thread.mjs", import.meta.url);
/** Time in ms after which a thread without work ends. */
const IDLE_MS = 10_000;

/** A thread, and the end of the hash that it computes. It keeps no process alive while it has no work. */
class ScryptThread {
  readonly #thread = new Thread(THREAD, { execArgv: [] });
  #ended: { resolve: (hash: Buffer) => void; reject: (error: Error) => void } | undefined;
  #ending: NodeJS.Timeout | undefined;

  constructor() {
    this.#thread.on("message", (hash: Uint8Array) => this.#ended?.resolve(Buffer.from(hash)));
    // An error ends the thread.
    this.#thread.on("error", (error) => this.#ended?.reject(error));
    this.#thread.on("exit", () => this.#ended?.reject(new Error("a thread of scrypt has ended")));
  }

  async hash(input: ScryptInput): Promise<Buffer> {
    clearTimeout(this.#ending);
    this.#thread.ref();
    const hash = new Promise<Buffer>((resolve, reject) => (this.#ended = { resolve, reject }));
    this.#thread.postMessage(input);
    try {
      return await hash;
    } finally {
      this.#thread.unref();
    }
  }

  /** Ends the thread, and calls `onEnd`, unless it has work before. */
  endWhenIdle(onEnd: () => void): void {
    this.#ending = setTimeout(() => {
      onEnd();
      void this.#thread.terminate();
    }, IDLE_MS).unref();
  }
}

/** Threads that compute one hash each at a time, as many as the caller asks for at once. */
export class ScryptThreads {
  /** Threads without work. The one that worked last is at the end. */
  #idle: ScryptThread[] = [];

  /** Returns the hash. Rejects with the error of scrypt. */
  async hash(input: ScryptInput): Promise<Buffer> {
    const thread = this.#idle.pop() ?? new ScryptThread();
    const hash = await thread.hash(input);
    this.#idle.push(thread);
    thread.endWhenIdle(() => (this.#idle = this.#idle.filter((idle) => idle !== thread)));
    return hash;
  }
}
