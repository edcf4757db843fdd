/**
 * Token buckets in Redis. The levels and the clock are the server's, so any number of processes share a bucket exactly
 * (specification, Limits). The callers decide which requests a bucket limits.
 */

import { orUnavailable, type ServiceConnection } from "./connection.js";

/** Refills continuously by `refill` tokens a period, up to `capacity`. All three numbers are whole and above 0. */
export interface TokenBucket {
  readonly name: string;
  readonly capacity: number;
  readonly refill: number;
  readonly periodMs: number;
}

/** Tokens to take from a bucket. A cost of 0 only reads the level; a negative cost gives back an overcharge. */
export interface Spending {
  readonly bucket: TokenBucket;
  readonly cost: number;
  /** Takes the cost whatever the bucket holds; the level may go below zero, down to minus the capacity. */
  readonly owed?: boolean;
}

/** The outcome of spending. `granted`: every bucket had its cost; otherwise no tokens were taken. */
export interface Spent {
  readonly granted: boolean;
  /** By bucket, in the order given: the whole tokens left (negative for a debt), and the time until its cost is available (0: now). */
  readonly buckets: readonly { readonly remaining: number; readonly retryAfterMs: number }[];
}

export class TokenBuckets {
  readonly #connection: ServiceConnection;

  constructor(connection: ServiceConnection) {
    this.#connection = connection;
  }

  /**
   * Takes the costs from a subject's buckets in one step: all of them or none. A caller that waits for the longest
   * `retryAfterMs`, and spends alone, is granted then. Throws `Unavailable` when Redis does not answer; the tokens may
   * have been taken.
   */
  async spend(subject: string, spendings: readonly Spending[]): Promise<Spent> {
    const { keys, run } = this.#connection;
    const names = spendings.map(({ bucket }) => keys.bucket(subject, bucket.name));
    const args = spendings.flatMap(({ bucket: { name, capacity, refill, periodMs }, cost, owed = false }) => {
      if (cost > capacity && !owed)
        throw new Error(`${cost} tokens never fit into the bucket ${name} of ${capacity}`);
      return [capacity, refill, periodMs * 1_000, cost, owed ? 1 : 0];
    });
    const reply = await orUnavailable(
      run("throttle", names, args),
      "the rate limits cannot be checked; try again",
    );
    const [granted, ...levels] = reply as number[];
    return {
      granted: granted === 1,
      buckets: spendings.map((_, index) => ({
        remaining: levels[2 * index] ?? 0,
        retryAfterMs: levels[2 * index + 1] ?? 0,
      })),
    };
  }
}
