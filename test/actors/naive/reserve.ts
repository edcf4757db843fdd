/** Money that the open orders of a wallet in one market hold back, by contract sections 3.2, 3.3 and 5.16. */

import type { FeeSchedule, Voids } from "../../../actors/market/types.js";

/** An open order. `fee` is that of its market while the order may still pay one. */
export interface NaiveOpenOrder {
  readonly orderId: string;
  readonly outcome: number;
  readonly price: number;
  readonly remaining: number;
  readonly fee: FeeSchedule | undefined;
  /** The order that this one replaces in one step. */
  readonly replaces: string | undefined;
}

export interface NaiveAccount {
  readonly voids: Voids;
  readonly holdings: readonly { readonly qty: number; readonly cost: number }[];
}

/** Returns the highest fee of an order: at the price nearest to one half, and rounded up in each of its fills. */
function highestFee({ fee, price, remaining }: NaiveOpenOrder): number {
  if (fee === undefined || fee.coefficientPpm === 0) return 0;
  const nearest = Math.min(price, 500);
  const perContract = BigInt(fee.coefficientPpm) * BigInt(nearest) * BigInt(1_000 - nearest) + 500_000_000n;
  return Number((perContract * BigInt(remaining)) / 1_000_000_000n);
}

/** Returns the reserve of orders, oldest first, under the policy `hold`. */
export function reserveOf(account: NaiveAccount, orders: readonly NaiveOpenOrder[]): number {
  const replacing = reserveInOneStep(orders);
  return account.holdings.length === 2 ? Math.min(replacing, reserveOfClosing(account, orders)) : replacing;
}

/** Returns the reserve if no order closes anything: an order and its replacement hold the dearer of their courses. */
function reserveInOneStep(orders: readonly NaiveOpenOrder[]): number {
  let sum = 0;
  for (const order of orders) {
    sum += highestFee(order);
    if (orders.some(({ replaces }) => replaces === order.orderId)) continue;
    const { price, remaining } = order;
    const original = orders.find(({ orderId }) => orderId === order.replaces);
    const first = original?.remaining ?? 0;
    const originalFirst = (original?.price ?? 0) * first + price * Math.max(0, remaining - first);
    sum += Math.max(price * remaining, originalFirst);
  }
  return sum;
}

/** Returns the reserve if every order holds its own money, and orders close holdings. */
function reserveOfClosing({ voids, holdings }: NaiveAccount, orders: readonly NaiveOpenOrder[]): number {
  let sum = 0;
  for (const [outcome, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const side = orders.filter((order) => order.outcome === outcome).sort((a, b) => a.price - b.price);
    const held = holdings[other] ?? { qty: 0, cost: 0 };
    const open = side.reduce((all, { remaining }) => all + remaining, 0);
    const opensMore = orders.some((order) => order.outcome === other && order.remaining > 0);
    let left = held.qty;
    for (const order of side) {
      const { price, remaining } = order;
      const closing = Math.min(left, remaining);
      left -= closing;
      const beyond = price * (remaining - closing) + highestFee(order);
      const value = open > held.qty ? (1_000 - price) * closing : 1_000 * closing;
      const basis = held.qty === 0 ? 0 : Number((BigInt(held.cost) * BigInt(closing)) / BigInt(held.qty));
      const refunded = opensMore ? 0 : Math.max(0, basis - 2 * closing);
      const spare = voids === "FMV" ? value : Math.min(value, refunded);
      sum += Math.max(0, beyond - spare);
    }
  }
  return sum;
}
