/**
 * Open orders and holdings of one wallet in one market and currency, and the money that they hold back (contract
 * sections 3.2 to 3.4 and 5.16).
 *
 * The reserve is a pure function of the open orders and the holdings. It is enough because of one property, which the
 * tests enumerate: whichever orders fill, at their limits or better, the wallet pays at most the amount by which the
 * reserve falls. So trading never lowers the available money, and a wallet that starts at zero or above stays there.
 *
 * - Every open contract holds its limit price. An order that may still take liquidity also holds its highest fee.
 * - Two outcomes: an order on one outcome closes holdings of the other, and a closed set pays at least the price that
 *   completed it. So contracts up to the held quantity hold nothing, the cheapest ones first. If a dearer contract
 *   fills first, its price is no longer reserved. That money covers the cheaper contract, which then closes nothing.
 * - The payout of the sets that an order closes, less the price of their contracts, pays the fee of the order, and the
 *   contracts by which the order exceeds the holding. On FMV this is what the price leaves of the full value. On PUSH a
 *   set pays its cost, less at most a millicent per contract for each of two roundings, and an open order on the held
 *   outcome may lower that cost; so nothing is counted while there is one. Each order is checked by itself, because it
 *   may be the only one that fills, and each held contract counts for one order.
 * - The orders on an outcome may close more contracts than the wallet holds. A dearer order may then take the holding
 *   of a cheaper one, and brings no more than the value of the sets; so a set counts for no more than its value.
 * - A replacement loses what its original fills. So both together hold the money for the dearer course: the replacement
 *   fills alone, or the original fills first. The account holds the lesser of two sums: one that counts this saving but no
 *   closing, and one that counts closing but both orders in full. Each of the two sums has the property by itself.
 *
 * These are the rules of reserve 2. Under rule 1, that of the builds before format 4, the payout of closing pays fees only
 * if all open orders close, and an order and its replacement both hold their money. A wallet changes over to rule 2 with a
 * delta of its own, so that entries of earlier builds fold to the same reserves; rule 2 never reserves more than rule 1.
 *
 * With the policy `net` (two outcomes), all open orders of a market together hold the cost of the worst set of fills.
 * The cost of a set of fills is the cost of its contracts, less the payout of the sets that it completes. As one side
 * fills, the cost first falls, while each contract completes a set, and then rises. So in the worst case each side
 * fills wholly or not at all, which leaves four cases.
 * - FMV: a set pays 1, so the worst of the four cases is exact.
 * - PUSH: a set that costs no more than 1 pays back exactly its cost. So the net cost of fills is the cost of the
 *   holdings after them less the cost of the present holdings. In the worst case, all open orders on the held side
 *   fill, or all on the other side. On the other side the cheapest contracts complete sets, and the dearest ones stay
 *   as holdings. If a set could cost more than 1, each order holds its own money, as under `hold`. A new order can
 *   bring an account into that case; a fill cannot.
 * `net` holds the lesser of this amount and the amount under `hold`. Each of the two falls by at least the money that
 * the wallet pays for a fill, so the lesser does too.
 */

import { highestTakerFee } from "../market/fees.js";
import { rulesOf, type TimeInForce } from "../market/time-in-force.js";
import type { Currency, FeeSchedule, Holding, SelfTrade, Voids } from "../market/types.js";
import {
  add,
  assert,
  CONTRACT_TICKS,
  contracts,
  type Contracts,
  cost,
  millicents,
  type Millicents,
  NONE,
  share,
  subtract,
  type Ticks,
  ZERO,
} from "../units.js";
import type { CollateralPolicy } from "./types.js";

/** An open order of the wallet. `pending` is true while it is on its way to the market or held there. */
export interface AccountOrder {
  readonly orderId: string;
  readonly wallet: string;
  readonly marketId: string;
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: Ticks;
  readonly tif: TimeInForce;
  readonly fee: FeeSchedule;
  readonly feeReserved: boolean;
  readonly selfTrade: SelfTrade;
  readonly clientId: string | undefined;
  readonly groupId: string | undefined;
  readonly expiresAt: number | undefined;
  remaining: Contracts;
  pending: boolean;
  /**
   * The order that this one replaces, while the market has answered neither. What fills of the original is taken off the
   * replacement. Absent when the original is itself such a replacement, or has another one: both then hold their money.
   */
  replaces: string | undefined;
}

