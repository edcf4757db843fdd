/** Load on worker processes: batches of orders through the log, and a record of what the callers and the leases saw. */

import { Redis } from "ioredis";
import { PARTITIONS } from "../../../actors/actor.js";
import { LedgerTarget } from "../../../scripts/bench/orders/ledger-target.js";
import { Load as OrderLoad } from "../../../scripts/bench/orders/load.js";
import { Keys } from "../../../stream/redis/keys.js";

const TRADERS = 96;
const LEASES_MS = 20;

export interface LoadOptions {
  readonly redisUrl: string;
  /** Number of markets, of callers that each have one request in flight, and of orders in a request. */
  readonly markets: number;
  readonly callers: number;
  readonly batch: number;
}

/** Figures of the time between two marks. */
export interface Period {
  readonly seconds: number;
  readonly orders: number;
  readonly longestMs: number;
  readonly refused: number;
  /** Number of moves of each partition that moved from one worker to another. */
  readonly moves: ReadonlyMap<string, number>;
}

export class Load {
  readonly #target: LedgerTarget;
  readonly #load: OrderLoad;
  readonly #redis: Redis;
  readonly #owners = new Map<string, string>();
  #watching: Promise<void> = Promise.resolve();
  #running = true;
  #beganMs = performance.now();
  #moves = new Map<string, number>();

  private constructor({ redisUrl, markets, callers, batch }: LoadOptions, target: LedgerTarget) {
    this.#target = target;
    this.#load = new OrderLoad(target, { markets, batch, wallets: TRADERS, outstanding: callers * batch });
    this.#redis = new Redis(redisUrl);
    this.#redis.on("error", () => undefined);
  }

  /** Creates the markets and funds the traders; a worker must be running. */
  static async open(options: LoadOptions): Promise<Load> {
    const target = await LedgerTarget.open(options.redisUrl);
    const load = new Load(options, target);
    await target.openMarkets(options.markets);
    await target.fund(load.#load.wallets);
    return load;
  }

  /** Places orders that rest far from each other, so that the actors are large when they move. */
  fill(orders: number): Promise<void> {
    return this.#target.rest(this.#load.wallets, orders);
  }

  start(): void {
    this.#load.start();
    this.#watching = this.#watchLeases();
    this.mark();
  }

  /** Returns what happened since the last mark. */
  mark(): Period {
    const now = performance.now();
    const { operations, refused, timesMs } = this.#load.take();
    const period: Period = {
      seconds: (now - this.#beganMs) / 1_000,
      orders: operations,
      longestMs: Math.round(Math.max(0, ...timesMs)),
      refused: [...refused.values()].reduce((sum, count) => sum + count, 0),
      moves: this.#moves,
    };
    this.#beganMs = now;
    this.#moves = new Map();
    return period;
  }

  /** Returns the number of partitions of each owner. */
  get shares(): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    for (const owner of this.#owners.values()) shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return shares;
  }

  async #watchLeases(): Promise<void> {
    const keys = new Keys();
    while (this.#running) {
      const pipeline = this.#redis.pipeline();
      for (const partition of PARTITIONS) pipeline.hget(keys.lease(partition), "owner");
      const owners = ((await pipeline.exec().catch(() => null)) ?? []).map(
        ([, owner]) => owner as string | null,
      );
      for (const [index, partition] of PARTITIONS.entries()) {
        const owner = owners[index] ?? "";
        const before = this.#owners.get(partition);
        if (owner === "" || owner === before) continue;
        this.#owners.set(partition, owner);
        if (before !== undefined) this.#moves.set(partition, (this.#moves.get(partition) ?? 0) + 1);
      }
      await new Promise((resolve) => setTimeout(resolve, LEASES_MS));
    }
  }

  async close(): Promise<void> {
    this.#running = false;
    await Promise.all([this.#load.stop(), this.#watching]);
    this.#redis.disconnect();
    await this.#target.close();
  }
}
