/**
 * Trading on worker processes, for tests in which the servers of the log fail: it remembers what was acknowledged, follows
 * every actor, and compares both with the log afterwards.
 */

import { randomUUID } from "node:crypto";
import { expect } from "chai";
import {
  type ActorId,
  LEDGER_SHARDS,
  ledgerActor,
  ledgerShardOf,
  marketActor,
  partitionOf,
} from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { MarketDefinition } from "../../../actors/market/types.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Entry, Unavailable } from "../../../stream/log/ports.js";
import { LogTail } from "../../../stream/log/tail.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { checkLedger, checkMarket, checkMoney } from "../../actors/invariants.js";
import { Random } from "../../simulation/machine/random.js";
import {
  createMarket,
  deposit,
  marketDefinition,
  orderRequest,
  placement,
} from "../../support/exchange/commands.js";
import { RoleProcess } from "../../support/role-process.js";
import { untilWithin } from "../../support/until.js";

const MARKETS = 6;
const TRADERS = 24;
const CALLERS = 12;
const FUNDS = 1_000_000_000;
const QUIET_MS = 20_000;
/** Longest wait of a caller, in ms. A fail-over takes about four seconds. */
const ASK_MS = 15_000;
/** Time without a new entry after which the exchange is quiet, in ms. */
const SAME_MS = 500;

/** Order of which the exchange has acknowledged that it rests, or may match. */
export interface Acknowledged {
  readonly trader: string;
  readonly marketId: string;
  readonly orderId: string;
}

/** Folds the entries of an actor like a reader outside the worker: from a state of the log, and again after each gap. */
class Follower {
  readonly #actor: ActorId;
  readonly #log: RedisLog;
  readonly #tail: LogTail;
  #stop: () => void = () => undefined;
  #loading: Promise<void> = Promise.resolve();
  #state: unknown;
  seq = 0;
  gaps = 0;

  constructor(log: RedisLog, tail: LogTail, actor: ActorId) {
    this.#log = log;
    this.#tail = tail;
    this.#actor = actor;
  }

