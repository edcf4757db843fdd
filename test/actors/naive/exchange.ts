/**
 * Wallets and markets in plain arrays. The naive exchange receives the orders that the real ledger accepted, because
 * `../differential/order-steps.ts` checks reserves only by bounds. All later events follow from its own rules.
 */

import { assert } from "../../../actors/units.js";
import type { LifecycleAction } from "../../../actors/market/commands.js";
import type { Currency, Grade, MarketDefinition, Order } from "../../../actors/market/types.js";
import { NaiveMarket, type OrderEvent } from "./market.js";
import { unreachable } from "../../../actors/unreachable.js";

export interface OrderHistory {
  readonly order: Order;
  readonly marketId: string;
  readonly groupId: string | undefined;
  readonly events: OrderEvent[];
  /** Remaining quantity; 0 after the order has ended. */
  remaining: number;
}

interface NaiveGroup {
  readonly wallet: string;
  readonly groupId: string;
  readonly maxFilledQty: number;
  readonly windowMs: number;
  tripped: boolean;
  fills: { readonly at: number; readonly qty: number }[];
}

export class NaiveExchange {
  /** Clock of the exchange, in ms. */
  now = 0;
  readonly #groups: NaiveGroup[] = [];
  /** Tripped groups whose orders are not canceled yet. */
  #tripped: NaiveGroup[] = [];
  #deadmen: { readonly wallet: string; readonly at: number }[] = [];
  readonly markets: NaiveMarket[] = [];
  readonly orders: OrderHistory[] = [];
  readonly #totals: { readonly wallet: string; readonly currency: Currency; total: number }[] = [];
  readonly house: Record<Currency, number> = { CASH: 0, COIN: 0 };
  /** Payouts to every wallet at the last settlement of each market. */
  readonly #payouts: { marketId: string; wallet: string; currency: Currency; amount: number }[] = [];

  create(definition: MarketDefinition): void {
    const market = new NaiveMarket(definition, (order, event) => this.#recordEvent(order, event));
    this.markets.push(market);
  }

  market(marketId: string): NaiveMarket {
    const found = this.markets.find(({ definition }) => definition.marketId === marketId);
    assert(found !== undefined, `there is no market ${marketId}`);
    return found;
  }

  total(wallet: string, currency: Currency): number {
    return (
      this.#totals.find((balance) => balance.wallet === wallet && balance.currency === currency)?.total ?? 0
    );
  }

  move(wallet: string, currency: Currency, amount: number): void {
    const found = this.#totals.find((balance) => balance.wallet === wallet && balance.currency === currency);
    if (found === undefined) this.#totals.push({ wallet, currency, total: amount });
    else found.total += amount;
  }

  /** Records an order that the ledger accepted and sent to its market. */
  accepted(marketId: string, order: Order, groupId: string | undefined): void {
    this.orders.push({ order, marketId, groupId, events: [], remaining: order.qty });
  }

  setGroup(
    wallet: string,
    groupId: string,
    bounds: { readonly maxFilledQty: number; readonly windowMs: number },
  ): void {
    const index = this.#groups.findIndex((group) => group.wallet === wallet && group.groupId === groupId);
    const group = { wallet, groupId, ...bounds, tripped: false, fills: [] };
    if (index === -1) this.#groups.push(group);
    else this.#groups[index] = group;
  }

  #group(wallet: string, groupId: string): NaiveGroup | undefined {
    return this.#groups.find((group) => group.wallet === wallet && group.groupId === groupId);
  }

  groupState(wallet: string, groupId: string): "unknown" | "tripped" | "open" {
    const group = this.#group(wallet, groupId);
    if (group === undefined) return "unknown";
    return group.tripped ? "tripped" : "open";
  }

  resetGroup(wallet: string, groupId: string): void {
    const group = this.#group(wallet, groupId);
    if (group !== undefined) this.setGroup(wallet, groupId, group);
  }

