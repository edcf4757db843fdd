/** Changing an order that is open (contract section 5): less of it keeps its place, anything else is another order. */

import { ledgerOf } from "../../actors/actor.js";
import type { LedgerCommand } from "../../actors/ledger/commands.js";
import { contracts } from "../../actors/units.js";
import { findOrder } from "../../db/queries/trading/orders.js";
import { Refused } from "../request/errors.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import { readOrderPrice, refuseMarket, refuseQty, termsOf, type OrderRefusal } from "./order-rules.js";
import { idFrom } from "../auth/signatures.js";
import type { Trader, TradingParts } from "./trading.js";
import { sendToLedger } from "./ledger-client.js";

/** What changes. `qty` is what shall be left to fill, as in `OpenOrder`; absent fields stay. */
export interface Change {
  readonly qty?: number | undefined;
  readonly price?: string | undefined;
}

export type AmendingParts = Pick<TradingParts, "reference" | "exchange" | "freshness" | "db" | "limits">;

function pass<Value extends object>(judged: Value | OrderRefusal): Value {
  if ("code" in judged) throw new Refused(judged.code, judged.reason);
  return judged;
}

/**
 * Amends an open order and gives the id it has then. Refuses `ORDER_NOT_FOUND` when it is not open any more, what a
 * placement of the amended order would be refused for, and `SYSTEM_LOCKED`.
 */
export async function amendOrder(
  parts: AmendingParts,
  { traderId, wallet }: Trader,
  orderId: string,
  change: Change,
  commandId: string,
): Promise<string> {
  const { reference, exchange, freshness, db, limits } = parts;
  await refuseInMaintenance(reference);
  const grid = await reference.ticks();
  const price = change.price === undefined ? undefined : pass(readOrderPrice(change.price, grid)).price;
  const wrongQty = change.qty === undefined ? undefined : refuseQty(change.qty);
  if (wrongQty !== undefined) throw new Refused(wrongQty.code, wrongQty.reason);

  await freshness.reach(ledgerOf(traderId));
  const order = await findOrder(db, wallet, orderId);
  const market = order === undefined ? undefined : await reference.market(order.marketId);
  if (order === undefined || market === undefined) throw new Refused("ORDER_NOT_FOUND");
  // A market that takes no orders still lets one shrink; without a replacement the ledger does only that.
  const closed = refuseMarket(market);
  const replacement =
    closed === undefined ? { orderId: idFrom(commandId, "replacement"), terms: termsOf(market) } : undefined;
  const command: LedgerCommand = {
    kind: "amend",
    wallet,
    orderId,
    qty: change.qty === undefined ? undefined : contracts(change.qty),
    price,
    replacement,
    limits,
  };
  try {
    return (await sendToLedger(exchange, traderId, command, "amended", commandId)).orderId;
  } catch (error) {
    const needsReplacement = error instanceof Refused && error.code === "QTY_OUT_OF_RANGE";
    if (closed !== undefined && needsReplacement) throw new Refused(closed.code, closed.reason);
    throw error;
  }
}
