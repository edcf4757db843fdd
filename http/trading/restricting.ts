/** Makes the ledger of a trader apply the state of the trader (contract section 8.3). */

import type { Formats } from "../../actors/format.js";
import type { Database } from "../../db/database.js";
import { restrictionOf, stateOf, walletsOfTrader } from "../../db/queries/accounts/restrictions.js";
import type { Trader } from "../../db/queries/accounts/traders.js";
import { restrictTrader } from "../../stream/jobs/restrictions.js";
import { type Exchange, Unavailable } from "../../stream/log/ports.js";
import type { Changes } from "../reference/changes.js";
import { retryAfter } from "../edge/headers.js";
import { Refused } from "../request/errors.js";

export interface RestrictingParts {
  readonly db: Database;
  readonly exchange: Pick<Exchange, "ledger">;
  readonly formats: Formats;
  readonly changes: Changes;
}

/**
 * Publishes the new state of a trader, and makes the ledger apply it. Gateways refuse placements from before the ledger
 * does until after, so that a restriction that ends is no refusal of an order. Refuses `UNAVAILABLE` when the ledger does
 * not answer; the jobs then repeat the command to the ledger.
 */
export async function applyState(
  { db, exchange, formats, changes }: RestrictingParts,
  trader: Trader,
  nowTs: number,
): Promise<void> {
  const { traderId } = trader;
  const restriction = restrictionOf(stateOf(trader, nowTs));
  if (restriction !== undefined) await changes.publish("trader", traderId);
  const wallets = await walletsOfTrader(db, traderId);
  try {
    await restrictTrader(exchange, formats, { traderId, restriction, wallets });
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const message = "the state is set, and the ledger applies it as soon as it answers; read the trader";
    throw new Refused("UNAVAILABLE", message, {}, retryAfter(1));
  } finally {
    if (restriction === undefined) await changes.publish("trader", traderId);
  }
}
