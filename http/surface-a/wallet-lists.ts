/** Pages of the orders and fills of one wallet, for its trader and for operators (contract sections 5.17 and 8.10). */

import type { z } from "zod";
import { type FillRecord, readFills } from "../../db/queries/trading/fills.js";
import { type OrderRecord, readOrders } from "../../db/queries/trading/orders.js";
import { type LongWork, NotBegun, type Pieces } from "../../stream/services/long-work.js";
import { retryAfter } from "../edge/headers.js";
import type { Reference } from "../reference/reference.js";
import { NotStarted } from "../request/errors.js";
import { KEY_BUCKETS } from "../request/throttle.js";
import { Serialized } from "../request/route.js";
import type { ReadModel } from "../trading/freshness.js";
import { scopeOf } from "../trading/scope.js";
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
type OrderOnWire = ReturnType<typeof orderOnWire>;
type FillOnWire = ReturnType<typeof fillOnWire>;
type FillsOf = Omit<z.output<typeof FillsQuery>, "subaccount">;

/**
 * Bounds of the lists of one reader, and of the previews of one trader, of which one key has tokens for so many at once. Work
 * that begins after a longer wait may not be answered in the time that an answer may take.
 */
const LISTS = { most: 16, waitMs: 2_000 };
const PREVIEWS = { most: KEY_BUCKETS.read.capacity, waitMs: 2_000 };
/** Number of rows that are serialized at once, which takes about 1 ms. */
const SLICE_ROWS = 500;
const COMMA = Buffer.from(",");

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
    return replyInSlices<OrderRecord, OrderOnWire>(
      pieces,
      (take) => readOrders(reads.db, filter, query, take),
      async (orders) => {
        const markets = await reference.marketsById(orders.map(({ marketId }) => marketId));
        return (order: OrderRecord) => orderOnWire(markets.get(order.marketId), order);
      },
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
    return replyInSlices<FillRecord, FillOnWire>(
      pieces,
      (take) => readFills(reads.db, filter, query, take),
      async (fills) => {
        const markets = await reference.marketsById(fills.map(({ marketId }) => marketId));
        return (fill: FillRecord) => fillOnWire(markets.get(fill.marketId), fill);
      },
    );
  });
}

/**
 * Reads and serializes a list after the earlier ones of its line. Refuses `RATE_LIMIT_EXCEEDED` when the list cannot begin
 * early enough.
 */
export function inTurn<Result>(
  longWork: LongWork,
  line: string,
  list: (pieces: Pieces) => Promise<Result>,
): Promise<Result> {
  return orRefuse("lists are being read", longWork.run(line, LISTS, list));
}

/** Makes a preview after the earlier ones of its trader. Refuses `RATE_LIMIT_EXCEEDED` as `inTurn` does. */
export function previewInTurn<Result>(
  longWork: LongWork,
  traderId: string,
  preview: () => Promise<Result>,
): Promise<Result> {
  return orRefuse("previews are being made", longWork.run(`preview ${traderId}`, PREVIEWS, preview));
}

async function orRefuse<Result>(what: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NotBegun)) throw error;
    const message = `too many of your ${what}; wait for the answer to one of them`;
    throw new NotStarted("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(1));
  }
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
  const json = jsonOf(await serializeRows(pieces, items, onWire), others);
  return { body: new Serialized<{ items: Item[] } & Others>(() => json, json), rows: items.length };
}

/**
 * Returns the answer of a list that `read` hands over slice by slice. Each slice is serialized before the next is read, so
 * that a long list keeps no more rows than one slice has. `onWireOf` returns what shows the rows of a slice.
 */
async function replyInSlices<Row, Item extends object>(
  pieces: Pieces,
  read: (take: (rows: readonly Row[]) => Promise<void>) => Promise<{ readonly next?: string | undefined }>,
  onWireOf: (rows: readonly Row[]) => Promise<(row: Row) => Item>,
) {
  const slices: Buffer[] = [];
  let count = 0;
  const others = await read(async (rows) => {
    if (count > 0 && rows.length > 0) slices.push(COMMA);
    slices.push(...(await serializeRows(pieces, rows, await onWireOf(rows))));
    count += rows.length;
  });
  const json = jsonOf(slices, others);
  return { body: new Serialized<{ items: Item[] } & typeof others>(() => json, json), rows: count };
}

/** Returns the JSON of a list: that of its rows, and its other fields behind them. */
function jsonOf(rows: readonly Buffer[], others: object): Buffer {
  const fields = JSON.stringify(others).slice(1);
  const end = Buffer.from(fields === "}" ? "]}" : `],${fields}`);
  return Buffer.concat([Buffer.from('{"items":['), ...rows, end]);
}
