/**
 * What one command says, as it says it: each delta is applied to the state at once, and the public channels get
 * one `seq` each for the whole command.
 */

import type { Contracts } from "../units.js";
import type { BookDelta, MarketDelta } from "./deltas.js";
import type { RestingOrder } from "./ladder.js";
import { evolveMarket, type MarketState } from "./state.js";
import {
  CURRENCIES,
  type CancelReason,
  type Currency,
  type LifecycleKind,
  type MarketStatus,
} from "./types.js";

type Channel = "book" | "bbo" | "trades";

export class Emitter {
  readonly deltas: MarketDelta[] = [];
  readonly state: MarketState;
  readonly nowMs: number;
  readonly #seqs: Record<Currency, Partial<Record<Channel, number>>> = { CASH: {}, COIN: {} };

  constructor(state: MarketState, nowMs: number) {
    this.state = state;
    this.nowMs = nowMs;
  }

  emit(delta: MarketDelta): void {
    this.deltas.push(delta);
    evolveMarket(this.state, delta);
  }

  /** The number of this command's batch on a channel. */
  seq(currency: Currency, channel: Channel): number {
    return (this.#seqs[currency][channel] ??= this.state.books[currency].seqs[channel] + 1);
  }

  /** Lifecycle steps are told one by one: a batch each. */
  lifecycle(kind: LifecycleKind, status: MarketStatus): void {
    this.emit({ type: "lifecycle", seq: this.state.lifecycleSeq + 1, kind, status });
  }

  /** Takes a quantity off a resting order in the book; gone when nothing is left. */
  executeResting(resting: RestingOrder, remaining: Contracts): void {
    const { orderId, currency } = resting.order;
    const common = { type: "book", seq: this.seq(currency, "book"), currency, orderId } as const;
    const delta: BookDelta =
      remaining === 0
        ? { ...common, kind: "remove", reason: "fill" }
        : { ...common, kind: "update", remaining };
    this.emit(delta);
  }

  cancelResting(resting: RestingOrder, reason: CancelReason | undefined): void {
    const { orderId, currency, wallet, ledger } = resting.order;
    const { remaining } = resting;
    this.emit({
      type: "book",
      seq: this.seq(currency, "book"),
      currency,
      kind: "remove",
      orderId,
      reason: "cancel",
    });
    this.emit({ type: "order", kind: "cancel", orderId, wallet, ledger, remaining, reason });
  }

  /** Tells the best bids that this command changed. */
  finish(): void {
    for (const currency of CURRENCIES) {
      if (this.#seqs[currency].book === undefined) continue;
      const { ladders, bbo } = this.state.books[currency];
      ladders.forEach((ladder, outcome) => {
        const best = ladder.best;
        const told = bbo[outcome];
        if (best?.price === told?.price && best?.qty === told?.qty) return;
        this.emit({
          type: "bbo",
          seq: this.seq(currency, "bbo"),
          currency,
          outcome,
          bbo: best === undefined ? null : { price: best.price, qty: best.qty },
        });
      });
    }
  }
}
