/**
 * The deltas of one command. Each delta is applied to the state as it is emitted, and each public channel gets one `seq`
 * for the whole command.
 */

import type { Format } from "../format.js";
import type { Bounds } from "../limits.js";
import type { Contracts } from "../units.js";
import type { RestingOrder } from "./book/ladder.js";
import type { MarketCommand } from "./commands.js";
import type { MarketDelta, PublicChannel } from "./deltas.js";
import { evolveMarket, type MarketState } from "./state.js";
import { type CancelReason, type Currency, type LifecycleKind, type MarketStatus } from "./types.js";

/** The channels that number their batches by currency. */
type Channel = Exclude<PublicChannel, "lifecycle">;
type Seqs = Readonly<Record<Channel, number>>;

export class Emitter {
  readonly deltas: MarketDelta[] = [];
  readonly state: MarketState;
  readonly nowMs: number;
  /** Latest format of the deltas that this command may emit. */
  readonly format: Format;
  readonly bounds: Bounds;
  /** Commands that finish what this command began, in order. */
  readonly unfinished: MarketCommand[] = [];
  #touched = 0;
  #cash: Seqs | undefined;
  #coin: Seqs | undefined;

  constructor(state: MarketState, nowMs: number, format: Format, bounds: Bounds) {
    this.state = state;
    this.nowMs = nowMs;
    this.format = format;
    this.bounds = bounds;
  }

  /** Number of orders that this command may still touch in one piece. The taker of a match does not count. */
  get room(): number {
    return this.bounds.piece - this.#touched;
  }

  /** Leaves the rest of the work to a command that the market takes before any other. */
  goOn(command: MarketCommand): void {
    this.unfinished.push(command);
  }

  emit(delta: MarketDelta): void {
    this.deltas.push(delta);
    if (delta.type === "order" && !(delta.kind === "fill" && delta.taker)) this.#touched += 1;
    evolveMarket(this.state, delta);
  }

  /** Returns the `seq` of this command on a channel. */
  seq(currency: Currency, channel: Channel): number {
    return this.#seqs(currency)[channel];
  }

  /** Emits a life-cycle step, which is a batch of its own. */
  lifecycle(kind: LifecycleKind, status: MarketStatus, byEvent?: true): void {
    this.emit({
      type: "lifecycle",
      seq: this.state.lifecycleSeq + 1,
      kind,
      status,
      ...(byEvent && { byEvent }),
    });
  }

  /** Reduces a resting order in the book to `remaining`, and removes it at 0. */
  executeResting(resting: RestingOrder, remaining: Contracts): void {
    const { orderId, currency } = resting.order;
    const seq = this.seq(currency, "book");
    if (remaining === 0) this.emit({ type: "book", seq, currency, kind: "remove", orderId, reason: "fill" });
    else this.emit({ type: "book", seq, currency, kind: "update", orderId, remaining });
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

  /** Emits the best bids that this command changed. Called once, after the command. */
  finish(): void {
    if (this.#cash !== undefined) this.#emitBbo("CASH", this.#cash);
    if (this.#coin !== undefined) this.#emitBbo("COIN", this.#coin);
  }

  #emitBbo(currency: Currency, { bbo: seq }: Seqs): void {
    const { books, resting } = this.state;
    const ladders = resting.ladders[currency];
    const { bbo } = books[currency];
    for (let outcome = 0; outcome < ladders.length; outcome += 1) {
      const best = ladders[outcome]?.best;
      const last = bbo[outcome];
      if (best?.price === last?.price && best?.qty === last?.qty) continue;
      const level = best === undefined ? null : { price: best.price, qty: best.qty };
      this.emit({ type: "bbo", seq, currency, outcome, bbo: level });
    }
  }

  #seqs(currency: Currency): Seqs {
    const { book, bbo, trades } = this.state.books[currency].seqs;
    if (currency === "CASH") return (this.#cash ??= { book: book + 1, bbo: bbo + 1, trades: trades + 1 });
    return (this.#coin ??= { book: book + 1, bbo: bbo + 1, trades: trades + 1 });
  }
}
