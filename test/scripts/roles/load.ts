/** Load on worker processes: batches of orders through the log, and a record of what the callers and the leases saw. */

import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { ledgerShardOf, PARTITIONS } from "../../../actors/actor.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { Keys } from "../../../stream/redis/keys.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { Random } from "../../simulation/machine/random.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";

const TRADERS = 96;
const FUNDS = 1_000_000_000_000;
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
  readonly #options: LoadOptions;
  readonly #log: RedisLog;
  readonly #exchange: LogExchange;
  readonly #redis: Redis;
  readonly #random = new Random(1);
  readonly #traders = Array.from({ length: TRADERS }, () => randomUUID());
  readonly #markets: readonly MarketDefinition[];
  readonly #owners = new Map<string, string>();
  #callers: Promise<void>[] = [];
  #watching: Promise<void> = Promise.resolve();
  #running = true;
  #beganMs = performance.now();
  #orders = 0;
  #longestMs = 0;
  #refused = 0;
  #moves = new Map<string, number>();

  private constructor(options: LoadOptions, log: RedisLog, exchange: LogExchange) {
    this.#options = options;
    this.#log = log;
    this.#exchange = exchange;
    this.#redis = new Redis(options.redisUrl);
    this.#redis.on("error", () => undefined);
    this.#markets = Array.from({ length: options.markets }, () => marketDefinition());
  }

  /** Creates the markets and funds the traders; a worker must be running. */
  static async open(options: LoadOptions): Promise<Load> {
    const log = await RedisLog.open({ url: options.redisUrl });
    const exchange = new LogExchange({ log, clock: systemClock, logger: silentLogger, newId: randomUUID });
    await exchange.start();
    const load = new Load(options, log, exchange);
    for (const definition of load.#markets)
      await exchange.market(definition.marketId, createMarket(definition));
    for (const trader of load.#traders) await exchange.ledger(ledgerShardOf(trader), deposit(trader, FUNDS));
    return load;
  }

  /** Places orders that rest far from each other, so that the actors are large when they move. */
  async fill(orders: number): Promise<void> {
    const { batch } = this.#options;
    for (let placed = 0; placed < orders; placed += 16 * batch) {
      await Promise.all(
        Array.from({ length: 16 }, () => this.#place(batch, () => this.#random.between(1, 40))),
      );
    }
  }

  start(): void {
    this.#callers = Array.from({ length: this.#options.callers }, () => this.#call());
    this.#watching = this.#watchLeases();
    this.mark();
  }

  /** Returns what happened since the last mark. */
  mark(): Period {
    const now = performance.now();
    const period: Period = {
      seconds: (now - this.#beganMs) / 1_000,
      orders: this.#orders,
      longestMs: Math.round(this.#longestMs),
      refused: this.#refused,
      moves: this.#moves,
    };
    [this.#beganMs, this.#orders, this.#longestMs, this.#refused] = [now, 0, 0, 0];
    this.#moves = new Map();
    return period;
  }

  /** Returns the number of partitions of each owner. */
  get shares(): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    for (const owner of this.#owners.values()) shares.set(owner, (shares.get(owner) ?? 0) + 1);
    return shares;
  }

  async #call(): Promise<void> {
    while (this.#running) {
      const began = performance.now();
      try {
        await this.#place(
          this.#options.batch,
          () => this.#random.between(400, 600) - (this.#random.between(400, 600) % 5),
        );
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#refused += 1;
      }
      this.#longestMs = Math.max(this.#longestMs, performance.now() - began);
    }
  }

  async #place(count: number, price: () => number): Promise<void> {
    const trader = this.#random.pick(this.#traders);
    const orders = Array.from({ length: count }, () =>
      orderRequest(this.#random.pick(this.#markets), {
        outcome: this.#random.below(2),
        price: price(),
        qty: this.#random.between(1, 3),
      }),
    );
    const [first] = orders;
    if (first === undefined) return;
    const reply = await this.#exchange.ledger(
      ledgerShardOf(trader),
      { ...placement(trader, first), orders },
      { timeoutMs: 10_000 },
    );
    if (!reply.ok || reply.kind !== "placed") throw new Error("the orders were not placed");
    const refused = reply.results.find((result) => !result.ok);
    if (refused !== undefined) throw new Error(`an order was refused: ${JSON.stringify(refused)}`);
    this.#orders += count;
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
    await Promise.all([...this.#callers, this.#watching]);
    this.#redis.disconnect();
    await this.#exchange.close();
    await this.#log.close();
  }
}
