/**
 * Wallets and markets in plain arrays. It is told what the real ledger accepted (how much an order must hold back is
 * judged by bounds, in `../differential/differential.ts`) and decides everything that follows by itself.
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
  /** What is left; 0 once the order is at its end. */
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
  /** The clock of everything that happens. */
  now = 0;
  readonly #groups: NaiveGroup[] = [];
  /** Groups whose orders are still to be canceled. */
  #tripped: NaiveGroup[] = [];
  #deadmen: { readonly wallet: string; readonly at: number }[] = [];
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
  accepted(marketId: string, order: Order, groupId: string | undefined): void {
    this.orders.push({ order, marketId, groupId, events: [], remaining: order.qty });
  }

  setGroup(
    wallet: string,
    groupId: string,
    bounds: { readonly maxFilledQty: number; readonly windowMs: number },
  ): void {
    const index = this.#groups.findIndex((one) => one.wallet === wallet && one.groupId === groupId);
    const group = { wallet, groupId, ...bounds, tripped: false, fills: [] };
    if (index === -1) this.#groups.push(group);
    else this.#groups[index] = group;
  }

  #group(wallet: string, groupId: string): NaiveGroup | undefined {
    return this.#groups.find((one) => one.wallet === wallet && one.groupId === groupId);
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

  /** The orders of groups that filled too much go. */
  cancelTripped(): void {
    const tripped = this.#tripped;
    this.#tripped = [];
    for (const { wallet, groupId } of tripped) {
      const ids = this.orders
        .filter((one) => one.order.wallet === wallet && one.groupId === groupId)
        .map(({ order }) => order.orderId);
      for (const market of this.markets) market.cancel(ids, "GROUP_LIMIT");
    }
  }

  /** Arms the dead-man switch of a wallet anew, or turns it off. */
  setDeadman(wallet: string, at: number | undefined): void {
    this.#deadmen = this.#deadmen.filter((one) => one.wallet !== wallet);
    if (at !== undefined) this.#deadmen.push({ wallet, at });
  }

  /** All orders go of the wallets whose switch is due. */
  runDeadmen(now: number): void {
    for (const { wallet } of this.#deadmen.filter(({ at }) => at <= now)) {
      this.setDeadman(wallet, undefined);
      const mine = this.orders.filter(({ order }) => order.wallet === wallet);
      for (const market of this.markets)
        market.cancel(
          mine.map(({ order }) => order.orderId),
          "DISCONNECTED",
        );
    }
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
        unreachable(action);
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
