/** Levels of the token buckets of a key, as its answers report them (contract section 5.8). */

import { pause, type RawAnswer } from "./connection.js";
import type { LimitsAnswer } from "./wire/account.js";

/** Names of the buckets. */
export type BucketName = "place" | "cancel" | "read" | "account" | "stream" | "history";

/** Tokens that a request costs before the rows of its answer are known. */
export interface Price {
  readonly bucket: BucketName;
  readonly cost: number;
}

/** Size of a bucket. */
interface Size {
  readonly capacity: number;
  readonly refillPerSec: number;
}

/** Published sizes (contract section 5.8); an answer of `GET /v3/limits` replaces them. */
const PUBLISHED: Readonly<Record<BucketName, Size>> = {
  place: { capacity: 256, refillPerSec: 8 },
  cancel: { capacity: 256, refillPerSec: 16 },
  read: { capacity: 64, refillPerSec: 16 },
  account: { capacity: 64, refillPerSec: 8 },
  stream: { capacity: 512, refillPerSec: 4 },
  history: { capacity: 512, refillPerSec: 4 },
};

/** Longest wait before the level is looked at again, in ms: an answer may have reported another one. */
const LOOK_MS = 50;

interface Bucket {
  size: Size;
  tokens: number;
  atMs: number;
  /** Cost of the requests that have no answer yet. */
  inFlight: number;
  /** Resolves when the last request of the queue has its tokens. */
  queue: Promise<void>;
}

/**
 * Estimates the tokens that are left, so that requests wait for theirs instead of being refused. Other programs with the
 * same key spend from the same buckets; each answer corrects the estimate.
 */
export class TokenBuckets {
  readonly #buckets = new Map<BucketName, Bucket>();

  /** Returns the tokens that a bucket holds now. */
  level(name: BucketName): number {
    return Math.max(0, Math.floor(this.#refilled(name).tokens));
  }

  /**
   * Takes tokens as soon as the bucket holds them, in the order of the calls. A cost over the capacity waits for a full
   * bucket. Takes them after `withinMs` in any case, so that the exchange decides.
   */
  take(price: Price, withinMs = Infinity): Promise<void> {
    const bucket = this.#refilled(price.bucket);
    const until = Date.now() + withinMs;
    bucket.queue = bucket.queue.then(() => this.#takeNext(price, until));
    return bucket.queue;
  }

  async #takeNext({ bucket: name, cost }: Price, until: number): Promise<void> {
    for (;;) {
      const bucket = this.#refilled(name);
      const { capacity, refillPerSec } = bucket.size;
      const missing = Math.min(cost, capacity) - bucket.tokens;
      const leftMs = until - Date.now();
      if (missing <= 0 || leftMs <= 0) {
        bucket.tokens -= cost;
        bucket.inFlight += cost;
        return;
      }
      await pause(Math.min(LOOK_MS, leftMs, Math.ceil((missing / refillPerSec) * 1_000)));
    }
  }

  /** Ends a request that has taken tokens, and takes over the level that its answer reports, if it has one. */
  settle({ bucket: name, cost }: Price, answer: Pick<RawAnswer, "headers"> | undefined): void {
    const bucket = this.#refilled(name);
    bucket.inFlight -= cost;
    const { "x-ratelimit-bucket": charged, "x-ratelimit-remaining": remaining } = answer?.headers ?? {};
    if (charged === name && remaining !== undefined) bucket.tokens = Number(remaining) - bucket.inFlight;
  }

  /** Takes over sizes and levels. */
  replace(limits: LimitsAnswer): void {
    for (const name of Object.keys(PUBLISHED) as BucketName[]) {
      const { capacity, refillPerSec, remaining } = limits[name];
      const bucket = this.#refilled(name);
      bucket.size = { capacity, refillPerSec };
      bucket.tokens = remaining - bucket.inFlight;
    }
  }

  /** Returns a bucket with the tokens that it has gained since it was looked at. */
  #refilled(name: BucketName): Bucket {
    const now = Date.now();
    const size = PUBLISHED[name];
    const full = { size, tokens: size.capacity, atMs: now, inFlight: 0, queue: Promise.resolve() };
    const bucket = this.#buckets.get(name) ?? full;
    this.#buckets.set(name, bucket);
    const gained = (Math.max(0, now - bucket.atMs) / 1_000) * bucket.size.refillPerSec;
    bucket.tokens = Math.min(bucket.size.capacity, bucket.tokens + gained);
    bucket.atMs = now;
    return bucket;
  }
}