/** Rules by which an account computes its reserve. Wallets begin with rule 1 and change over to rule 2 in format 4. */
export type ReserveRule = 1 | 2;

/** An open order and the order that replaces it. */
interface Replacing {
  readonly original: AccountOrder;
  readonly replacement: AccountOrder;
}

/** The open orders on one outcome, by rising price and, at one price, by age; and their sums. */
class Side {
  readonly orders: AccountOrder[] = [];
  qty: Contracts = NONE;
  cost: Millicents = ZERO;
  /** Orders that may still take liquidity. Most accounts have none, and a shard has many accounts. */
  #pending: AccountOrder[] | undefined;
  pendingFees: Millicents = ZERO;

  add(order: AccountOrder): void {
    this.orders.splice(this.#indexAfter(order.price), 0, order);
    this.#count(order, 1);
  }

  remove(order: AccountOrder): void {
    const index = this.orders.lastIndexOf(order, this.#indexAfter(order.price) - 1);
    assert(index !== -1, "the order is not in its account", order.orderId);
    this.orders.splice(index, 1);
    this.#count(order, -1);
  }

  /** Changes an order that stays. */
  update(order: AccountOrder, remaining: Contracts, pending: boolean): void {
    this.#count(order, -1);
    order.remaining = remaining;
    order.pending = pending;
    this.#count(order, 1);
  }

  #count(order: AccountOrder, sign: 1 | -1): void {
    this.qty = contracts(this.qty + sign * order.remaining);
    this.cost = millicents(this.cost + sign * cost(order.price, order.remaining));
    if (order.pending) this.#countPending(sign, order);
  }

  /** Returns the index after the last order that is not dearer. */
  #indexAfter(price: Ticks): number {
    let low = 0;
    let high = this.orders.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.orders[middle]?.price ?? price) <= price) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds an order (1) to the pending orders, or removes it (-1). */
  #countPending(sign: 1 | -1, order: AccountOrder): void {
    if (sign === 1) (this.#pending ??= []).push(order);
    else this.#removePending(order);
    this.pendingFees = millicents(this.pendingFees + sign * feeOf(order));
  }

  /** Orders leave the pending ones nearly in the order in which they came. */
  #removePending(order: AccountOrder): void {
    const pending = this.#pending;
    const index = pending?.indexOf(order) ?? -1;
    assert(pending !== undefined && index !== -1, "the order is not pending", order.orderId);
    if (pending.length === 1) this.#pending = undefined;
    else pending.splice(index, 1);
  }

  get pending(): readonly AccountOrder[] {
    return this.#pending ?? NO_ORDERS;
  }

  /** Highest open price, 0 for none. */
  get highest(): number {
    return this.orders[this.orders.length - 1]?.price ?? 0;
  }

  /** Returns the cost of the cheapest `qty` open contracts. */
  cheapest(qty: Contracts): Millicents {
    if (qty >= this.qty) return this.cost;
    let left: number = qty;
    let sum = ZERO;
    for (const { price, remaining } of this.orders) {
      if (left === 0) break;
      const taken = contracts(Math.min(left, remaining));
      sum = add(sum, cost(price, taken));
      left -= taken;
    }
    return sum;
  }
}

const NO_ORDERS: readonly AccountOrder[] = [];
const NOTHING: Holding = { qty: NONE, cost: ZERO };
const NO_REPLACEMENTS: readonly Replacing[] = [];

export class Account {
  readonly marketId: string;
  readonly currency: Currency;
  readonly voids: Voids;
  readonly outcomes: number;
  rule: ReserveRule;
  readonly #holdings: Holding[];
  readonly #sides: Side[];
  /** Replacements that the market has not answered. Most accounts have none. */
  #replacing: Replacing[] | undefined;
  /** Money that the wallet holds back for this account. */
  reserved: Millicents = ZERO;
  /**
   * True after a settlement has paid for the holdings. The market then rejects every order until a remediation, so an
   * order on its way to the market costs nothing and needs no reserve.
   */
  settled = false;

  constructor(marketId: string, currency: Currency, voids: Voids, outcomes: number, rule: ReserveRule) {
    this.marketId = marketId;
    this.currency = currency;
    this.voids = voids;
    this.outcomes = outcomes;
    this.rule = rule;
    this.#holdings = new Array<Holding>(outcomes).fill(NOTHING);
    this.#sides = Array.from({ length: outcomes }, () => new Side());
  }

