/** Load of orders from one process: requests of many wallets, of which a fixed number is always outstanding. */

import { randomUUID } from "node:crypto";
import { Unavailable } from "../../../stream/log/ports.js";
import { below, type Operations, sizeOf, WalletFlow } from "./wallet-flow.js";

/** Answer to a request: the ids of the accepted orders, and the reasons of the refusals. */
export interface Answer {
  readonly accepted: readonly string[];
  readonly refused: readonly string[];
}

/** Receiver of the requests of a load. */
export interface Target {
  /** Sends the operations of a wallet and resolves with their answer. */
  send(wallet: string, operations: Operations): Promise<Answer>;
}

export interface LoadOptions {
  readonly markets: number;
  /** Wallets that trade, each of a trader of its own. */
  readonly wallets: number;
  /** Number of operations in a request. */
  readonly batch: number;
  /** Number of operations that wait for their answer. */
  readonly outstanding: number;
}

/** Figures of the load since they were last taken. */
export interface Counted {
  /** Orders and cancels that were answered. */
  operations: number;
  /** Orders and cancels that were refused, by reason. */
  readonly refused: Map<string, number>;
  /** Times of the requests, in ms. */
  readonly timesMs: number[];
  /** Bytes to and from the sockets of a gateway; absent without a gateway. */
  socketBytes?: number;
}

interface Wallet {
  readonly id: string;
  readonly flow: WalletFlow;
}

export class Load {
  readonly #target: Target;
  readonly #lanes: number;
  readonly #wallets: readonly Wallet[];
  #counted: Counted = { operations: 0, refused: new Map(), timesMs: [] };
  #running: Promise<unknown> = Promise.resolve();
  #stopped = true;

  constructor(target: Target, { markets, wallets, batch, outstanding }: LoadOptions) {
    this.#target = target;
    this.#lanes = Math.max(1, Math.round(outstanding / batch));
    this.#wallets = Array.from({ length: wallets }, () => ({
      id: randomUUID(),
      flow: new WalletFlow(markets, batch),
    }));
  }

  /** Ids of the wallets; their traders have the same ids. */
  get wallets(): readonly string[] {
    return this.#wallets.map(({ id }) => id);
  }

  start(): void {
    this.#stopped = false;
    this.#running = Promise.all(Array.from({ length: this.#lanes }, () => this.#flow()));
    // The error of a lane is thrown by `stop`.
    this.#running.catch(() => undefined);
  }

  /** Returns the figures since the last call. */
  take(): Counted {
    const counted = this.#counted;
    this.#counted = { operations: 0, refused: new Map(), timesMs: [] };
    return counted;
  }

  /** Resolves when every request has its answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Sends one request after another. */
  async #flow(): Promise<void> {
    while (!this.#stopped) {
      const wallet = this.#wallets[below(this.#wallets.length)];
      if (wallet === undefined) return;
      const operations = wallet.flow.next();
      const beganMs = performance.now();
      try {
        const { accepted, refused } = await this.#target.send(wallet.id, operations);
        wallet.flow.accepted(accepted);
        this.#counted.operations += sizeOf(operations);
        for (const reason of refused) this.#refuse(reason, 1);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.#refuse("UNAVAILABLE", sizeOf(operations));
      }
      this.#counted.timesMs.push(performance.now() - beganMs);
    }
  }

  #refuse(reason: string, operations: number): void {
    this.#counted.refused.set(reason, (this.#counted.refused.get(reason) ?? 0) + operations);
  }
}
