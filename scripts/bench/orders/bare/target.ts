/** Target of a load: the mailboxes of the bare loop. */

import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { fnv1a } from "../../../../actors/actor.js";
import type { BareOrder } from "./book.js";
import { APPEND, BARE_LEDGERS, type BareRequest, mailboxOf, REPLIES } from "./log.js";
import type { Answer, Target } from "../load.js";
import type { Operations } from "../wallet-flow.js";

type Append = (keyCount: number, mailbox: string, body: string) => Promise<unknown>;

export class BareTarget implements Target {
  readonly #redis: Redis;
  readonly #listener: Redis;
  readonly #append: Append;
  readonly #answered = new Map<number, () => void>();
  #requests = 0;

  private constructor(redisUrl: string) {
    this.#redis = new Redis(redisUrl, { enableAutoPipelining: true });
    this.#listener = new Redis(redisUrl);
    this.#redis.defineCommand("bareAppend", { lua: APPEND });
    this.#append = Reflect.get(this.#redis, "bareAppend") as Append;
  }

  /** Connects to Redis; the worker of the loop must be running. */
  static async open(redisUrl: string): Promise<BareTarget> {
    const target = new BareTarget(redisUrl);
    target.#listener.on("message", (_channel: string, ids: string) => {
      for (const id of ids.split(",")) target.#answered.get(Number(id))?.();
    });
    await target.#listener.subscribe(REPLIES);
    return target;
  }

  async send(wallet: string, operations: Operations): Promise<Answer> {
    const id = (this.#requests += 1);
    const ledger = fnv1a(wallet) % BARE_LEDGERS;
    const orders =
      operations.kind === "cancel"
        ? []
        : operations.orders.map(({ market, outcome, priceTicks, qty }): BareOrder => [
            randomUUID(),
            market,
            outcome,
            priceTicks,
            qty,
          ]);
    const request: BareRequest = {
      id,
      ledger,
      wallet,
      operations: operations.kind === "cancel" ? operations.orderIds : orders,
    };
    const answered = new Promise<void>((resolve) => this.#answered.set(id, resolve));
    await Reflect.apply(this.#append, this.#redis, [
      1,
      mailboxOf(`ledger:${ledger}`),
      JSON.stringify(request),
    ]);
    await answered;
    this.#answered.delete(id);
    return { accepted: orders.map(([orderId]) => orderId), refused: [] };
  }

  close(): void {
    this.#redis.disconnect();
    this.#listener.disconnect();
  }
}
