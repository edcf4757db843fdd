/** Token buckets (specification, Throttles): what a request spends before it is served. */

import type { Spent, TokenBucket, TokenBuckets } from "../../stream/services/token-buckets.js";

/** The buckets of a key. */
export type Bucket = "place" | "cancel" | "read" | "account" | "stream" | "history";

export interface BucketSize {
  readonly capacity: number;
  readonly refillPerSec: number;
}

/** The published numbers, per key. */
export const KEY_BUCKETS: Readonly<Record<Bucket, BucketSize>> = {
  place: { capacity: 256, refillPerSec: 8 },
  cancel: { capacity: 256, refillPerSec: 16 },
  read: { capacity: 64, refillPerSec: 16 },
  account: { capacity: 64, refillPerSec: 8 },
  stream: { capacity: 512, refillPerSec: 4 },
  history: { capacity: 512, refillPerSec: 4 },
};

/** What came of a charge. `retryAfterS` is when there will be enough, 0 when granted. */
export interface Charge {
  readonly granted: boolean;
  readonly remaining: number;
  readonly retryAfterS: number;
}

/**
 * The buckets of all keys. A cost of 0 only reads; a negative one gives back what was charged too much. `also` are
 * buckets of the same key that a request takes one token from each: it is granted when all have what it costs.
 */
export interface Throttle {
  charge(keyId: string, bucket: Bucket, cost: number, also?: readonly TokenBucket[]): Promise<Charge>;
}

/** When to come again: whole seconds, rounded up, since `Retry-After` knows no others. */
export function retryAfterSeconds({ buckets }: Spent): number {
  return Math.ceil(Math.max(...buckets.map(({ retryAfterMs }) => retryAfterMs)) / 1_000);
}

/** The published buckets of keys, shared by all gateways of an exchange. */
export function sharedThrottle(buckets: Pick<TokenBuckets, "spend">): Throttle {
  return {
    charge: async (keyId, bucket, cost, also = []) => {
      const { capacity, refillPerSec } = KEY_BUCKETS[bucket];
      const spent = await buckets.spend(`key:${keyId}`, [
        { bucket: { name: bucket, capacity, refill: refillPerSec, periodMs: 1_000 }, cost },
        ...also.map((limit) => ({ bucket: limit, cost: 1 })),
      ]);
      const remaining = spent.buckets[0]?.remaining ?? 0;
      return { granted: spent.granted, remaining, retryAfterS: retryAfterSeconds(spent) };
    },
  };
}

/** A throttle that counts nothing and grants everything, with full buckets. */
export const unlimitedThrottle: Throttle = {
  charge: (_keyId, bucket) =>
    Promise.resolve({ granted: true, remaining: KEY_BUCKETS[bucket].capacity, retryAfterS: 0 }),
};

interface Level {
  tokens: number;
  atMs: number;
}

/** Buckets of one size in the memory of this process, by any subject, such as an address at the edge. */
export class MemoryBuckets {
  private readonly levels = new Map<string, Level>();

  constructor(
    private readonly size: BucketSize,
    private readonly nowMs: () => number = Date.now,
    private readonly maxSubjects = 100_000,
  ) {}

  /** Takes `cost` tokens of a subject if they are there; a negative cost gives tokens back. */
  charge(subject: string, cost: number): Charge {
    const now = this.nowMs();
    const level = this.levels.get(subject);
    const tokens = level === undefined ? this.size.capacity : this.refilled(level, now);
    const granted = tokens >= cost;
    const left = Math.min(this.size.capacity, granted ? tokens - cost : tokens);
    this.levels.delete(subject);
    if (left < this.size.capacity) this.levels.set(subject, { tokens: left, atMs: now });
    this.forgetSome(now);
    return {
      granted,
      remaining: Math.floor(left),
      retryAfterS: granted ? 0 : Math.max(1, Math.ceil((cost - left) / this.size.refillPerSec)),
    };
  }

  private refilled(level: Level, now: number): number {
    const gained = (Math.max(0, now - level.atMs) / 1000) * this.size.refillPerSec;
    return Math.min(this.size.capacity, level.tokens + gained);
  }

  /** The map is in the order of last use, so the oldest are at its front; a full bucket need not be remembered. */
  private forgetSome(now: number): void {
    for (const [subject, level] of this.levels) {
      const full = this.refilled(level, now) >= this.size.capacity;
      if (!full && this.levels.size <= this.maxSubjects) return;
      this.levels.delete(subject);
    }
  }
}
