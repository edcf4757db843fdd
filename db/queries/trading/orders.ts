/** Orders, each with its current or final status (contract section 5.17). */

import { and, asc, eq, gt, inArray, isNull, lte, ne, notInArray, or, sql, type SQL } from "drizzle-orm";
import type { Currency, RejectReason } from "../../../actors/market/types.js";
import type { Database, Queries } from "../../database.js";
import {
  keyOrder,
  page,
  pageByMonth,
  pageInSlices,
  RECENT_MS,
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

/** Condition that leaves out the partitions of the months before a time. It holds for every order accepted after it. */
const notEndedBefore = (ts: number | SQL): SQL | undefined =>
  or(lte(orders.endedTs, 0), gt(orders.endedTs, ts));

/** Returns true for a list of open orders, all of which are in the partitions of open orders. */
const isOfOpen = ({ statuses }: OrderListFilter): boolean =>
  statuses?.every((status) => status === "PENDING" || status === "OPEN") === true;

function matching(filter: OrderListFilter): SQL | undefined {
  const { statuses, startsAfter } = filter;
  return and(
    eq(orders.wallet, filter.wallet),
    filter.currency === undefined ? undefined : eq(orders.currency, filter.currency),
    statuses && inArray(orders.status, [...statuses]),
    isOfOpen(filter) ? lte(orders.endedTs, 0) : undefined,
    inMarkets(orders, filter),
    within(orders.ts, filter),
    startsAfter === undefined ? undefined : notEndedBefore(startsAfter),
  );
}

/** Returns an order of the wallet, and `undefined` for an order of another wallet. */
export async function findOrder(
  db: Queries,
  wallet: string,
  orderId: string,
): Promise<OrderRecord | undefined> {
  const [row] = await findOrders(db, wallet, [orderId]);
  return row;
}

/** Returns an order of any wallet. */
export async function findAnyOrder(db: Queries, orderId: string): Promise<OrderRecord | undefined> {
  const [row] = await db.select().from(orders).where(eq(orders.orderId, orderId));
  return row;
}

/** Returns the orders with these ids that belong to the wallet, in any sequence. */
export function findOrders(db: Queries, wallet: string, orderIds: readonly string[]): Promise<OrderRecord[]> {
  return recentFirst(orderIds, (ids, sinceTs) =>
    db
      .select()
      .from(orders)
      .where(and(ownedBy(wallet, ids), sinceTs === undefined ? undefined : notEndedBefore(sinceTs))),
  );
}

type StatusRow = Pick<OrderRecord, "orderId" | "wallet" | "status">;

/** Reads the statuses of orders of any wallets in all partitions, or in those of the orders that ended after a time. */
type ReadStatuses = (orderIds: readonly string[], sinceTs: number | undefined) => Promise<StatusRow[]>;

const statusReaders = new WeakMap<Database, ReadStatuses>();

/**
 * Returns the reader of a database, whose queries each connection plans once: planning takes five times as long as running,
 * and with forty months as long. Postgres keeps a plan that it estimates to cost no more than a plan for the given values.
 * The values are in sub-selects, whose results it cannot estimate, and only the condition on the ids has an index.
 */
function statusReaderOf(db: Database): ReadStatuses {
  const known = statusReaders.get(db);
  if (known !== undefined) return known;
  const isAsked = sql`${orders.orderId} = any(array(select unnest(${sql.placeholder("orderIds")}::uuid[])))`;
  const prepare = (name: string, part: SQL | undefined) =>
    db
      .select({ orderId: orders.orderId, wallet: orders.wallet, status: orders.status })
      .from(orders)
      .where(and(isAsked, part))
      .prepare(name);
  const all = prepare("order_statuses", undefined);
  const recent = prepare(
    "recent_order_statuses",
    notEndedBefore(sql`(select ${sql.placeholder("sinceTs")}::bigint)`),
  );
  const read: ReadStatuses = (orderIds, sinceTs) =>
    sinceTs === undefined ? all.execute({ orderIds }) : recent.execute({ orderIds, sinceTs });
  statusReaders.set(db, read);
  return read;
}

/**
 * Returns the status of each order with one of these ids that belongs to the wallet; other ids have no key. Reads nothing
 * else, because every cancel of a filled order reads it.
 */
export async function findStatuses(
  db: Database,
  wallet: string,
  orderIds: readonly string[],
): Promise<Map<string, OrderStatus>> {
  const rows = await recentFirst(orderIds, statusReaderOf(db));
  const own = rows.filter((row) => row.wallet === wallet);
  return new Map(own.map(({ orderId, status }) => [orderId, status]));
}

/** Reads orders by their ids in the recent partitions, and in all of them those that are not there. */
async function recentFirst<Row extends Pick<OrderRecord, "orderId">>(
  orderIds: readonly string[],
  read: (orderIds: readonly string[], sinceTs: number | undefined) => PromiseLike<Row[]>,
): Promise<Row[]> {
  if (orderIds.length === 0) return [];
  const recent = await read(orderIds, Date.now() - RECENT_MS);
  const found = new Set(recent.map(({ orderId }) => orderId));
  const others = orderIds.filter((orderId) => !found.has(orderId));
  return others.length === 0 ? recent : [...recent, ...(await read(others, undefined))];
}

/** Condition for the orders of a wallet with these ids. */
function ownedBy(wallet: string, orderIds: readonly string[]): SQL | undefined {
  return and(sql`${orders.orderId} = any(${sql.param(orderIds)}::uuid[])`, eq(orders.wallet, wallet));
}

/** Reasons with which a market rejects a replacement and does not touch the original. */
const NOT_REPLACED: readonly RejectReason[] = ["EXPIRED_IN_FLIGHT", "CANCELED"];

/** Condition that leaves out the replacements that never took the place of their originals. */
const inPlace = or(
  isNull(orders.replaces),
  ne(orders.status, "REJECTED"),
  isNull(orders.reason),
  notInArray(orders.reason, [...NOT_REPLACED]),
);

/** Returns the newest order of the wallet with the client id: the last replacement of an order that was replaced. */
export async function findOrderByClientId(
  db: Queries,
  wallet: string,
  clientId: string,
): Promise<OrderRecord | undefined> {
  const recentTs = Date.now() - RECENT_MS;
  const newest = async (part: SQL | undefined): Promise<OrderRecord | undefined> => {
    const [row] = await db
      .select()
      .from(orders)
      .where(and(eq(orders.wallet, wallet), eq(orders.clientId, clientId), inPlace, part))
      .orderBy(...keyOrder(BY_ACCEPTANCE))
      .limit(1);
    return row;
  };
  return (await newest(and(gt(orders.ts, recentTs), notEndedBefore(recentTs)))) ?? newest(undefined);
}

/** Returns the newest order that was placed with each of the client ids, among those accepted after `sinceTs`. */
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
    .where(
      and(
        eq(orders.wallet, wallet),
        inArray(orders.clientId, [...clientIds]),
        isNull(orders.replaces),
        gt(orders.ts, sinceTs),
        notEndedBefore(sinceTs),
      ),
    )
    .orderBy(asc(orders.ts), asc(orders.place));
  return new Map(rows.map((row) => [row.clientId ?? "", row]));
}

/** Lists orders, newest first. Throws `InvalidCursor`. */
export function listOrders(
  db: Database,
  filter: OrderListFilter,
  request: PageRequest,
): Promise<Page<OrderRecord>> {
  return pageInSlices(db, request, (queries, slice) => {
    const read = (bounds: TimeBounds): Promise<Page<OrderRecord>> =>
      page(
        queries.select().from(orders).$dynamic(),
        BY_ACCEPTANCE,
        slice,
        matching({ ...filter, ...bounds }),
      );
    return isOfOpen(filter) ? read(filter) : pageByMonth(BY_ACCEPTANCE, slice, filter, read);
  });
}
