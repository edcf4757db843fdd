/** Orders, each with its current or final status (contract section 5.17). */

import { and, asc, eq, gt, inArray, type SQL } from "drizzle-orm";
import type { Currency } from "../../../actors/market/types.js";
import type { Queries } from "../../database.js";
import {
  keyOrder,
  page,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type TimeBounds,
} from "../../page.js";
import { orders } from "../../schema/wallets.js";
import { inMarkets, type MarketScope } from "./market-scope.js";
import type { OrderStatus } from "../../../actors/ledger/types.js";

export type OrderRecord = typeof orders.$inferSelect;

/** Conditions on orders; an absent field is no condition. The bounds apply to the time of acceptance. */
export interface OrderListFilter extends MarketScope, TimeBounds {
  readonly wallet: string;
  readonly currency?: Currency | undefined;
  readonly statuses?: readonly OrderStatus[] | undefined;
}

const BY_ACCEPTANCE: Keyset<OrderRecord> = {
  columns: [orders.ts, orders.place],
  direction: "descending",
  keyOf: (order) => [order.ts, order.place],
};

function matching(filter: OrderListFilter): SQL | undefined {
  return and(
    eq(orders.wallet, filter.wallet),
    filter.currency === undefined ? undefined : eq(orders.currency, filter.currency),
    filter.statuses && inArray(orders.status, [...filter.statuses]),
    inMarkets(orders, filter),
    within(orders.ts, filter),
  );
}

/** Returns an order of the wallet, and `undefined` for an order of another wallet. */
export async function findOrder(
  db: Queries,
  wallet: string,
  orderId: string,
): Promise<OrderRecord | undefined> {
  const [row] = await db
    .select()
    .from(orders)
    .where(and(eq(orders.orderId, orderId), eq(orders.wallet, wallet)));
  return row;
}

/** Returns the orders with these ids that belong to the wallet, in any sequence. */
export async function findOrders(
  db: Queries,
  wallet: string,
  orderIds: readonly string[],
): Promise<OrderRecord[]> {
  if (orderIds.length === 0) return [];
  return db
    .select()
    .from(orders)
    .where(and(inArray(orders.orderId, [...orderIds]), eq(orders.wallet, wallet)));
}

/** Returns the newest order of the wallet with the client id. */
export async function findOrderByClientId(
  db: Queries,
  wallet: string,
  clientId: string,
): Promise<OrderRecord | undefined> {
  const [row] = await db
    .select()
    .from(orders)
    .where(and(eq(orders.wallet, wallet), eq(orders.clientId, clientId)))
    .orderBy(...keyOrder(BY_ACCEPTANCE))
    .limit(1);
  return row;
}

/** Returns the newest order of the wallet with each of the client ids, among those accepted after `sinceTs`. */
export async function findOrdersByClientIds(
  db: Queries,
  wallet: string,
  clientIds: readonly string[],
  sinceTs: number,
): Promise<Map<string, OrderRecord>> {
  if (clientIds.length === 0) return new Map();
  const rows = await db
    .select()
    .from(orders)
    .where(and(eq(orders.wallet, wallet), inArray(orders.clientId, [...clientIds]), gt(orders.ts, sinceTs)))
    .orderBy(asc(orders.ts), asc(orders.place));
  return new Map(rows.map((row) => [row.clientId ?? "", row]));
}

/** Lists orders, newest first. Throws `InvalidCursor`. */
export async function listOrders(
  db: Queries,
  filter: OrderListFilter,
  request: PageRequest,
): Promise<Page<OrderRecord>> {
  return page(db.select().from(orders).$dynamic(), BY_ACCEPTANCE, request, matching(filter));
}
