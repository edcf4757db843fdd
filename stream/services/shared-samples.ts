/**
 * Samples of one kind that the processes share, in Redis: any process adds one, and every process reads those of all. A
 * process that starts reads what the others have sampled before.
 */

import { orUnavailable, type ServiceConnection } from "./connection.js";

const UNAVAILABLE = "the samples cannot be reached; try again";

export interface SharedSamplesOptions {
  readonly connection: ServiceConnection;
  /** Name of the kind. */
  readonly name: string;
  /** Number of samples that are kept; a new one replaces the oldest. */
  readonly kept: number;
}

export class SharedSamples {
  readonly #connection: ServiceConnection;
  readonly #key: string;
  readonly #kept: number;
  /** Id in Redis of the last sample that this process has read. */
  #lastId = "0-0";

  constructor({ connection, name, kept }: SharedSamplesOptions) {
    this.#connection = connection;
    this.#key = connection.keys.samples(name);
    this.#kept = kept;
  }

  /** Returns true to one process that asks within `ms`, which then adds a sample. Throws `Unavailable`. */
  async claim(ms: number): Promise<boolean> {
    const set = this.#connection.redis.set(`${this.#key}:claim`, "1", "PX", ms, "NX");
    return (await orUnavailable(set, UNAVAILABLE)) === "OK";
  }

  /** Stores a sample. Throws `Unavailable`. */
  async add(sample: string): Promise<void> {
    const { redis } = this.#connection;
    const stored = redis.xadd(this.#key, "MAXLEN", this.#kept, "*", "sample", sample);
    await orUnavailable(stored, UNAVAILABLE);
  }

  /** Returns the stored samples, oldest first; later calls return those that were added since. Throws `Unavailable`. */
  async read(): Promise<readonly string[]> {
    const entries = await orUnavailable(
      this.#connection.redis.xrange(this.#key, `(${this.#lastId}`, "+"),
      UNAVAILABLE,
    );
    this.#lastId = entries.at(-1)?.[0] ?? this.#lastId;
    return entries.map(([, [, sample = ""]]) => sample);
  }
}
