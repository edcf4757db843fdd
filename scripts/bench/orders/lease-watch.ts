/** Watches which worker owns each partition. */

import { Redis } from "ioredis";
import { PARTITIONS } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";

/** Time between two looks, in ms, shorter than any ownership lasts. */
const INTERVAL_MS = 20;

export class LeaseWatch {
  readonly #redis: Redis;
  readonly #owners = new Map<string, string>();
  #moves = new Map<string, number>();
  readonly #watching: Promise<void>;
  #isOpen = true;

  constructor(redisUrl: string) {
    this.#redis = new Redis(redisUrl);
    // A Redis that is away is asked again.
    this.#redis.on("error", () => undefined);
    this.#watching = this.#watch();
  }

  /** Number of partitions of each owner. */
  get shares(): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    for (const owner of this.#owners.values()) shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return shares;
  }

  /** Returns how often each partition has moved from one worker to another since the last call; only those that have. */
  takeMoves(): ReadonlyMap<string, number> {
    const moves = this.#moves;
    this.#moves = new Map();
    return moves;
  }

  async #watch(): Promise<void> {
    const keys = new Keys();
    while (this.#isOpen) {
      const pipeline = this.#redis.pipeline();
      for (const partition of PARTITIONS) pipeline.hget(keys.lease(partition), "owner");
      const owners = ((await pipeline.exec().catch(() => null)) ?? []).map(
        ([, owner]) => owner as string | null,
      );
      for (const [index, partition] of PARTITIONS.entries()) this.#seen(partition, owners[index] ?? "");
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    }
  }

  #seen(partition: string, owner: string): void {
    const before = this.#owners.get(partition);
    if (owner === "" || owner === before) return;
    this.#owners.set(partition, owner);
    if (before !== undefined) this.#moves.set(partition, (this.#moves.get(partition) ?? 0) + 1);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#watching;
    this.#redis.disconnect();
  }
}
