/** Fees as contract section 3 words them, by long division. All results are whole millicents. */

import type { FeeSchedule } from "../../../actors/market/types.js";

function halfUp(numerator: bigint, denominator: bigint): number {
  const whole = numerator / denominator;
  const rest = numerator % denominator;
  return Number(rest * 2n >= denominator ? whole + 1n : whole);
}

/** `c x P x (1 - P) x qty x $0.01`, half up. */
export function feeFor(schedule: FeeSchedule, price: number, qty: number): number {
  const exact = BigInt(schedule.coefficientPpm) * BigInt(price) * BigInt(1_000 - price) * BigInt(qty);
  return halfUp(exact, 1_000_000_000n);
}

/** What each maker of a match gets of the taker's fee. */
export function creditFor(schedule: FeeSchedule, fee: number, makers: number): number {
  const share = BigInt(fee) * BigInt(schedule.makerCreditPpm);
  return makers === 1 ? halfUp(share, 1_000_000n) : Number(share / (1_000_000n * BigInt(makers)));
}

/** At least what any split of `qty` into fills at or below `limit` can be charged: each fill rounds up by less than 1. */
export function mostFees(schedule: FeeSchedule, limit: number, qty: number): number {
  return feeFor(schedule, Math.min(limit, 500), qty) + qty;
}
