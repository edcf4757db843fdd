/** Load on worker processes: batches of orders through the log, and a record of what the callers and the leases saw. */

import { LeaseWatch } from "../../../scripts/bench/orders/lease-watch.js";
import { LedgerTarget } from "../../../scripts/bench/orders/ledger-target.js";
import { Load as OrderLoad, type Target } from "../../../scripts/bench/orders/load.js";
import { pause } from "../../stream/log/support.js";

const TRADERS = 96;
/** Pause of a caller before each request, in ms, so that the processes that start have the cores too. */
const PAUSE_MS = 40;

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
  readonly #leases: LeaseWatch;
  #beganMs = performance.now();

  private constructor({ redisUrl, markets, callers, batch }: LoadOptions, target: LedgerTarget) {
    this.#target = target;
    const paced: Target = {
      send: async (...request) => {
        await pause(PAUSE_MS);
        return target.send(...request);
      },
    };
    this.#load = new OrderLoad(paced, { markets, batch, wallets: TRADERS, outstanding: callers * batch });
    this.#leases = new LeaseWatch(redisUrl);
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
      moves: this.#leases.takeMoves(),
    };
    this.#beganMs = now;
    return period;
  }

  /** Returns the number of partitions of each owner. */
  get shares(): ReadonlyMap<string, number> {
    return this.#leases.shares;
  }

  async close(): Promise<void> {
    await Promise.all([this.#load.stop(), this.#leases.close()]);
    await this.#target.close();
  }
}
