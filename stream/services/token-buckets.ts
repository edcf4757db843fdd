/**
 * Token buckets in Redis: state and clock are the server's, so that any number of processes share them to the token
 * (specification, Limits). What the buckets are for is not known here.
 */

import { connect, type Connection } from "../redis/connection.js";
import { Keys } from "../redis/keys.js";
import { loadScripts, type RunScript } from "../redis/scripts.js";
import { Unavailable } from "../log/ports.js";

/** Fills up to `capacity` at `refill` tokens a period, continuously. All three are whole and above 0. */
export interface TokenBucket {
  readonly name: string;
  readonly capacity: number;
  readonly refill: number;
  readonly periodMs: number;
}

/** A cost of 0 only looks; one below 0 gives back what was charged too much. Never above the capacity. */
export interface Spending {
  readonly bucket: TokenBucket;
  readonly cost: number;
}

/** What came of spending: `granted` when every bucket had its cost, and only then was anything taken. */
export interface Spent {
  readonly granted: boolean;
  /** By bucket, as asked: the whole tokens left, and when its cost will be there (0: it was). */
  readonly buckets: readonly { readonly remaining: number; readonly retryAfterMs: number }[];
}

export interface TokenBucketsOptions {
  /** One URL, or a comma list of nodes of a Redis Cluster. */
  readonly url: string;
  /** In front of every key; no braces. */
  readonly prefix?: string | undefined;
}

export class TokenBuckets {
  readonly #connection: Connection;
  readonly #run: RunScript;
  readonly #keys: Keys;

  constructor(options: TokenBucketsOptions) {
    this.#connection = connect(options.url);
    this.#run = loadScripts(this.#connection);
    this.#keys = new Keys(options.prefix ?? "overround:");
  }

  /**
   * Takes the costs out of a subject's buckets, all or nothing, in one step. Whoever waits out the longest
   * `retryAfterMs` and is alone finds them full enough. Throws `Unavailable` when Redis gives no answer: whether
   * anything was taken is then unknown.
   */
  async spend(subject: string, spendings: readonly Spending[]): Promise<Spent> {
    const keys = spendings.map(({ bucket }) => this.#keys.bucket(subject, bucket.name));
    const args = spendings.flatMap(({ bucket: { name, capacity, refill, periodMs }, cost }) => {
      if (cost > capacity) throw new Error(`${cost} tokens never fit into the bucket ${name} of ${capacity}`);
      return [capacity, refill, periodMs * 1_000, cost];
    });
    const [granted, ...levels] = await this.#ask(keys, args);
    return {
      granted: granted === 1,
      buckets: spendings.map((_, index) => ({
        remaining: levels[2 * index] ?? 0,
        retryAfterMs: levels[2 * index + 1] ?? 0,
      })),
    };
  }

  async #ask(keys: readonly string[], args: readonly number[]): Promise<readonly number[]> {
    try {
      return (await this.#run("throttle", keys, args)) as number[];
    } catch (error) {
      throw new Unavailable("the token buckets cannot be reached", { cause: error });
    }
  }

  /** Lets go of the connection. */
  close(): void {
    this.#connection.disconnect();
  }
}
