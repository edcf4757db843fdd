/**
 * Scrypt on threads of its own. A hash takes a core for a third of a second, and many of them at once, as in a flood of
 * sign-ins, must not take the cores from the event loop; see `scrypt-thread.mjs`.
 */

import type { ScryptOptions } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker as Thread } from "node:worker_threads";

/** Input of scrypt, and the length of its output in bytes. */
export interface ScryptInput {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly bytes: number;
  readonly options: ScryptOptions;
}

const THREAD = new URL("scrypt-thread.mjs", import.meta.url);
/**
 * Time in ms after which a thread without work ends. A new one takes a core for 30 ms before it has a low priority, so a
 * flood of guesses shall find the threads of the last one.
 */
const IDLE_MS = 300_000;
/** Longest time of a hash in ms. */
const HASH_MS = 10_000;
/**
 * Time that a hash may take on a patient thread before an urgent one computes it as well, in ms for each block of its memory
 * and its passes: about four times that of an idle core, and 1.5 s for the hash of a password.
 */
const PATIENCE_MS_PER_BLOCK = 0.002;
/** Most patient threads. On busy cores one goes on for long with a hash that an urgent thread has computed meanwhile. */
const MAX_PATIENT = 3;

/** The thread ended before its hash was computed. */
class ThreadEnded extends Error {}

/** A thread, and the end of the hash that it computes. It keeps no process alive while it has no work. */
class ScryptThread {
  readonly #thread: Thread;
  #ended: { resolve: (hash: Buffer) => void; reject: (error: Error) => void } | undefined;
  #ending: NodeJS.Timeout | undefined;

  /** `onEnd`: called when the thread can compute no more hashes. `onExit`: called when it takes no time any more. */
  constructor(
    isPatient: boolean,
    private readonly onEnd: (thread: ScryptThread) => void,
    onExit: () => void,
  ) {
    this.#thread = new Thread(THREAD, { execArgv: [], workerData: { isPatient } });
    this.#thread.once("exit", onExit);
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

/** Threads of one kind that compute one hash each at a time, as many as the caller asks for at once. */
class ThreadPool {
  /** Threads without work. The one that worked last is at the end. */
  #idle: ScryptThread[] = [];
  /** Threads that have not exited. */
  #threads = 0;

  constructor(
    private readonly isPatient: boolean,
    private readonly limitMs: number,
  ) {}

  /** Number of threads that compute a hash. */
  get busy(): number {
    return this.#threads - this.#idle.length;
  }

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
    const started = new ScryptThread(
      this.isPatient,
      (ended) => (this.#idle = this.#idle.filter((thread) => thread !== ended)),
      () => (this.#threads -= 1),
    );
    this.#threads += 1;
    return started;
  }
}

/**
 * Threads that compute hashes, of two kinds: an urgent one has a lower priority than the event loop, and a patient one gets
 * a core only while nothing else wants it.
 */
export class ScryptThreads {
  readonly #urgent: ThreadPool;
  readonly #patient: ThreadPool;

  constructor(
    limitMs = HASH_MS,
    private readonly patienceMsPerBlock = PATIENCE_MS_PER_BLOCK,
  ) {
    this.#urgent = new ThreadPool(false, limitMs);
    this.#patient = new ThreadPool(true, limitMs);
  }

  /**
   * Returns the hash; one that can wait comes from a patient thread unless all cores stay busy. Rejects with the error of
   * scrypt, and a hash that takes too long.
   */
  async hash(input: ScryptInput, canWait = false): Promise<Buffer> {
    if (!canWait || this.#patient.busy >= MAX_PATIENT) return this.#urgent.hash(input);
    // The urgent thread reports what fails on the patient one.
    const patient = this.#patient.hash(input).catch(() => undefined);
    const { N = 0, r = 0, p = 0 } = input.options;
    const patienceMs = this.patienceMsPerBlock * N * r * p;
    const hash = await Promise.race([patient, sleep(patienceMs, undefined, { ref: false })]);
    if (hash !== undefined) return hash;
    const urgent = this.#urgent.hash(input);
    return Promise.race([patient.then((late) => late ?? urgent), urgent]);
  }
}