  #countFill(group: NaiveGroup | undefined, qty: number): void {
    if (group === undefined) return;
    group.fills = [...group.fills, { at: this.now, qty }].filter(({ at }) => at > this.now - group.windowMs);
    const filled = group.fills.reduce((sum, fill) => sum + fill.qty, 0);
    if (filled <= group.maxFilledQty || group.tripped) return;
    group.tripped = true;
    this.#tripped.push(group);
  }

  /** Cancels the orders of the groups that filled more than their limit. */
  cancelTripped(): void {
    const tripped = this.#tripped;
    this.#tripped = [];
    for (const { wallet, groupId } of tripped) {
      const ids = this.orders
        .filter((history) => history.order.wallet === wallet && history.groupId === groupId)
        .map(({ order }) => order.orderId);
      for (const market of this.markets) market.cancel(ids, "GROUP_LIMIT");
    }
  }

  /** Restarts the dead-man switch of a wallet, or turns the switch off. */
  setDeadman(wallet: string, at: number | undefined): void {
    this.#deadmen = this.#deadmen.filter((timer) => timer.wallet !== wallet);
    if (at !== undefined) this.#deadmen.push({ wallet, at });
  }

  /** Cancels all orders of each wallet whose dead-man switch is due. */
  runDeadmen(now: number): void {
    for (const { wallet } of this.#deadmen.filter(({ at }) => at <= now)) {
      this.setDeadman(wallet, undefined);
      const ofWallet = this.orders.filter(({ order }) => order.wallet === wallet);
      for (const market of this.markets)
        market.cancel(
          ofWallet.map(({ order }) => order.orderId),
          "DISCONNECTED",
        );
    }
  }

  #recordEvent(order: Order, event: OrderEvent): void {
    const history = this.orders.find(({ order: { orderId } }) => orderId === order.orderId);
    assert(history !== undefined, `order ${order.orderId} has an event but was not accepted`);
    history.events.push(event);
    switch (event.kind) {
      case "open":
        history.remaining = event.qty;
        break;
      case "fill":
        history.remaining = event.remaining;
        this.move(order.wallet, order.currency, event.payout - event.cost - event.fee + event.credit);
        this.house[order.currency] += event.fee - event.credit;
        if (history.groupId !== undefined)
          this.#countFill(this.#group(order.wallet, history.groupId), event.qty);
        break;
      case "reduce":
        history.remaining = event.remaining;
        break;
      case "cancel":
      case "reject":
        history.remaining = 0;
        break;
      default:
        unreachable(event);
    }
  }

  /** Takes the actions in order, and stops at the first that the market's status does not allow. */
  lifecycle(marketId: string, actions: readonly LifecycleAction[], byEvent = false): void {
    const market = this.market(marketId);
    for (const action of actions) {
      const needsOpen = action === "pause" || action === "resume";
      if (needsOpen && market.status !== "OPEN") return;
      if (action === "open" && market.grade !== undefined) return;
      this.#step(market, action, byEvent);
    }
  }

  #step(market: NaiveMarket, action: LifecycleAction, byEvent: boolean): void {
    switch (action) {
      case "open":
        market.status = "OPEN";
        return;
      case "close":
        if (market.status !== "OPEN") return;
        market.cancelEverything("MARKET_CLOSED");
        market.status = "CLOSED";
        market.closedByEvent = byEvent;
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
        if (market.live && market.status === "CLOSED" && market.closedByEvent && market.grade === undefined)
          market.status = "OPEN";
        return;
      case "clear":
        market.cancelEverything("NEUTRALIZED");
        return;
      case "end":
        return;
      default:
        unreachable(action);
    }
  }

  /** Puts a grade in force. Returns false if another grade is in force or the kind of void does not fit. */
  grade(marketId: string, grade: Grade): boolean {
    const market = this.market(marketId);
    if (grade.kind !== "WINNER" && grade.kind !== market.definition.voids) return false;
    if (market.grade !== undefined) return JSON.stringify(market.grade) === JSON.stringify(grade);
    if (market.status === "OPEN") market.cancelEverything("SETTLED");
    this.#step(market, "close", false);
    market.grade = grade;
    return true;
  }

  /** Pays every position by the grade in force. */
  settle(marketId: string): void {
    const market = this.market(marketId);
    const { grade } = market;
    if (grade === undefined || market.status === "SETTLED") return;
    for (const position of market.positions) {
      const amount = market.payoutOf(position, grade);
      const { wallet, currency } = position;
      this.move(wallet, currency, amount);
      market.escrow[currency] -= amount;
      this.#payouts.push({ marketId, wallet, currency, amount });
    }
    market.status = "SETTLED";
    market.closedByEvent = false;
  }

  /** Takes back the payouts of a settled market. */
  remediate(marketId: string): boolean {
    const market = this.market(marketId);
    if (market.status !== "SETTLED") return false;
    for (const { wallet, currency, amount } of this.#payouts.filter(
      (payout) => payout.marketId === marketId,
    )) {
      this.move(wallet, currency, -amount);
      market.escrow[currency] += amount;
    }
    const kept = this.#payouts.filter((payout) => payout.marketId !== marketId);
    this.#payouts.splice(0, this.#payouts.length, ...kept);
    market.grade = undefined;
    market.status = "CLOSED";
    return true;
  }

  /** Returns the holding of a wallet in an outcome, as its owner sees it: nothing once the market is settled. */
  held(wallet: string, marketId: string, currency: Currency, outcome: number): { qty: number; cost: number } {
    const market = this.market(marketId);
    if (market.status === "SETTLED") return { qty: 0, cost: 0 };
    const position = market.positions.find((other) => other.wallet === wallet && other.currency === currency);
    return position?.holdings[outcome] ?? { qty: 0, cost: 0 };
  }
}
