/**
 * Wallets and markets in plain arrays. It is told what the real ledger accepted (how much an order must hold back is
 * judged by bounds, in `../differential.ts`) and decides everything that follows by itself.
 */

import { assert } from "../../../actors/units.js";
import type { LifecycleAction } from "../../../actors/market/commands.js";
import type { Currency, Grade, MarketDefinition, Order } from "../../../actors/market/types.js";
import { NaiveMarket, type OrderEvent } from "./market.js";

export interface OrderHistory {
  readonly order: Order;
  readonly marketId: string;
  readonly events: OrderEvent[];
  /** What is left; 0 once the order is at its end. */
  remaining: number;
}

export class NaiveExchange {
  readonly markets: NaiveMarket[] = [];
  readonly orders: OrderHistory[] = [];
  readonly #totals: { readonly wallet: string; readonly currency: Currency; total: number }[] = [];
  readonly house: Record<Currency, number> = { CASH: 0, COIN: 0 };
  /** What every wallet got at the last settlement of each market. */
  readonly #paid: { marketId: string; wallet: string; currency: Currency; amount: number }[] = [];

  create(definition: MarketDefinition): void {
    const market = new NaiveMarket(definition, (order, event) => this.#happened(order, event));
    this.markets.push(market);
  }

  market(marketId: string): NaiveMarket {
    const found = this.markets.find(({ definition }) => definition.marketId === marketId);
    assert(found !== undefined, `there is no market ${marketId}`);
    return found;
  }

  total(wallet: string, currency: Currency): number {
    return this.#totals.find((one) => one.wallet === wallet && one.currency === currency)?.total ?? 0;
  }

  move(wallet: string, currency: Currency, amount: number): void {
    const found = this.#totals.find((one) => one.wallet === wallet && one.currency === currency);
    if (found === undefined) this.#totals.push({ wallet, currency, total: amount });
    else found.total += amount;
  }

  /** The ledger accepted the order; it is on its way to its market. */
  accepted(marketId: string, order: Order): void {
    this.orders.push({ order, marketId, events: [], remaining: order.qty });
  }

  #happened(order: Order, event: OrderEvent): void {
    const history = this.orders.find((one) => one.order.orderId === order.orderId);
    assert(history !== undefined, `something happened to order ${order.orderId} that nobody accepted`);
    history.events.push(event);
    switch (event.kind) {
      case "open":
        history.remaining = event.qty;
        break;
      case "fill":
        history.remaining = event.remaining;
        this.move(order.wallet, order.currency, event.payout - event.cost - event.fee + event.credit);
        this.house[order.currency] += event.fee - event.credit;
        break;
      case "reduce":
        history.remaining = event.remaining;
        break;
      case "cancel":
      case "reject":
        history.remaining = 0;
        break;
      default:
        event satisfies never;
    }
  }

  /** Takes the steps in order, stopping at one that the market's status does not allow. */
  lifecycle(marketId: string, actions: readonly LifecycleAction[]): void {
    const market = this.market(marketId);
    for (const action of actions) {
      const needsOpen = action === "pause" || action === "resume";
      if (needsOpen && market.status !== "OPEN") return;
      if (action === "open" && market.grade !== undefined) return;
      this.#step(market, action);
    }
  }

  #step(market: NaiveMarket, action: LifecycleAction): void {
    switch (action) {
      case "open":
        market.status = "OPEN";
        return;
      case "close":
        if (market.status !== "OPEN") return;
        market.cancelEverything("MARKET_CLOSED");
        market.status = "CLOSED";
        market.paused = false;
        return;
      case "pause":
        market.paused = true;
        return;
      case "resume":
        market.paused = false;
        return;
      case "golive":
      case "unlive":
        if (market.live === (action === "golive")) return;
        market.cancelEverything("GO_LIVE");
        market.live = action === "golive";
        return;
      case "clear":
        market.cancelEverything("NEUTRALIZED");
        return;
      case "end":
        return;
      default:
        action satisfies never;
    }
  }

  /** Puts a grade in force, unless another one is or the kind of void does not fit. */
  grade(marketId: string, grade: Grade): boolean {
    const market = this.market(marketId);
    if (grade.kind !== "WINNER" && grade.kind !== market.definition.voids) return false;
    if (market.grade !== undefined) return JSON.stringify(market.grade) === JSON.stringify(grade);
    this.#step(market, "close");
    market.grade = grade;
    return true;
  }

  /** Pays the grade in force to everybody. */
  settle(marketId: string): void {
    const market = this.market(marketId);
    const { grade } = market;
    if (grade === undefined || market.status === "SETTLED") return;
    for (const position of market.positions) {
      const amount = market.paid(position, grade);
      const { wallet, currency } = position;
      this.move(wallet, currency, amount);
      market.escrow[currency] -= amount;
      this.#paid.push({ marketId, wallet, currency, amount });
    }
    market.status = "SETTLED";
  }

  /** Takes back what was paid. */
  remediate(marketId: string): boolean {
    const market = this.market(marketId);
    if (market.status !== "SETTLED") return false;
    for (const { wallet, currency, amount } of this.#paid.filter((one) => one.marketId === marketId)) {
      this.move(wallet, currency, -amount);
      market.escrow[currency] += amount;
    }
    const kept = this.#paid.filter((one) => one.marketId !== marketId);
    this.#paid.splice(0, this.#paid.length, ...kept);
    market.grade = undefined;
    market.status = "CLOSED";
    return true;
  }

  /** What a wallet holds of an outcome in the eyes of its owner: nothing once the market has paid. */
  held(wallet: string, marketId: string, currency: Currency, outcome: number): { qty: number; cost: number } {
    const market = this.market(marketId);
    if (market.status === "SETTLED") return { qty: 0, cost: 0 };
    const position = market.positions.find((one) => one.wallet === wallet && one.currency === currency);
    return position?.holdings[outcome] ?? { qty: 0, cost: 0 };
  }
}
