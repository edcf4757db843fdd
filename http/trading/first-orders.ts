/** First orders of client ids, as the tables have them (contract section 5.7). */

import { CLIENT_ID_MS } from "../../actors/limits.js";
import type { LookedUpClientId } from "../../actors/ledger/commands.js";
import { digestOf } from "../../actors/ledger/ids/digest.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { Database } from "../../db/database.js";
import { findOrdersByClientIds, type OrderRecord } from "../../db/queries/trading/orders.js";

/** Difference that the engine times of two processes may have. The ledger decides about the age of an order. */
const CLOCKS_MS = 60 * 60 * 1_000;

/** Looks up the first orders of the client ids of `orders`, in tables that have all orders of the ledger. */
export async function lookUpClientIds(
  db: Database,
  wallet: string,
  orders: readonly OrderRequest[],
  engineMs: number,
): Promise<readonly LookedUpClientId[]> {
  const clientIds = orders.flatMap(({ clientId }) => clientId ?? []);
  const since = engineMs - CLIENT_ID_MS - CLOCKS_MS;
  const found = await findOrdersByClientIds(db, wallet, clientIds, since);
  return clientIds.map((clientId) => {
    const row = found.get(clientId);
    if (row === undefined) return { clientId };
    const { orderId, ts } = row;
    const same = orders.find((order) => order.clientId === clientId && isSame(row, order));
    // The digest of a row without one is that of the order with the same fields; no order has an empty digest.
    const digest = row.digest ?? (same === undefined ? "" : digestOf(same));
    return { clientId, first: { orderId, digest, ts } };
  });
}

/** Returns true if the order is the same as the one of the row, as far as the row shows. */
export function isSame(row: OrderRecord, order: OrderRequest): boolean {
  if (row.digest !== null) return row.digest === digestOf(order);
  return (
    row.marketId === order.terms.marketId &&
    row.outcome === order.outcome &&
    row.currency === order.currency &&
    row.price === order.price &&
    row.qty === order.qty &&
    row.tif === order.tif &&
    (row.groupId ?? undefined) === order.groupId
  );
}
