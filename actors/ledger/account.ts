/**
 * Open orders and holdings of one wallet in one market and currency, and the money that they hold back (contract
 * sections 3.2 to 3.4).
 *
 * The reserve is a pure function of the open orders and the holdings. It is enough because of one property, which the
 * tests enumerate: whichever orders fill, at their limits or better, the wallet pays at most the amount by which the
 * reserve falls. So trading never lowers the available money, and a wallet that starts at zero or above stays there.
 *
 * - Every open contract holds its limit price. An order that may still take liquidity also holds its highest fee.
 * - Two outcomes: an order on one outcome closes holdings of the other, and a closed set pays at least the price that
 *   completed it. So contracts up to the held quantity hold nothing, the cheapest ones first. If a dearer contract
 *   fills first, its price is no longer reserved. That money covers the cheaper contract, which then closes nothing.
 * - If all open orders only close, the payout of closing pays the fee. This is always enough on FMV, where a set pays
 *   its full value. On PUSH a set pays its cost, less at most a millicent per contract for each of two roundings. The
 *   fee of each order is checked by itself, because that order may be the only one that fills.
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
}

interface OpenLevel {
  readonly price: Ticks;
  qty: Contracts;
}

/** The open orders on one outcome by rising price, and their sums. */
class Side {
  readonly levels: OpenLevel[] = [];
  qty: Contracts = NONE;
  cost: Millicents = ZERO;
  /** Orders that may still take liquidity. Most accounts have none, and a shard has many accounts. */
  #pending: AccountOrder[] | undefined;
  pendingFees: Millicents = ZERO;

  change(price: Ticks, by: number): void {
    this.qty = contracts(this.qty + by);
    this.cost = millicents(this.cost + price * by);
    const index = this.#indexOf(price);
    const level = this.levels[index];
    if (level?.price === price) {
      level.qty = contracts(level.qty + by);
      if (level.qty === 0) this.levels.splice(index, 1);
    } else {
      this.levels.splice(index, 0, { price, qty: contracts(by) });
    }
  }

  /** Returns the index of the level of a price, or the index at which to insert it. */
  #indexOf(price: Ticks): number {
    let low = 0;
    let high = this.levels.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.levels[middle]?.price ?? price) < price) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds an order (1) to the pending orders, or removes it (-1). */
  changePending(sign: 1 | -1, order: AccountOrder): void {
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
    return this.#pending ?? [];
  }

  /** Highest open price, 0 for none. */
  get highest(): number {
    return this.levels[this.levels.length - 1]?.price ?? 0;
  }

  /** Returns the cost of the cheapest `qty` open contracts. */
  cheapest(qty: Contracts): Millicents {
    if (qty >= this.qty) return this.cost;
    let left: number = qty;
    let sum = ZERO;
    for (const level of this.levels) {
      if (left === 0) break;
      const taken = contracts(Math.min(left, level.qty));
      sum = add(sum, cost(level.price, taken));
      left -= taken;
    }
    return sum;
  }
}

const NOTHING: Holding = { qty: NONE, cost: ZERO };

export class Account {
  readonly marketId: string;
  readonly currency: Currency;
  readonly voids: Voids;
  readonly outcomes: number;
  readonly #holdings: Holding[];
  readonly #sides: Side[];
  /** Money that the wallet holds back for this account. */
  reserved: Millicents = ZERO;
  /** Number of open orders. */
  #openOrders = 0;
  /**
   * True after a settlement has paid for the holdings. The market then rejects every order until a remediation, so an
   * order on its way to the market costs nothing and needs no reserve.
   */
  settled = false;

  constructor(marketId: string, currency: Currency, voids: Voids, outcomes: number) {
    this.marketId = marketId;
    this.currency = currency;
    this.voids = voids;
    this.outcomes = outcomes;
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
    return this.holding(outcome).qty + this.#side(outcome).qty;
  }

  get openOrders(): number {
    return this.#openOrders;
  }

  get holdings(): readonly Holding[] {
    return this.#holdings;
  }

  get isEmpty(): boolean {
    return this.#holdings.every(({ qty }) => qty === 0) && this.#sides.every(({ qty }) => qty === 0);
  }

  add(order: AccountOrder): void {
    const side = this.#side(order.outcome);
    side.change(order.price, order.remaining);
    if (order.pending) side.changePending(1, order);
    this.#openOrders += 1;
  }

  /** Removes an order that was added on trial. */
  remove(order: AccountOrder): void {
    const side = this.#side(order.outcome);
    side.change(order.price, 0 - order.remaining);
    if (order.pending) side.changePending(-1, order);
    this.#openOrders -= 1;
  }

  /** Changes an order. One with nothing left leaves the account. */
  update(order: AccountOrder, remaining: Contracts, pending: boolean): void {
    const side = this.#side(order.outcome);
    if (order.pending) side.changePending(-1, order);
    if (remaining !== order.remaining) side.change(order.price, remaining - order.remaining);
    order.remaining = remaining;
    order.pending = pending;
    if (pending && remaining > 0) side.changePending(1, order);
    if (remaining === 0) this.#openOrders -= 1;
  }

  /** Returns the money that the open orders must hold back now. */
  reserve(policy: CollateralPolicy): Millicents {
    if (this.settled) return ZERO;
    const sumOfOrders = this.#sumOfOrders();
    if (policy === "hold" || this.outcomes !== 2) return sumOfOrders;
    const [first, second] = [this.#side(0), this.#side(1)];
    const worst = this.voids === "FMV" ? this.#worstFmv(first, second) : this.#worstPush(first, second);
    if (worst === undefined) return sumOfOrders;
    const together = add(worst, add(first.pendingFees, second.pendingFees));
    return together < sumOfOrders ? together : sumOfOrders;
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
    if (this.outcomes !== 2) return sum;
    return subtract(sum, add(this.#freeToClose(0, 1), this.#freeToClose(1, 0)));
  }

  /** Returns the money that orders on `outcome` need not hold, because they close holdings of `other`. */
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

/** Returns the highest taker fee that an order could pay: zero if its time in force does not let it take. */
function feeOf(order: AccountOrder): Millicents {
  return order.feeReserved && rulesOf(order.tif).mayTake
    ? highestTakerFee(order.fee, order.price, order.remaining)
    : ZERO;
}
