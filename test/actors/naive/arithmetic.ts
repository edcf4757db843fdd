/** Fees by contract section 3.7, in exact integer arithmetic. All results are whole millicents. */

import type { FeeSchedule } from "../../../actors/market/types.js";

function halfUp(numerator: bigint, denominator: bigint): number {
  const whole = numerator / denominator;
  const rest = numerator % denominator;
  return Number(rest * 2n >= denominator ? whole + 1n : whole);
}

/** Returns the taker fee `c x P x (1 - P) x qty x $0.01`, rounded half up. */
export function feeFor(schedule: FeeSchedule, price: number, qty: number): number {
  const exact = BigInt(schedule.coefficientPpm) * BigInt(price) * BigInt(1_000 - price) * BigInt(qty);
  return halfUp(exact, 1_000_000_000n);
}

/** Returns the share of the taker's fee that each maker of a match is credited. */
export function creditFor(schedule: FeeSchedule, fee: number, makers: number): number {
  const share = BigInt(fee) * BigInt(schedule.makerCreditPpm);
  return makers === 1 ? halfUp(share, 1_000_000n) : Number(share / (1_000_000n * BigInt(makers)));
}

/** Returns an upper bound of the fees for any split of `qty` at or below `limit`. Each fill rounds up by less than 1. */
export function feesUpperBound(schedule: FeeSchedule, limit: number, qty: number): number {
  return feeFor(schedule, Math.min(limit, 500), qty) + qty;
}