  holding(outcome: number): Holding {
    return this.#holdings[outcome] ?? NOTHING;
  }

  setHolding(outcome: number, holding: Holding): void {
    assert(outcome < this.outcomes, "the market has no such outcome", outcome);
    this.#holdings[outcome] = holding;
  }

  /** Returns the held and open quantity of an outcome: the size to which the position could grow. */
  exposure(outcome: number): number {
    let size = this.holding(outcome).qty + this.#side(outcome).qty;
    for (const { original, replacement } of this.#replacing ?? NO_REPLACEMENTS)
      if (original.outcome === outcome) size -= Math.min(original.remaining, replacement.remaining);
    return size;
  }

  /** Number of open orders. An order and its replacement are one. */
  get openOrders(): number {
    return (
      this.#sides.reduce((count, { orders }) => count + orders.length, 0) - (this.#replacing?.length ?? 0)
    );
  }

  get holdings(): readonly Holding[] {
    return this.#holdings;
  }

  get isEmpty(): boolean {
    return (
      this.#holdings.every(({ qty }) => qty === 0) && this.#sides.every(({ orders }) => orders.length === 0)
    );
  }

  /** Adds an order, which may replace an open one. */
  add(order: AccountOrder, original?: AccountOrder): void {
    this.#side(order.outcome).add(order);
    if (original === undefined || this.rule === 1) return;
    if (this.#replacingOf(original) !== undefined) return;
    (this.#replacing ??= []).push({ original, replacement: order });
    order.replaces = original.orderId;
  }

  /** Removes an order that has ended, or that was added on trial. */
  remove(order: AccountOrder): void {
    const replacing = this.#replacingOf(order);
    if (replacing !== undefined) {
      this.#replacing?.splice(this.#replacing.indexOf(replacing), 1);
      replacing.replacement.replaces = undefined;
    }
    this.#side(order.outcome).remove(order);
  }

  /** Changes an order. The replacement of an order loses as much as the order does. */
  update(order: AccountOrder, remaining: Contracts, pending: boolean): void {
    const replacement = this.#replacingOf(order)?.replacement;
    if (replacement !== undefined && replacement !== order) {
      const left = Math.max(0, replacement.remaining - (order.remaining - remaining));
      this.#side(replacement.outcome).update(replacement, contracts(left), replacement.pending);
    }
    this.#side(order.outcome).update(order, remaining, pending);
  }

  #replacingOf(order: AccountOrder): Replacing | undefined {
    return this.#replacing?.find(({ original, replacement }) => original === order || replacement === order);
  }

  /** Returns the most that the reserve can be with one more order, whatever closes or replaces what. */
  mostWith(order: AccountOrder): Millicents {
    let sum = add(cost(order.price, order.remaining), feeOf(order));
    for (const side of this.#sides) sum = add(sum, add(side.cost, side.pendingFees));
    return sum;
  }

  /** Returns the money that the open orders must hold back now. */
  reserve(policy: CollateralPolicy): Millicents {
    if (this.settled) return ZERO;
    const sumOfOrders = this.#sumOfOrders();
    if (policy === "hold" || this.outcomes !== 2) return sumOfOrders;
    const [first, second] = [this.#side(0), this.#side(1)];
    const worst = this.voids === "FMV" ? this.#worstFmv(first, second) : this.#worstPush(first, second);
    if (worst === undefined) return sumOfOrders;
    return lesser(add(worst, add(first.pendingFees, second.pendingFees)), sumOfOrders);
  }

  #worstFmv(first: Side, second: Side): Millicents {
    const held = [this.holding(0).qty, this.holding(1).qty] as const;
    const costIf = (a: number, b: number): number =>
      (a === 0 ? 0 : first.cost) +
      (b === 0 ? 0 : second.cost) -
      CONTRACT_TICKS * Math.min(held[0] + a, held[1] + b);
    const costs = [costIf(first.qty, 0), costIf(0, second.qty), costIf(first.qty, second.qty)];
    return millicents(Math.max(0, ...costs));
  }

  #worstPush(first: Side, second: Side): Millicents | undefined {
    const held = this.holding(0).qty > 0 ? this.holding(0) : this.holding(1);
    const [same, other] = this.holding(0).qty > 0 ? [first, second] : [second, first];
    const room = CONTRACT_TICKS - other.highest;
    if (same.highest > room || held.cost > room * held.qty) return undefined;
    const closing = contracts(Math.min(held.qty, other.qty));
    const beyond = other.cost - other.cheapest(closing) - held.cost;
    return millicents(Math.max(same.cost, beyond));
  }

  #sumOfOrders(): Millicents {
    let sum = ZERO;
    for (const side of this.#sides) sum = add(sum, add(side.cost, side.pendingFees));
    if (this.rule === 1)
      return this.outcomes === 2 ? subtract(sum, add(this.#freeToClose(0, 1), this.#freeToClose(1, 0))) : sum;
    const withReplacements = subtract(sum, this.#savedByReplacing());
    if (this.outcomes !== 2) return withReplacements;
    return lesser(withReplacements, add(this.#heldToClose(0, 1), this.#heldToClose(1, 0)));
  }

  /** Returns the money that orders and their replacements need not hold twice. */
  #savedByReplacing(): Millicents {
    let saved = ZERO;
    for (const { original, replacement } of this.#replacing ?? NO_REPLACEMENTS) {
      const both = contracts(Math.min(original.remaining, replacement.remaining));
      saved = add(saved, lesser(cost(original.price, original.remaining), cost(replacement.price, both)));
    }
    return saved;
  }

  /** Returns the money that orders on `outcome` hold, of which those that close holdings of `other` hold less. */
  #heldToClose(outcome: number, other: number): Millicents {
    const holding = this.holding(other);
    const side = this.#side(outcome);
    if (holding.qty === 0) return add(side.cost, side.pendingFees);
    const isContended = side.qty > holding.qty;
    let saved = 0;
    let left: number = holding.qty;
    for (const order of isContended ? side.orders : side.pending) {
      if (left === 0) break;
      const { price, remaining, pending } = order;
      const closing = Math.min(remaining, left);
      left -= closing;
      if (isContended) saved += price * closing;
      if (closing === remaining && !pending) continue;
      const beyond = price * (remaining - closing) + (pending ? feeOf(order) : 0);
      saved += Math.min(beyond, this.#spare(other, price, closing, isContended));
    }
    const whole = isContended ? add(side.cost, side.pendingFees) : side.pendingFees;
    return subtract(whole, millicents(saved));
  }

  /** Returns the least payout beyond their price of contracts that close holdings of `other`. */
  #spare(other: number, price: Ticks, closing: number, isContended: boolean): number {
    const value = (isContended ? CONTRACT_TICKS - price : CONTRACT_TICKS) * closing;
    if (this.voids === "FMV") return value;
    if (this.#side(other).qty > 0) return 0;
    const { cost: paid, qty } = this.holding(other);
    return Math.min(value, Math.max(0, share(paid, closing, qty) - 2 * closing));
  }

  /**
   * Returns the money that orders on `outcome` need not hold under rule 1, because they close holdings of `other`.
   */
  #freeToClose(outcome: number, other: number): Millicents {
    const held = this.holding(other);
    const side = this.#side(outcome);
    if (held.qty === 0 || side.qty === 0) return ZERO;
    let free = side.cheapest(contracts(Math.min(held.qty, side.qty)));
    const onlyCloses = side.qty <= held.qty && this.#side(other).qty === 0;
    if (!onlyCloses || side.pendingFees === 0) return free;
    if (this.voids === "FMV") return add(free, side.pendingFees);
    for (const order of side.pending) {
      const proceeds = share(held.cost, order.remaining, held.qty) - 2 * order.remaining;
      free = add(free, millicents(Math.max(0, Math.min(feeOf(order), proceeds))));
    }
    return free;
  }

  #side(outcome: number): Side {
    const side = this.#sides[outcome];
    assert(side !== undefined, "the market has no such outcome", outcome);
    return side;
  }
}

function lesser(a: Millicents, b: Millicents): Millicents {
  return a < b ? a : b;
}

/** Returns the highest taker fee that an order could pay: zero if its time in force does not let it take. */
function feeOf(order: AccountOrder): Millicents {
  return order.feeReserved && rulesOf(order.tif).mayTake
    ? highestTakerFee(order.fee, order.price, order.remaining)
    : ZERO;
}
