/** Fees: taker only, `c x P x (1 - P) x qty x $0.01`, half up; the maker's share of it (contract section 3). */

import {
  CONTRACT_TICKS,
  millicents,
  roundHalfUp,
  type Contracts,
  type Millicents,
  type Ticks,
  ZERO,
} from "../units.js";
import type { FeeSchedule } from "./types.js";

const PPM = 1_000_000;

/** The taker's fee for `qty` contracts at the executed price. */
export function takerFee(schedule: FeeSchedule, price: Ticks, qty: Contracts): Millicents {
  if (schedule.coefficientPpm === 0) return ZERO;
  const perContract = schedule.coefficientPpm * price * (CONTRACT_TICKS - price);
  return roundHalfUp(BigInt(perContract) * BigInt(qty), BigInt(PPM * CONTRACT_TICKS));
}

/**
 * The most an order limited to `limit` can be charged, however its quantity is split into fills: the fee is highest
 * at the price nearest to one half, and each of at most `qty` fills rounds up by at most half a millicent.
 */
export function highestTakerFee(schedule: FeeSchedule, limit: Ticks, qty: Contracts): Millicents {
  if (schedule.coefficientPpm === 0) return ZERO;
  const price = Math.min(limit, CONTRACT_TICKS / 2);
  const perContract = schedule.coefficientPpm * price * (CONTRACT_TICKS - price);
  const unit = BigInt(PPM * CONTRACT_TICKS);
  return millicents(Number((2n * BigInt(perContract) * BigInt(qty) + unit * BigInt(qty)) / (2n * unit)));
}

/** What each of `makers` makers of a match is credited out of the taker's fee; the rest stays with the house. */
export function makerCredit(schedule: FeeSchedule, fee: Millicents, makers: number): Millicents {
  if (fee === 0 || schedule.makerCreditPpm === 0) return ZERO;
  const part = BigInt(fee) * BigInt(schedule.makerCreditPpm);
  if (makers === 1) return roundHalfUp(part, BigInt(PPM));
  return millicents(Number(part / BigInt(PPM * makers)));
}

/** Whether the schedule charges now. */
export function isCharged(schedule: FeeSchedule, live: boolean): boolean {
  return schedule.coefficientPpm > 0 && (schedule.charged === "ALWAYS" || live);
}
