/** Token buckets that requests spend from before they are served (specification, Throttles). */

import type { Spending, Spent, TokenBucket, TokenBuckets } from "../../stream/services/token-buckets.js";

/** Names of the buckets of a payer. */
export type Bucket = "place" | "cancel" | "read" | "account" | "stream" | "history";

export interface BucketSize {
  readonly capacity: number;
  readonly refillPerSec: number;
}

/** Published sizes of the buckets. */
export const KEY_BUCKETS: Readonly<Record<Bucket, BucketSize>> = {
  place: { capacity: 256, refillPerSec: 8 },
  cancel: { capacity: 256, refillPerSec: 16 },
  read: { capacity: 64, refillPerSec: 16 },
  account: { capacity: 64, refillPerSec: 8 },
  stream: { capacity: 512, refillPerSec: 4 },
  history: { capacity: 512, refillPerSec: 4 },
};

/** Result of a charge. `retryAfterS`: seconds until the bucket holds enough; 0 when granted. */
export interface Charge {
  readonly granted: boolean;
  readonly remaining: number;
  readonly retryAfterS: number;
}

/** Buckets of all payers: wallets, traders and read keys. */
export interface Throttle {
  /**
   * Takes the cost of a request; a cost of 0 reads the level, and a negative one gives tokens back. `also` are further buckets of the same payer, with a cost
   * of one token each: a request is granted when every bucket holds its cost.
   */
  charge(payer: string, bucket: Bucket, cost: number, also?: readonly TokenBucket[]): Promise<Charge>;
  /**
   * Takes the cost of the rows of an answer, which may take the bucket below zero, down to minus its capacity. Gives the
   * token of `finished` back.
   */
  settle(payer: string, bucket: Bucket, cost: number, finished: TokenBucket): Promise<Charge>;
  /** Takes one token from a bucket of the payer that is not published. */
  admit(payer: string, rate: TokenBucket): Promise<Charge>;
}

/** Returns the time until a request would be granted, in whole seconds, rounded up for `Retry-After`. */
export function retryAfterSeconds({ buckets }: Spent): number {
  return Math.ceil(Math.max(...buckets.map(({ retryAfterMs }) => retryAfterMs)) / 1_000);
}

/** Returns the result of a charge to the first of several buckets. */
function chargeOf(spent: Spent): Charge {
  const remaining = spent.buckets[0]?.remaining ?? 0;
  return { granted: spent.granted, remaining, retryAfterS: retryAfterSeconds(spent) };
}

/** Returns the published buckets, which all gateways of an exchange share. */
export function sharedThrottle(buckets: Pick<TokenBuckets, "spend">): Throttle {
  const spend = async (payer: string, bucket: Bucket, first: Omit<Spending, "bucket">, more: Spending[]) => {
    const { capacity, refillPerSec } = KEY_BUCKETS[bucket];
    const published = { name: bucket, capacity, refill: refillPerSec, periodMs: 1_000 };
    return chargeOf(await buckets.spend(`payer:${payer}`, [{ bucket: published, ...first }, ...more]));
  };
  return {
    charge: (payer, bucket, cost, also = []) =>
      spend(
        payer,
        bucket,
        { cost },
        also.map((limit) => ({ bucket: limit, cost: 1 })),
      ),
    settle: (payer, bucket, cost, finished) =>
      spend(payer, bucket, { cost, owed: true }, [{ bucket: finished, cost: -1 }]),
    admit: async (payer, rate) =>
      chargeOf(await buckets.spend(`payer:${payer}`, [{ bucket: rate, cost: 1 }])),
  };
}

/** Throttle that grants every request and reports full buckets. */
export const unlimitedThrottle: Throttle = {
  charge: (_payer, bucket) => Promise.resolve(fullBucket(bucket)),
  settle: (_payer, bucket) => Promise.resolve(fullBucket(bucket)),
  admit: (_payer, { capacity }) => Promise.resolve({ granted: true, remaining: capacity, retryAfterS: 0 }),
};

function fullBucket(bucket: Bucket): Charge {
  return { granted: true, remaining: KEY_BUCKETS[bucket].capacity, retryAfterS: 0 };
}

interface Level {
  tokens: number;
  atMs: number;
}

/** Buckets of one size in the memory of this process, one for each subject, such as an address at the edge. */
export class MemoryBuckets {
  private readonly levels = new Map<string, Level>();

  constructor(
    private readonly size: BucketSize,
    private readonly nowMs: () => number = () => performance.now(),
    private readonly maxSubjects = 100_000,
  ) {}

  /** Takes `cost` tokens from the bucket of a subject if it holds them; a negative cost gives tokens back. */
  charge(subject: string, cost: number): Charge {
    const now = this.nowMs();
    const level = this.levels.get(subject);
    const tokens = level === undefined ? this.size.capacity : this.refilled(level, now);
    const granted = tokens >= cost;
    const left = Math.min(this.size.capacity, granted ? tokens - cost : tokens);
    this.levels.delete(subject);
    if (left < this.size.capacity) this.levels.set(subject, { tokens: left, atMs: now });
    this.evict(now);
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

  /** Drops full buckets, and the least recently used ones over the cap; the map is in the order of last use. */
  private evict(now: number): void {
    for (const [subject, level] of this.levels) {
      const full = this.refilled(level, now) >= this.size.capacity;
      if (!full && this.levels.size <= this.maxSubjects) return;
      this.levels.delete(subject);
    }
  }
}
