/**
 * What one wallet has at stake in one market and currency, and how much cash that must hold back (contract section 3).
 *
 * The reserve is a pure function of the open orders and the holdings. It is enough because of one property, which
 * the tests enumerate: whatever fills, at its limit or better, the cash that leaves is at most what the reserve
 * drops by. So available money never falls by trading, and a wallet that starts at zero or above stays there.
 *
 * - Every open contract holds its limit price; an order that may still take liquidity holds its highest fee.
 * - Two outcomes: an order on one closes what is held of the other, and a closed set pays at least the price that
 *   completed it. So up to the quantity held, contracts are free, the cheapest ones first: when a dearer one fills
 *   first it frees its own price, which covers the cheaper contract that now is no longer closing.
 * - When all that is open only closes, the fee comes out of what closing pays: always enough on FMV (a set pays 1);
 *   on PUSH a set pays what it cost, less at most a millicent a contract lost to each of two roundings. Every order
 *   by itself, because any of them may be the only one that fills.
 *
 * A wallet may choose `net` (two outcomes): all its open orders of a market hold together what the worst set of fills
 * would take. What a set of fills takes is its cost less what the sets it completes pay; more of one side costs more
 * beyond what the other side completes and gives back below it, so the worst set fills each side wholly or not at all.
 * - FMV: a set pays 1, so the worst of the four corners is exact.
 * - PUSH: a set that costs no more than 1 pays back exactly what it cost, so what has left in the end is the cost of
 *   what is then held less the cost of what is held now: at worst all open on the side that is held, or all open on
 *   the other, of which the cheapest complete sets and the dearest stay. Where a set could cost more than 1, which
 *   fills never bring about but only orders do, the orders hold singly, as under `hold`.
 * `net` never holds more than `hold` would: each by itself falls by at least the cash that leaves, so the lesser does.
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

/** An order of the wallet that is not at its end yet. `pending`: on its way to the market or held there. */
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

/** The open orders on one outcome, by price rising, and their sums. */
class Side {
  readonly levels: OpenLevel[] = [];
  qty: Contracts = NONE;
  cost: Millicents = ZERO;
  /** The orders that may still take liquidity, and the highest fees they could pay. */
  readonly pending = new Map<string, AccountOrder>();
  pendingFees: Millicents = ZERO;

  change(price: Ticks, by: number): void {
    this.qty = contracts(this.qty + by);
    this.cost = millicents(this.cost + price * by);
    const index = this.levels.findIndex((level) => level.price >= price);
    const level = this.levels[index];
    if (level?.price === price) {
      level.qty = contracts(level.qty + by);
      if (level.qty === 0) this.levels.splice(index, 1);
    } else {
      this.levels.splice(index === -1 ? this.levels.length : index, 0, { price, qty: contracts(by) });
    }
  }

  /** Counts an order in (1) or out (-1) of those that may still take liquidity. */
  pend(sign: 1 | -1, order: AccountOrder): void {
    if (sign === 1) this.pending.set(order.orderId, order);
    else this.pending.delete(order.orderId);
    this.pendingFees = millicents(this.pendingFees + sign * feeOf(order));
  }

  /** The dearest price open, 0 for none. */
  get highest(): number {
    return this.levels[this.levels.length - 1]?.price ?? 0;
  }

  /** What the cheapest `qty` open contracts cost. */
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
  /** What the wallet holds back for this account now. */
  reserved: Millicents = ZERO;
  /**
   * Its market has paid for what was held, and so takes no order until it has taken that back. An order on its way there
   * closes nothing any more, but can cost nothing either.
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

  /** Held and open together: what the position in an outcome could grow to. */
  exposure(outcome: number): number {
    return this.holding(outcome).qty + this.#side(outcome).qty;
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
    if (order.pending) side.pend(1, order);
  }

  /** Takes an order out as it stands; to change an order, take it out, change it and add it again. */
  take(order: AccountOrder): void {
    const side = this.#side(order.outcome);
    side.change(order.price, 0 - order.remaining);
    if (order.pending) side.pend(-1, order);
  }

  /** What open orders and holdings must hold back now. */
  reserve(policy: CollateralPolicy): Millicents {
    if (this.settled) return ZERO;
    const singly = this.#singly();
    if (policy === "hold" || this.outcomes !== 2) return singly;
    const [first, second] = [this.#side(0), this.#side(1)];
    const worst = this.voids === "FMV" ? this.#worstFmv(first, second) : this.#worstPush(first, second);
    if (worst === undefined) return singly;
    const together = add(worst, add(first.pendingFees, second.pendingFees));
    return together < singly ? together : singly;
  }

  #worstFmv(first: Side, second: Side): Millicents {
    const held = [this.holding(0).qty, this.holding(1).qty] as const;
    const corner = (a: number, b: number): number =>
      (a === 0 ? 0 : first.cost) +
      (b === 0 ? 0 : second.cost) -
      CONTRACT_TICKS * Math.min(held[0] + a, held[1] + b);
    const corners = [corner(first.qty, 0), corner(0, second.qty), corner(first.qty, second.qty)];
    return millicents(Math.max(0, ...corners));
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

  #singly(): Millicents {
    let sum = ZERO;
    for (const side of this.#sides) sum = add(sum, add(side.cost, side.pendingFees));
    if (this.outcomes !== 2) return sum;
    return subtract(sum, add(this.#relief(0, 1), this.#relief(1, 0)));
  }

  /** What orders on `outcome` need not hold, because `other` is held and they close it. */
  #relief(outcome: number, other: number): Millicents {
    const held = this.holding(other);
    const side = this.#side(outcome);
    if (held.qty === 0 || side.qty === 0) return ZERO;
    let free = side.cheapest(contracts(Math.min(held.qty, side.qty)));
    const onlyCloses = side.qty <= held.qty && this.#side(other).qty === 0;
    if (!onlyCloses || side.pendingFees === 0) return free;
    if (this.voids === "FMV") return add(free, side.pendingFees);
    for (const order of side.pending.values()) {
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

/** Returns the highest fee an order could pay by taking: none, when its time in force lets it only rest. */
function feeOf(order: AccountOrder): Millicents {
  return order.feeReserved && rulesOf(order.tif).mayTake
    ? highestTakerFee(order.fee, order.price, order.remaining)
    : ZERO;
}
