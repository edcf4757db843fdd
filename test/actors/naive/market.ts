/** Market in plain arrays: matching, netting, life cycle and settlement by contract sections 2 to 4. */

import { assert } from "../../../actors/units.js";
import type {
  CancelReason,
  Currency,
  Grade,
  MarketDefinition,
  MarketStatus,
  Order,
  RejectReason,
} from "../../../actors/market/types.js";
import { creditFor, feeFor } from "./arithmetic.js";
import { type NaivePosition, net } from "./netting.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { OrderRequest } from "../../../actors/ledger/types.js";

export interface NaiveOrder {
  readonly order: Order;
  remaining: number;
}

/** Returns the time at which an order expires by itself, by contract section 2.6. */
export function expiryOf(
  { ttlMs }: Pick<OrderRequest, "tif" | "ttlMs">,
  acceptedTs: number,
): number | undefined {
  return ttlMs === undefined ? undefined : acceptedTs + ttlMs;
}

export type OrderEvent =
  | { readonly kind: "open"; readonly qty: number }
  | {
      readonly kind: "fill";
      readonly price: number;
      readonly qty: number;
      readonly remaining: number;
      readonly cost: number;
      readonly payout: number;
      readonly fee: number;
      readonly credit: number;
      readonly taker: boolean;
      readonly wash: boolean;
    }
  | { readonly kind: "reduce"; readonly remaining: number }
  | { readonly kind: "cancel"; readonly remaining: number; readonly reason: CancelReason | undefined }
  | { readonly kind: "reject"; readonly reason: RejectReason };

export interface Print {
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: number;
  readonly qty: number;
}

interface Match {
  readonly price: number;
  readonly qty: number;
  readonly legs: readonly { readonly maker: NaiveOrder; readonly price: number }[];
}

export class NaiveMarket {
  definition: MarketDefinition;
  status: MarketStatus = "CLOSED";
  /** True if the event has closed the market. */
  closedByEvent = false;
  paused = false;
  live = false;
  grade: Grade | undefined;
  /** Resting orders of both books, in the order in which they came to rest. */
  resting: NaiveOrder[] = [];
  held: (NaiveOrder & { readonly untilMs: number })[] = [];
  readonly positions: NaivePosition[] = [];
  readonly escrow: Record<Currency, number> = { CASH: 0, COIN: 0 };
  readonly volume: Record<Currency, number> = { CASH: 0, COIN: 0 };
  readonly prints: Print[] = [];
  readonly #onEvent: (order: Order, event: OrderEvent) => void;

  constructor(definition: MarketDefinition, onEvent: (order: Order, event: OrderEvent) => void) {
    this.definition = definition;
    this.#onEvent = onEvent;
  }

  get outcomes(): number {
    return this.definition.outcomes.length;
  }

  enter(order: Order, now: number): void {
    const reason = this.#rejectReason(order, now);
    if (reason !== undefined) this.#onEvent(order, { kind: "reject", reason });
    else if (this.live && this.definition.liveDelayMs > 0 && order.tif !== "PO")
      this.held.push({ order, remaining: order.qty, untilMs: now + this.definition.liveDelayMs });
    else this.#execute(order, order.qty);
  }

