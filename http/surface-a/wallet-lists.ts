/** Pages of the orders and fills of one wallet, for its trader and for operators (contract sections 5.17 and 8.10). */

import type { z } from "zod";
import { listFills } from "../../db/queries/trading/fills.js";
import { listOrders } from "../../db/queries/trading/orders.js";
import type { Reference } from "../reference/reference.js";
import type { ReadModel } from "../trading/freshness.js";
import { scopeOf } from "../trading/scope.js";
import type { FillsQuery, OrdersQuery } from "./schemas/orders.js";
import { fillOnWire, orderOnWire } from "./wire.js";

interface WalletListParts {
  readonly reads: Pick<ReadModel, "db">;
  readonly reference: Reference;
}

type OrdersOf = Omit<z.output<typeof OrdersQuery>, "subaccount" | "clientId">;
type FillsOf = Omit<z.output<typeof FillsQuery>, "subaccount">;

/** Returns a page of the orders of a wallet. Throws `InvalidCursor`; refuses as `scopeOf` does. */
export async function ordersPage({ reads, reference }: WalletListParts, wallet: string, query: OrdersOf) {
  const {
    event,
    market,
    outcome,
    status: statuses,
    currency,
    startsAfter,
    startsBefore,
    limit,
    after,
  } = query;
  const scope = await scopeOf(reference, { event, market, outcome });
  const filter = { wallet, ...scope, currency, statuses, startsAfter, startsBefore };
  const { items, next } = await listOrders(reads.db, filter, { limit, after });
  const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
  return { items: items.map((order) => orderOnWire(markets.get(order.marketId), order)), next };
}

/** Returns a page of the fills of a wallet. Throws `InvalidCursor`; refuses as `scopeOf` does. */
export async function fillsPage({ reads, reference }: WalletListParts, wallet: string, query: FillsOf) {
  const { event, market, outcome, order: orderId, currency, startsAfter, startsBefore, limit, after } = query;
  const scope = await scopeOf(reference, { event, market, outcome });
  const filter = { wallet, ...scope, orderId, currency, startsAfter, startsBefore };
  const { items, next } = await listFills(reads.db, filter, { limit, after });
  const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
  return { items: items.map((fill) => fillOnWire(markets.get(fill.marketId), fill)), next };
}
