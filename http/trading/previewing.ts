/**
 * Preview of an order: its effect at this moment, without placing it (contract section 5.15, `POST
 * /v3/orders/preview`).
 */

import { ledgerShardOf } from "../../actors/actor.js";
import { orderOf } from "../../actors/ledger/placing.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { RejectReason } from "../../actors/market/types.js";
import { ZERO, type Contracts, type Millicents, type Ticks } from "../../actors/units.js";
import { Refused, refusedBy, type Code } from "../request/errors.js";
import { checkOrder, marketOf, type OrderRefusal } from "./order-rules.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import type { TradingParts } from "./trading.js";
import { askLedger, READ_ONLY, type Trader } from "./ledger-client.js";

/**
 * Effect of an order. `reject`: the code by which the ledger would refuse it, or the reason by which its market would reject
 * it.
 */
export interface Preview {
  readonly reserve: Millicents;
  readonly fee: Millicents;
  readonly fills: readonly { readonly price: Ticks; readonly qty: Contracts }[];
  readonly rests: number;
  readonly queueAhead: number;
  readonly reject?: Code | RejectReason | undefined;
  readonly partial?: true | undefined;
}

export type PreviewingParts = Pick<TradingParts, "reference" | "exchange" | "limits">;

/** Refusals that end without a change of the order. A preview reports them; it throws all others. */
const TEMPORARY: ReadonlySet<Code> = new Set(["MARKET_CLOSED", "MARKET_PAUSED", "EVENT_NOT_TRADABLE"]);
/** Id of the order in a preview, which is never entered; all previews share it. */
const NO_ORDER = "00000000-0000-0000-0000-000000000000";

/** Returns the preview of an order that would have no effect. */
function withoutEffect(reserve: Millicents, reject: Preview["reject"]): Preview {
  return { reserve, fee: ZERO, fills: [], rests: 0, queueAhead: 0, reject };
}

/** Previews an order. Refuses an order that is wrong at any moment, such as one with a price off the tick table. */
export async function previewOrder(
  { reference, exchange, limits }: PreviewingParts,
  { traderId, wallet }: Trader,
  order: PlaceOrder,
  nowMs: number,
): Promise<Preview> {
  const market = await marketOf(reference, order.outcomeId);
  const checked: OrderRequest | OrderRefusal = checkOrder(order, NO_ORDER, market, await reference.ticks());
  if ("code" in checked) {
    if (TEMPORARY.has(checked.code)) return withoutEffect(ZERO, checked.code);
    throw new Refused(checked.code, checked.reason);
  }
  const query = { kind: "preview", wallet, trader: traderId, order: checked, limits } as const;
  const { reserve, refusal } = await askLedger(exchange, traderId, query, "preview");
  if (refusal !== undefined) return withoutEffect(reserve, refusal);
  const ledger = ledgerShardOf(traderId);
  const entered = orderOf(checked, { wallet, trader: traderId, ledger }, nowMs);
  const command = { kind: "preview", order: entered } as const;
  const reply = await exchange.market(checked.terms.marketId, command, READ_ONLY);
  if (!reply.ok) throw refusedBy(reply.refusal);
  if (reply.kind !== "preview") throw new Error(`the market answered the command preview with ${reply.kind}`);
  return { reserve, ...reply.preview };
}