  #rejectReason(order: Order, now: number): RejectReason | undefined {
    if (this.status !== "OPEN") return "MARKET_CLOSED";
    if (order.outcome >= this.outcomes) return "UNKNOWN_OUTCOME";
    if (this.paused) return "MARKET_PAUSED";
    if (order.notAfter !== undefined && order.notAfter < now) return "EXPIRED_IN_FLIGHT";
    if (order.expiresAt !== undefined && order.expiresAt <= now) return "EXPIRED";
    const charged = order.fee.coefficientPpm > 0 && (order.fee.charged === "ALWAYS" || this.live);
    return charged && !order.feeReserved ? "GO_LIVE" : undefined;
  }

  /** Returns the bids of one book and outcome, by best price and then by the time of resting. */
  ladder(currency: Currency, outcome: number): NaiveOrder[] {
    const bids = this.resting.filter(({ order }) => order.currency === currency && order.outcome === outcome);
    return bids.sort((a, b) => b.order.price - a.order.price);
  }

  /** Returns the best order of every other outcome, if their prices and the taker's sum to at least 1. */
  #opposite(order: Order): NaiveOrder[] | undefined {
    const legs: NaiveOrder[] = [];
    let sum: number = order.price;
    for (let outcome = 0; outcome < this.outcomes; outcome += 1) {
      if (outcome === order.outcome) continue;
      const [best] = this.ladder(order.currency, outcome);
      if (best === undefined) return undefined;
      legs.push(best);
      sum += best.order.price;
    }
    return sum >= 1_000 ? legs : undefined;
  }

  #execute(order: Order, qty: number): void {
    if (order.tif === "PO" && this.#opposite(order) !== undefined) {
      this.#onEvent(order, { kind: "reject", reason: "WOULD_MATCH" });
      return;
    }
    if (order.tif === "FOK" && !this.#fillsWhole(order, qty)) {
      this.#onEvent(order, { kind: "reject", reason: "NOT_FILLABLE" });
      return;
    }
    let left = qty;
    let stoppedByOwnOrder = false;
    while (left > 0) {
      const legs = this.#opposite(order);
      if (legs === undefined) break;
      const own = legs.find((leg) => leg.order.trader === order.trader);
      if (own === undefined) left -= this.#match(order, legs, left);
      else if (order.selfTrade === "cancel_maker") this.#cancel(own, "SELF_TRADE");
      else if (order.selfTrade === "wash") left -= this.#wash(order, own, left);
      else {
        stoppedByOwnOrder = true;
        break;
      }
    }
    if (left === 0) return;
    if (!stoppedByOwnOrder && order.tif !== "IOC") {
      this.resting.push({ order: { ...order, qty: order.qty }, remaining: left });
      this.#onEvent(order, { kind: "open", qty: left });
      return;
    }
    const untouched = left === qty;
    if (untouched)
      this.#onEvent(order, { kind: "reject", reason: stoppedByOwnOrder ? "SELF_TRADE" : "NO_MATCH" });
    else
      this.#onEvent(order, {
        kind: "cancel",
        remaining: left,
        reason: stoppedByOwnOrder ? "SELF_TRADE" : undefined,
      });
  }

  /** Returns true if the whole order fills on a copy of the book. */
  #fillsWhole(order: Order, qty: number): boolean {
    let filled = 0;
    const copy = new NaiveMarket(this.definition, (about, event) => {
      if (about.orderId === order.orderId && event.kind === "fill") filled += event.qty;
    });
    copy.live = this.live;
    copy.resting = this.resting.map((resting) => ({ ...resting }));
    for (const position of this.positions)
      copy.positions.push({ ...position, holdings: position.holdings.map((holding) => ({ ...holding })) });
    copy.#execute({ ...order, tif: "IOC" }, qty);
    return filled === qty;
  }

  #wash(order: Order, own: NaiveOrder, left: number): number {
    const qty = Math.min(left, own.remaining);
    const nothing = { cost: 0, payout: 0, fee: 0, credit: 0, wash: true } as const;
    own.remaining -= qty;
    this.#onEvent(own.order, {
      kind: "fill",
      price: own.order.price,
      qty,
      remaining: own.remaining,
      taker: false,
      ...nothing,
    });
    this.#onEvent(order, {
      kind: "fill",
      price: order.price,
      qty,
      remaining: left - qty,
      taker: true,
      ...nothing,
    });
    this.#removeFilled();
    return qty;
  }

  #match(order: Order, makers: readonly NaiveOrder[], left: number): number {
    const { price, qty, legs } = this.#priced(order, makers, left);
    const charged = order.fee.charged === "ALWAYS" || this.live;
    const fee = charged ? feeFor(order.fee, price, qty) : 0;
    const credit = creditFor(order.fee, fee, legs.length);
    for (const leg of legs) {
      leg.maker.remaining -= qty;
      const { outcome, currency } = leg.maker.order;
      this.#fill(leg.maker.order, leg.price, qty, leg.maker.remaining, { fee: 0, credit, taker: false });
      this.prints.push({ currency, outcome, price: this.nearestTick(leg.price), qty });
    }
    this.#fill(order, price, qty, left - qty, { fee, credit: 0, taker: true });
    this.volume[order.currency] += qty;
    this.#removeFilled();
    return qty;
  }

  #priced(order: Order, makers: readonly NaiveOrder[], left: number): Match {
    const qty = Math.min(left, ...makers.map((maker) => maker.remaining));
    const legs = makers.map((maker) => ({ maker, price: 0 + maker.order.price }));
    const sum = (): number => legs.reduce((total, leg) => total + leg.price, 0);
    const lowest = Math.min(this.definition.ticks[0] ?? 1, order.price);
    const price = Math.max(lowest, 1_000 - sum());
    while (sum() + price > 1_000) {
      const top = Math.max(...legs.map((leg) => leg.price));
      const dearest = legs.filter((leg) => leg.price === top);
      const [youngest] = dearest.sort((a, b) => this.#restingRank(b.maker) - this.#restingRank(a.maker));
      assert(youngest !== undefined, "a match has no maker");
      const below = this.definition.ticks.filter((tick) => tick < top).at(-1) ?? 1;
      youngest.price -= Math.min(top - below, sum() + price - 1_000);
    }
    return { price, qty, legs };
  }

  #restingRank(order: NaiveOrder): number {
    return this.resting.indexOf(order);
  }

  nearestTick(price: number): number {
    const distance = (tick: number): number => Math.abs(tick - price);
    const [nearest] = [...this.definition.ticks].sort((a, b) => distance(a) - distance(b) || a - b);
    return nearest ?? price;
  }

  #fill(
    order: Order,
    price: number,
    qty: number,
    remaining: number,
    rest: { fee: number; credit: number; taker: boolean },
  ): void {
    const cost = price * qty;
    const position = this.positionOf(order.wallet, order.currency);
    const bought = position.holdings[order.outcome];
    assert(bought !== undefined, "an order on no outcome fills");
    bought.qty += qty;
    bought.cost += cost;
    const payout = net(position, this.definition.voids);
    this.escrow[order.currency] += cost - payout;
    this.#onEvent(order, { kind: "fill", price, qty, remaining, cost, payout, ...rest, wash: false });
  }

  positionOf(wallet: string, currency: Currency): NaivePosition {
    const found = this.positions.find(
      (position) => position.wallet === wallet && position.currency === currency,
    );
    if (found !== undefined) return found;
    const holdings = this.definition.outcomes.map(() => ({ qty: 0, cost: 0 }));
    const created: NaivePosition = { wallet, currency, holdings, win: 0, push: 0 };
    this.positions.push(created);
    return created;
  }

  #removeFilled(): void {
    this.resting = this.resting.filter(({ remaining }) => remaining > 0);
  }

  #cancel(order: NaiveOrder, reason: CancelReason | undefined): void {
    this.resting = this.resting.filter((other) => other !== order);
    this.held = this.held.filter((other) => other !== order);
    this.#onEvent(order.order, { kind: "cancel", remaining: order.remaining, reason });
  }

  #find(orderId: string): NaiveOrder | undefined {
    return [...this.resting, ...this.held].find(({ order }) => order.orderId === orderId);
  }

  cancel(orderIds: readonly string[], reason: CancelReason | undefined): void {
    for (const orderId of orderIds) {
      const found = this.#find(orderId);
      if (found !== undefined) this.#cancel(found, reason);
    }
  }

  cancelEverything(reason: CancelReason): void {
    for (const order of [...this.resting, ...this.held]) this.#cancel(order, reason);
  }

  amend(orderId: string, qty: number): void {
    const found = this.#find(orderId);
    if (found === undefined || found.remaining <= qty) return;
    found.remaining = qty;
    this.#onEvent(found.order, { kind: "reduce", remaining: qty });
  }

  /** Expires and enters every order that is due by `now`, in order of time. */
  advanceTo(now: number): void {
    for (;;) {
      const due = [
        ...this.resting.map((order) => ({ order, at: order.order.expiresAt ?? Infinity, held: false })),
        ...this.held.map((order) => ({ order, at: order.untilMs, held: true })),
      ].filter(({ at }) => at <= now);
      const [first] = due.sort((a, b) => a.at - b.at || Number(a.held) - Number(b.held));
      if (first === undefined) return;
      const { order, held } = first;
      if (!held) {
        this.#cancel(order, undefined);
        continue;
      }
      this.held = this.held.filter((other) => other !== order);
      const reason = this.#rejectReason(order.order, now);
      if (reason === undefined) this.#execute(order.order, order.remaining);
      else this.#onEvent(order.order, { kind: "reject", reason });
    }
  }

  /** Returns the payout of a position under a grade. */
  payoutOf(position: NaivePosition, grade: Grade): number {
    const { holdings, win, push } = position;
    switch (grade.kind) {
      case "WINNER":
        return 1_000 * (holdings[grade.outcome]?.qty ?? 0) + win;
      case "PUSH":
        return holdings.reduce((sum, { cost }) => sum + cost, push);
      case "FMV":
        return holdings.reduce((sum, { qty }, outcome) => sum + qty * (grade.prices[outcome] ?? 0), 0);
      default:
        return unreachable(grade);
    }
  }
}