  async load(): Promise<void> {
    const { state, seq } = await untilWithin(QUIET_MS, () =>
      loadState({ log: this.#log, actorOf, logger: silentLogger }, this.#actor),
    );
    this.#state = state;
    this.seq = seq;
    this.#stop = this.#tail.follow(
      this.#actor,
      seq,
      (entries) => this.#fold(entries),
      () => {
        this.gaps += 1;
        this.#stop();
        this.#loading = this.load();
      },
    );
  }

  #fold(entries: readonly Entry[]): void {
    const actor = actorOf(this.#actor);
    for (const { seq, batches } of entries) {
      for (const { deltas, ts } of batches) for (const delta of deltas) actor.evolve(this.#state, delta, ts);
      this.seq = seq;
    }
  }

  /** Returns the state as a snapshot would have it. */
  async saved(): Promise<unknown> {
    await this.#loading;
    return actorOf(this.#actor).saveWhole(this.#state);
  }

  close(): void {
    this.#stop();
  }
}

function asJson(saved: unknown): unknown {
  return JSON.parse(JSON.stringify(saved));
}

/** Figures of the trading since the last mark. */
export interface Period {
  readonly orders: number;
  readonly refused: number;
  readonly longestMs: number;
}

export class Trading {
  readonly log: RedisLog;
  readonly #env: Readonly<Record<string, string>>;
  readonly #workers: RoleProcess[] = [];
  readonly #exchange: LogExchange;
  readonly #tail: LogTail;
  readonly #random = new Random(1);
  readonly #traders = Array.from({ length: TRADERS }, () => randomUUID());
  readonly markets: readonly MarketDefinition[] = Array.from({ length: MARKETS }, () => marketDefinition());
  readonly acknowledged: Acknowledged[] = [];
  readonly #followers = new Map<ActorId, Follower>();
  #callers: Promise<void>[] = [];
  #running = true;
  #orders = 0;
  #refused = 0;
  #longestMs = 0;

  private constructor(url: string, env: Readonly<Record<string, string>>, log: RedisLog) {
    this.#env = { REDIS_URL: url, ...env };
    this.log = log;
    const ports = { log, clock: systemClock, logger: silentLogger };
    this.#exchange = new LogExchange({ ...ports, newId: randomUUID });
    this.#tail = new LogTail(ports);
  }

  /** Starts a worker, creates the markets, funds the traders and follows every actor. */
  static async open(url: string, env: Readonly<Record<string, string>> = {}): Promise<Trading> {
    const trading = new Trading(url, env, await RedisLog.open({ url }));
    // All processes are of this build, so its format need not rise first.
    await trading.log.recordFormat("", String(LATEST_FORMAT));
    await trading.startWorker();
    await trading.#exchange.start();
    for (const definition of trading.markets)
      await trading.#exchange.market(definition.marketId, createMarket(definition));
    for (const trader of trading.#traders)
      await trading.#exchange.ledger(ledgerShardOf(trader), deposit(trader, FUNDS));
    for (const actor of trading.actors) {
      const follower = new Follower(trading.log, trading.#tail, actor);
      trading.#followers.set(actor, follower);
      await follower.load();
    }
    return trading;
  }

  get actors(): readonly ActorId[] {
    return [
      ...Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard)),
      ...this.markets.map(({ marketId }) => marketActor(marketId)),
    ];
  }

  async startWorker(): Promise<RoleProcess> {
    const worker = new RoleProcess("worker", this.#env);
    this.#workers.push(worker);
    await worker.ready;
    return worker;
  }

  start(): void {
    this.#running = true;
    this.#callers = Array.from({ length: CALLERS }, () => this.#call());
  }

  /** Ends the callers; resolves when each has its last answer. */
  async pause(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#callers);
  }

  /** Returns what happened since the last mark. */
  mark(): Period {
    const period = { orders: this.#orders, refused: this.#refused, longestMs: Math.round(this.#longestMs) };
    [this.#orders, this.#refused, this.#longestMs] = [0, 0, 0];
    return period;
  }

  async #call(): Promise<void> {
    while (this.#running) {
      const began = performance.now();
      try {
        await this.#place();
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#refused += 1;
      }
      this.#longestMs = Math.max(this.#longestMs, performance.now() - began);
    }
  }

  /** Places an order that rests far from all others, or one that may match at once. */
  async #place(): Promise<void> {
    const trader = this.#random.pick(this.#traders);
    const market = this.#random.pick(this.markets);
    const rests = this.#random.chance(0.5);
    const order = orderRequest(market, {
      outcome: this.#random.below(2),
      price: rests ? this.#random.between(1, 40) : 5 * this.#random.between(80, 120),
      qty: this.#random.between(1, 5),
    });
    const reply = await this.#exchange.ledger(ledgerShardOf(trader), placement(trader, order), {
      timeoutMs: ASK_MS,
    });
    if (!reply.ok || reply.kind !== "placed" || reply.results[0]?.ok !== true)
      throw new Error(`an order was refused: ${JSON.stringify(reply)}`);
    this.#orders += 1;
    if (rests) this.acknowledged.push({ trader, marketId: market.marketId, orderId: order.orderId });
  }

  /** Resolves when no actor has anything left to do, or, with `halted` ones, when none does anything more. */
  async quiet({ halted = false } = {}): Promise<void> {
    const partitions = [...new Set(this.actors.map(partitionOf))];
    let before = "";
    let sameSinceMs = 0;
    await untilWithin(QUIET_MS, async () => {
      const actors = (await Promise.all(partitions.map((partition) => this.log.scan(partition)))).flat();
      const now = JSON.stringify(actors.map(({ actor, head }) => [actor, head.seq]));
      if (now !== before) sameSinceMs = performance.now();
      before = now;
      const hasWork = actors.some(({ waiting, head }) => waiting > 0 || head.relayed < head.seq);
      if ((hasWork && !halted) || performance.now() - sameSinceMs < SAME_MS) throw new Error(now);
    });
  }

  async #stateOf(actor: ActorId): Promise<unknown> {
    return (await loadState({ log: this.log, actorOf, logger: silentLogger }, actor)).state;
  }

  async ledgers(): Promise<readonly LedgerState[]> {
    const shards = Array.from({ length: LEDGER_SHARDS }, (_, shard) => ledgerActor(shard));
    return Promise.all(shards.map(async (actor) => (await this.#stateOf(actor)) as LedgerState));
  }

  async marketStates(): Promise<readonly MarketState[]> {
    const ids = this.markets.map(({ marketId }) => marketActor(marketId));
    return Promise.all(ids.map(async (actor) => (await this.#stateOf(actor)) as MarketState));
  }

  /** Returns the acknowledged resting orders that their ledger or their market does not have. */
  async lost(): Promise<readonly Acknowledged[]> {
    const [ledgers, markets] = await Promise.all([this.ledgers(), this.marketStates()]);
    return this.acknowledged.filter(({ trader, marketId, orderId }) => {
      const wallet = ledgers[ledgerShardOf(trader)]?.wallets.get(trader);
      const market = markets.find((state) => state.marketId === marketId);
      return wallet?.orders.has(orderId) !== true || market?.resting.get(orderId) === undefined;
    });
  }

  /** Throws unless every actor satisfies its invariants, and no money is missing between them. */
  async checkMoney(): Promise<void> {
    const [ledgers, markets] = await Promise.all([this.ledgers(), this.marketStates()]);
    for (const market of markets) checkMarket(market);
    for (const ledger of ledgers) checkLedger(ledger, new Set());
    checkMoney(markets, ledgers, "CASH", 0);
  }

  /**
   * Checks that the exchange gets quiet, has refused nothing, has made no caller wait longer than `longestMs`, and has
   * every acknowledged order, the same money, and readers with the same entries.
   */
  async expectNothingLost(longestMs: number): Promise<void> {
    await this.quiet();
    const served = this.mark();
    expect(served.refused).to.equal(0);
    expect(served.longestMs).to.be.below(longestMs);
    expect(await this.lost()).to.deep.equal([]);
    expect([...(await this.log.halted())]).to.deep.equal([]);
    await this.checkMoney();
    await this.expectSameFollowers();
  }

  /** Expects that every follower has the state of the log. */
  async expectSameFollowers(): Promise<void> {
    for (const [actor, follower] of this.#followers) {
      await untilWithin(QUIET_MS, async () => {
        const [head] = await this.log.heads(partitionOf(actor), [actor]);
        expect(follower.seq, actor).to.equal(head?.seq);
      });
      const expected = actorOf(actor).saveWhole(await this.#stateOf(actor));
      expect(asJson(await follower.saved()), actor).to.deep.equal(asJson(expected));
    }
  }

  /** Number of times that a follower has found entries missing, and has loaded its actor again. */
  get gaps(): number {
    return [...this.#followers.values()].reduce((sum, { gaps }) => sum + gaps, 0);
  }

  async close(): Promise<void> {
    await this.pause();
    for (const follower of this.#followers.values()) follower.close();
    await this.#tail.close();
    await this.#exchange.close();
    for (const { child } of this.#workers) child.kill("SIGKILL");
    await Promise.all(this.#workers.map(({ exited }) => exited));
    await this.log.close();
  }
}
