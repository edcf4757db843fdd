/** What an order would do now, without doing it (contract section 5, `POST /v3/orders/preview`). */

import { ledgerShardOf } from "../../actors/actor.js";
import { orderOf } from "../../actors/ledger/placing.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { RejectReason } from "../../actors/market/types.js";
import { ZERO, type Contracts, type Millicents, type Ticks } from "../../actors/units.js";
import { Refused, refusedBy, type Code } from "../request/errors.js";
import { checkOrder, marketOf, type OrderRefusal } from "./order-rules.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import type { Trader, TradingParts } from "./trading.js";
import { askLedger, READ_ONLY } from "./ledger-client.js";

/** Money in millicents. `reject` is why it would not be accepted, or would be rejected by its market. */
export interface Preview {
  readonly reserve: Millicents;
  readonly fee: Millicents;
  readonly fills: readonly { readonly price: Ticks; readonly qty: Contracts }[];
  readonly rests: number;
  readonly queueAhead: number;
  readonly reject?: Code | RejectReason | undefined;
}

export type PreviewingParts = Pick<TradingParts, "reference" | "exchange" | "limits">;

/** Refusals that another moment may change: they are what a preview tells. The others are errors of the request. */
const PASSING: ReadonlySet<Code> = new Set(["MARKET_CLOSED", "MARKET_PAUSED", "EVENT_NOT_TRADABLE"]);
/** An order that is never entered needs an id all the same; previews are not told apart by it. */
const NO_ORDER = "00000000-0000-0000-0000-000000000000";

function nothing(reserve: Millicents, reject: Preview["reject"]): Preview {
  return { reserve, fee: ZERO, fills: [], rests: 0, queueAhead: 0, reject };
}

/** Previews an order. Refuses what no moment would make a good order, such as a price off the grid. */
export async function previewOrder(
  { reference, exchange, limits }: PreviewingParts,
  { traderId, wallet }: Trader,
  order: PlaceOrder,
  nowMs: number,
): Promise<Preview> {
  const market = await marketOf(reference, order.outcomeId);
  const judged: OrderRequest | OrderRefusal = checkOrder(order, NO_ORDER, market, await reference.ticks());
  if ("code" in judged) {
    if (PASSING.has(judged.code)) return nothing(ZERO, judged.code);
    throw new Refused(judged.code, judged.reason);
  }
  const asked = { kind: "preview", wallet, trader: traderId, order: judged, limits } as const;
  const { reserve, refusal } = await askLedger(exchange, traderId, asked, "preview");
  if (refusal !== undefined) return nothing(reserve, refusal);
  const ledger = ledgerShardOf(traderId);
  const entered = orderOf(judged, { wallet, trader: traderId, ledger }, nowMs);
  const command = { kind: "preview", order: entered } as const;
  const reply = await exchange.market(judged.terms.marketId, command, READ_ONLY);
  if (!reply.ok) throw refusedBy(reply.refusal);
  if (reply.kind !== "preview") throw new Error(`the market answered preview with ${reply.kind}`);
  return { reserve, ...reply.preview };
}
