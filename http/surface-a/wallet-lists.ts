/** Pages of the orders and fills of one wallet, for its trader and for operators (contract sections 5.17 and 8.10). */

import type { z } from "zod";
import { listFills } from "../../db/queries/trading/fills.js";
import { listOrders } from "../../db/queries/trading/orders.js";
import type { LongWork, Pieces } from "../../stream/services/long-work.js";
import type { Reference } from "../reference/reference.js";
import { Serialized } from "../request/route.js";
import type { ReadModel } from "../trading/freshness.js";
import { scopeOf } from "../trading/scope.js";
import { inTurn } from "./in-turn.js";
import type { FillsQuery, OrdersQuery } from "./schemas/orders.js";
import { fillOnWire, orderOnWire } from "./wire.js";

interface WalletListParts {
  readonly reads: Pick<ReadModel, "db">;
  readonly reference: Reference;
  readonly longWork: LongWork;
}

/** Wallet to list, and the one for whom it is listed. */
interface Reading {
  readonly wallet: string;
  readonly reader: string;
}

type OrdersOf = Omit<z.output<typeof OrdersQuery>, "subaccount" | "clientId">;
type FillsOf = Omit<z.output<typeof FillsQuery>, "subaccount">;

/** Number of rows that are serialized at once, which takes about 1 ms. */
const SLICE_ROWS = 500;

/**
 * Returns a page of the orders of a wallet. Throws `InvalidCursor`; refuses as `scopeOf` does, and `RATE_LIMIT_EXCEEDED`
 * when too many lists of the reader wait.
 */
export function ordersPage(parts: WalletListParts, { wallet, reader }: Reading, query: OrdersOf) {
  const { event, market, outcome, status: statuses, currency, startsAfter, startsBefore } = query;
  const { reads, reference } = parts;
  // A client reconciles with its open orders, so these do not wait for the lists of its history.
  const line = statuses?.every((status) => status === "OPEN") === true ? "open" : "history";
  return inTurn(parts.longWork, `${line} ${reader}`, async (pieces) => {
    const scope = await scopeOf(reference, { event, market, outcome });
    const filter = { wallet, ...scope, currency, statuses, startsAfter, startsBefore };
    const { items, next } = await listOrders(reads.db, filter, query);
    const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
    return pageReply(pieces, { items, others: { next } }, (order) =>
      orderOnWire(markets.get(order.marketId), order),
    );
  });
}

/** Returns a page of the fills of a wallet. Throws and refuses as `ordersPage` does. */
export function fillsPage(parts: WalletListParts, { wallet, reader }: Reading, query: FillsOf) {
  const { event, market, outcome, order: orderId, currency, startsAfter, startsBefore } = query;
  const { reads, reference } = parts;
  return inTurn(parts.longWork, `history ${reader}`, async (pieces) => {
    const scope = await scopeOf(reference, { event, market, outcome });
    const filter = { wallet, ...scope, orderId, currency, startsAfter, startsBefore };
    const { items, next } = await listFills(reads.db, filter, query);
    const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
    return pageReply(pieces, { items, others: { next } }, (fill) =>
      fillOnWire(markets.get(fill.marketId), fill),
    );
  });
}

/** Serializes the rows of a list in slices; returns their JSON without the brackets of the array. */
export async function serializeRows<Row>(
  pieces: Pieces,
  rows: readonly Row[],
  onWire: (row: Row) => object,
): Promise<Buffer[]> {
  const slices: Buffer[] = [];
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    const slice = rows.slice(from, from + SLICE_ROWS);
    const separator = from === 0 ? "" : ",";
    slices.push(
      await pieces.piece(() =>
        Buffer.from(separator + slice.map((row) => JSON.stringify(onWire(row))).join(",")),
      ),
    );
  }
  return slices;
}

/** Returns the answer of a list: the rows of the page in slices, and its other fields behind them. */
export async function pageReply<
  Row,
  Item extends object,
  Others extends { readonly next?: string | undefined },
>(
  pieces: Pieces,
  { items, others }: { readonly items: readonly Row[]; readonly others: Others },
  onWire: (row: Row) => Item,
) {
  const rows = await serializeRows(pieces, items, onWire);
  const fields = JSON.stringify(others).slice(1);
  const end = Buffer.from(fields === "}" ? "]}" : `],${fields}`);
  const json = Buffer.concat([Buffer.from('{"items":['), ...rows, end]);
  return { body: new Serialized<{ items: Item[] } & Others>(() => json, json), rows: items.length };
}
