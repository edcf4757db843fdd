/**
 * Scrypt in processes of its own. A hash takes a core for a tenth of a second, and many of them at once, as in a flood of
 * sign-ins, must not take the cores from the event loop; see `scrypt-process.mjs`. A thread would not do: whenever it
 * returns the 32 MB of a hash, the event loop waits for it, at the low priority of the thread.
 */

import { type ChildProcess, fork } from "node:child_process";
import type { ScryptOptions } from "node:crypto";
import { fileURLToPath } from "node:url";

/** Input of scrypt, and the length of its output in bytes. */
export interface ScryptInput {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly bytes: number;
  readonly options: ScryptOptions;
}

/** Message of a process: the hash, or the error of scrypt. */
type Result = { readonly hash: Uint8Array } | { readonly error: Error };

const PROGRAM = fileURLToPath(new URL("scrypt-process.mjs", import.meta.url));
/** Time in ms after which a process without work ends. */
const IDLE_MS = 60_000;
/** Longest time of a hash in ms. */
const HASH_MS = 10_000;

/** The process ended before its hash was computed. */
class ProcessEnded extends Error {}

/** A process, and the end of the hash that it computes. It keeps the service from no end while it has no work. */
class ScryptProcess {
  readonly #child: ChildProcess;
  #ended: { resolve: (hash: Buffer) => void; reject: (error: Error) => void } | undefined;
  #ending: NodeJS.Timeout | undefined;

  /** `onEnd`: called when the process can compute no more hashes. */
  constructor(private readonly onEnd: (process: ScryptProcess) => void) {
    // The process has no use for the environment.
    this.#child = fork(PROGRAM, {
      env: {},
      execArgv: [],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.on("message", (result: Result) => {
      if ("hash" in result) this.#ended?.resolve(Buffer.from(result.hash));
      else this.#ended?.reject(result.error);
    });
    this.#child.on("error", (error) => this.#fail(error));
    this.#child.on("exit", () => this.#fail(new ProcessEnded("a process of scrypt has ended")));
  }

  /** Returns the hash. Rejects with the error of scrypt, `ProcessEnded`, or after the limit, which ends the process. */
  async hash(input: ScryptInput, limitMs: number): Promise<Buffer> {
    clearTimeout(this.#ending);
    this.#child.ref();
    this.#child.channel?.ref();
    const hash = new Promise<Buffer>((resolve, reject) => (this.#ended = { resolve, reject }));
    const limit = setTimeout(() => this.#end(new Error(`a hash took longer than ${limitMs} ms`)), limitMs);
    try {
      // A process that could not be started has no channel, and reports its error later.
      if (this.#child.connected) {
        // A process that cannot be reached has ended, or ends now.
        this.#child.send(input, (error) => error !== null && this.#end(new ProcessEnded(error.message)));
      }
      return await hash;
    } finally {
      clearTimeout(limit);
      this.#child.unref();
      this.#child.channel?.unref();
    }
  }

  /** Ends the process unless it has work before. */
  endWhenIdle(): void {
    this.#ending = setTimeout(() => this.#end(new ProcessEnded("a process had no work")), IDLE_MS).unref();
  }

  #end(reason: Error): void {
    this.#fail(reason);
    this.#child.kill("SIGKILL");
  }

  #fail(error: Error): void {
    this.onEnd(this);
    this.#ended?.reject(error);
  }
}

/** Processes that compute one hash each at a time, as many as the caller asks for at once. */
export class ScryptProcesses {
  /** Processes without work. The one that worked last is at the end. */
  #idle: ScryptProcess[] = [];

  constructor(private readonly limitMs: number = HASH_MS) {}

  /** Returns the hash. Rejects with the error of scrypt, and a hash that takes too long. */
  async hash(input: ScryptInput): Promise<Buffer> {
    try {
      return await this.#hashIn(this.#idle.pop() ?? this.#newProcess(), input);
    } catch (error) {
      // An idle process may have ended a moment ago.
      if (error instanceof ProcessEnded) return this.#hashIn(this.#newProcess(), input);
      throw error;
    }
  }

  async #hashIn(process: ScryptProcess, input: ScryptInput): Promise<Buffer> {
    const hash = await process.hash(input, this.limitMs);
    this.#idle.push(process);
    process.endWhenIdle();
    return hash;
  }

  #newProcess(): ScryptProcess {
    return new ScryptProcess((ended) => (this.#idle = this.#idle.filter((process) => process !== ended)));
  }
}
