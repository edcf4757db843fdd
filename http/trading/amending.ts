/**
 * Amendment of an open order: a smaller quantity keeps its queue place, any other change replaces the order (contract
 * section 5.16).
 */

import { ledgerOf } from "../../actors/actor.js";
import type { LedgerCommand } from "../../actors/ledger/commands.js";
import { contracts } from "../../actors/units.js";
import { findOrder } from "../../db/queries/trading/orders.js";
import type { KeyCaller } from "../request/callers.js";
import { Refused } from "../request/errors.js";
import { refuseInMaintenance } from "../reference/maintenance.js";
import { readOrderPrice, refuseMarket, refuseQty, termsOf, type OrderRefusal } from "./order-rules.js";
import { haltedRefusal } from "./halted-markets.js";
import type { TradingParts } from "./trading.js";
import { sendToLedger, type Trader } from "./ledger-client.js";

/** Change of an order. `qty` is the new unfilled quantity, as in `OpenOrder`; absent fields stay as they are. */
export interface Change {
  readonly qty?: number | undefined;
  readonly price?: string | undefined;
  /** Time after which the market rejects a replacement, Unix ms. */
  readonly notAfter?: number | undefined;
}

export type AmendingParts = Pick<
  TradingParts,
  "reference" | "exchange" | "freshness" | "db" | "limits" | "orderIds" | "haltedMarkets"
>;

/** Returns a checked value, or throws its refusal. */
function accepted<Value extends object>(checked: Value | OrderRefusal): Value {
  if ("code" in checked) throw new Refused(checked.code, checked.reason);
  return checked;
}

/**
 * Amends an open order and returns its id, which is a new one after a replacement. Refuses `ORDER_NOT_FOUND` for an order
 * that is not open, `SYSTEM_LOCKED`, and all that a placement of the amended order would be refused for.
 * Throws `Unavailable` when its market is halted.
 */
export async function amendOrder(
  parts: AmendingParts,
  { traderId, wallet }: Trader,
  orderId: string,
  change: Change,
  { commandId, signedTs }: Pick<KeyCaller, "commandId" | "signedTs">,
): Promise<string> {
  const { reference, exchange, freshness, db, limits, orderIds, haltedMarkets } = parts;
  await refuseInMaintenance(reference);
  const grid = await reference.ticks();
  const price = change.price === undefined ? undefined : accepted(readOrderPrice(change.price, grid)).price;
  const wrongQty = change.qty === undefined ? undefined : refuseQty(change.qty);
  if (wrongQty !== undefined) throw new Refused(wrongQty.code, wrongQty.reason);

  await freshness.reach(ledgerOf(traderId));
  const order = await findOrder(db, wallet, orderId);
  const market = order === undefined ? undefined : await reference.market(order.marketId);
  if (order === undefined || market === undefined) throw new Refused("ORDER_NOT_FOUND");
  if (haltedMarkets.closed([market.marketId]).length > 0) throw haltedRefusal();
  // An order may shrink in a market that takes no orders; without a replacement the ledger does no more than that.
  const closed = refuseMarket(market);
  const replacement =
    closed === undefined
      ? {
          orderId: orderIds.of({ commandId, ts: signedTs }, "replacement"),
          terms: termsOf(market),
          notAfter: change.notAfter,
        }
      : undefined;
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
    const amended = await sendToLedger(exchange, traderId, command, "amended", commandId);
    haltedMarkets.passed([market.marketId]);
    return amended.orderId;
  } catch (error) {
    const code = error instanceof Refused ? error.code : undefined;
    if (code === "ORDER_NOT_FOUND") {
      throw new Refused(code, "the order with this orderId is not open any more; place another order");
    }
    const needsReplacement = code === "QTY_OUT_OF_RANGE";
    if (closed !== undefined && needsReplacement) throw new Refused(closed.code, closed.reason);
    throw error;
  }
}
