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

/** Cost that a bucket lacked, by the clock of this process. */
interface Lacking {
  readonly cost: number;
  /** Time at which the bucket has refilled to the cost. */
  readonly refilledMs: number;
  /** Time at which the server is asked again, because another process may give tokens back. */
  readonly askAgainMs: number;
}

/** Longest time in ms for which a process refuses without the server, and the most buckets for which it does. */
const REFUSE_MS = 1_000;
const MAX_LACKING = 10_000;

export class TokenBuckets {
  readonly #connection: ServiceConnection;
  /** Buckets that lacked a cost, the oldest first, so that a flood of requests without tokens does not reach the server. */
  readonly #lacking = new Map<string, Lacking>();

  constructor(connection: ServiceConnection) {
    this.#connection = connection;
  }

  /**
   * Takes the costs from a subject's buckets in one step: all of them or none. A caller that waits for the longest
   * `retryAfterMs`, and spends alone, is granted then. Tokens that another process gives back after a refusal may take a
   * second to count here. Throws `Unavailable` when Redis does not answer; the tokens may have been taken.
   */
  async spend(subject: string, spendings: readonly Spending[]): Promise<Spent> {
    const { keys, run } = this.#connection;
    const names = spendings.map(({ bucket }) => keys.bucket(subject, bucket.name));
    const args = spendings.flatMap(({ bucket: { name, capacity, refill, periodMs }, cost, owed = false }) => {
      if (cost > capacity && !owed)
        throw new Error(`${cost} tokens never fit into the bucket ${name} of ${capacity}`);
      return [capacity, refill, periodMs * 1_000, cost, owed ? 1 : 0];
    });
    const known = this.#refusal(names, spendings);
    if (known !== undefined) return known;
    const reply = await orUnavailable(
      run("throttle", names, args),
      "the rate limits cannot be checked; try again",
    );
    const [granted, ...levels] = reply as number[];
    const spent = {
      granted: granted === 1,
      buckets: spendings.map((_, index) => ({
        remaining: levels[2 * index] ?? 0,
        retryAfterMs: levels[2 * index + 1] ?? 0,
      })),
    };
    this.#remember(names, spendings, spent);
    return spent;
  }

  /** Returns the refusal of a single cost that is at least the one that its bucket still lacks. */
  #refusal(names: readonly string[], spendings: readonly Spending[]): Spent | undefined {
    const lacking = this.#lacking.get(names[0] ?? "");
    const [spending] = spendings;
    if (lacking === undefined || spending === undefined || spendings.length > 1) return undefined;
    const { bucket, cost, owed = false } = spending;
    const nowMs = performance.now();
    const waitMs = lacking.refilledMs - nowMs;
    if (owed || cost < lacking.cost || waitMs <= 0 || nowMs >= lacking.askAgainMs) return undefined;
    const perMs = bucket.refill / bucket.periodMs;
    const remaining = Math.floor(lacking.cost - waitMs * perMs);
    const retryAfterMs = Math.ceil(waitMs + (cost - lacking.cost) / perMs);
    return { granted: false, buckets: [{ remaining, retryAfterMs }] };
  }

  /** Remembers the costs that their buckets lack, and forgets those of buckets that got tokens back. */
  #remember(names: readonly string[], spendings: readonly Spending[], { buckets }: Spent): void {
    const nowMs = performance.now();
    for (const [index, { cost }] of spendings.entries()) {
      const name = names[index] ?? "";
      const { retryAfterMs = 0 } = buckets[index] ?? {};
      if (cost < 0 || retryAfterMs > 0) this.#lacking.delete(name);
      if (retryAfterMs > 0)
        this.#lacking.set(name, { cost, refilledMs: nowMs + retryAfterMs, askAgainMs: nowMs + REFUSE_MS });
    }
    for (const oldest of this.#lacking.keys()) {
      if (this.#lacking.size <= MAX_LACKING) return;
      this.#lacking.delete(oldest);
    }
  }
}
