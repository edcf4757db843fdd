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
/** Longest time of a hash in ms. */
const HASH_MS = 10_000;

/** The thread ended before its hash was computed. */
class ThreadEnded extends Error {}

/** A thread, and the end of the hash that it computes. It keeps no process alive while it has no work. */
class ScryptThread {
  readonly #thread = new Thread(THREAD, { execArgv: [] });
  #ended: { resolve: (hash: Buffer) => void; reject: (error: Error) => void } | undefined;
  #ending: NodeJS.Timeout | undefined;

  /** `onEnd`: called when the thread can compute no more hashes. */
  constructor(private readonly onEnd: (thread: ScryptThread) => void) {
    this.#thread.on("message", (hash: Uint8Array) => this.#ended?.resolve(Buffer.from(hash)));
    // An error ends the thread.
    this.#thread.on("error", (error) => this.#fail(error));
    this.#thread.on("exit", () => this.#fail(new ThreadEnded("a thread of scrypt has ended")));
  }

  /** Returns the hash. Rejects with the error of scrypt, `ThreadEnded`, or after the limit, which ends the thread. */
  async hash(input: ScryptInput, limitMs: number): Promise<Buffer> {
    clearTimeout(this.#ending);
    this.#thread.ref();
    const hash = new Promise<Buffer>((resolve, reject) => (this.#ended = { resolve, reject }));
    const limit = setTimeout(() => this.#end(new Error(`a hash took longer than ${limitMs} ms`)), limitMs);
    this.#thread.postMessage(input);
    try {
      return await hash;
    } finally {
      clearTimeout(limit);
      this.#thread.unref();
    }
  }

  /** Ends the thread unless it has work before. */
  endWhenIdle(): void {
    this.#ending = setTimeout(() => this.#end(new ThreadEnded("a thread had no work")), IDLE_MS).unref();
  }

  #end(reason: Error): void {
    this.#fail(reason);
    void this.#thread.terminate();
  }

  #fail(error: Error): void {
    this.onEnd(this);
    this.#ended?.reject(error);
  }
}

/** Threads that compute one hash each at a time, as many as the caller asks for at once. */
export class ScryptThreads {
  /** Threads without work. The one that worked last is at the end. */
  #idle: ScryptThread[] = [];

  constructor(private readonly limitMs: number = HASH_MS) {}

  /** Returns the hash. Rejects with the error of scrypt, and a hash that takes too long. */
  async hash(input: ScryptInput): Promise<Buffer> {
    try {
      return await this.#hashOn(this.#idle.pop() ?? this.#newThread(), input);
    } catch (error) {
      // An idle thread may have ended a moment ago.
      if (error instanceof ThreadEnded) return this.#hashOn(this.#newThread(), input);
      throw error;
    }
  }

  async #hashOn(thread: ScryptThread, input: ScryptInput): Promise<Buffer> {
    const hash = await thread.hash(input, this.limitMs);
    this.#idle.push(thread);
    thread.endWhenIdle();
    return hash;
  }

  #newThread(): ScryptThread {
    return new ScryptThread((ended) => (this.#idle = this.#idle.filter((thread) => thread !== ended)));
  }
}
