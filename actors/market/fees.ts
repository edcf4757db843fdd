/** Fees: the taker pays `c x P x (1 - P) x qty x $0.01`, rounded half up, and makers get a share (contract section 3.7). */

import {
  CONTRACT_TICKS,
  type Contracts,
  floorOfProduct,
  type Millicents,
  type Ticks,
  ZERO,
} from "../units.js";
import type { FeeSchedule } from "./types.js";

const PPM = 1_000_000;

/** A fee of 1 millicent, in the unit of `coefficient x ticks x (1000 - ticks)`. */
const UNIT = PPM * CONTRACT_TICKS;

function perContract(schedule: FeeSchedule, price: number): number {
  return schedule.coefficientPpm * price * (CONTRACT_TICKS - price);
}

/** Returns the taker's fee for `qty` contracts at the executed price. */
export function takerFee(schedule: FeeSchedule, price: Ticks, qty: Contracts): Millicents {
  if (schedule.coefficientPpm === 0) return ZERO;
  return floorOfProduct(perContract(schedule, price), qty, UNIT / 2, UNIT);
}

/**
 * Returns the highest fee that an order with this limit can be charged, however its quantity is split into fills. The fee
 * is highest at the price nearest to one half, and each of at most `qty` fills rounds up by at most half a millicent.
 */
export function highestTakerFee(schedule: FeeSchedule, limit: Ticks, qty: Contracts): Millicents {
  if (schedule.coefficientPpm === 0) return ZERO;
  const price = Math.min(limit, CONTRACT_TICKS / 2);
  return floorOfProduct(perContract(schedule, price) + UNIT / 2, qty, 0, UNIT);
}

/** Returns the credit of each of the `makers` of a match, from the taker's fee. The house keeps the rest. */
export function makerCredit(schedule: FeeSchedule, fee: Millicents, makers: number): Millicents {
  if (fee === 0 || schedule.makerCreditPpm === 0) return ZERO;
  if (makers === 1) return floorOfProduct(fee, schedule.makerCreditPpm, PPM / 2, PPM);
  return floorOfProduct(fee, schedule.makerCreditPpm, 0, PPM * makers);
}

/** Returns true when the schedule charges a fee now. */
export function isCharged(schedule: FeeSchedule, live: boolean): boolean {
  return schedule.coefficientPpm > 0 && (schedule.charged === "ALWAYS" || live);
}
