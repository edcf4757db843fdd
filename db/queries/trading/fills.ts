/** Fills, each one side of an execution (contract section 5.17). */

import { and, eq } from "drizzle-orm";
import type { Currency } from "../../../actors/market/types.js";
import type { Database } from "../../database.js";
import {
  page,
  pageByMonth,
  pageInSlices,
  readInSlices,
  within,
  type Keyset,
  type Page,
  type PageRequest,
  type ReadSlice,
  type TimeBounds,
} from "../../page.js";
import { fills } from "../../schema/wallets.js";
import { inMarkets, type MarketScope } from "./market-scope.js";

export type FillRecord = typeof fills.$inferSelect;

/** Conditions on fills; an absent field is no condition. */
export interface FillFilter extends MarketScope, TimeBounds {
  readonly wallet: string;
  readonly currency?: Currency | undefined;
  readonly orderId?: string | undefined;
}

const BY_TIME: Keyset<FillRecord> = {
  columns: [fills.ts, fills.place],
  direction: "descending",
  keyOf: (fill) => [fill.ts, fill.place],
};

/** Lists fills, newest first. Throws `InvalidCursor`. */
export function listFills(db: Database, filter: FillFilter, request: PageRequest): Promise<Page<FillRecord>> {
  return pageInSlices(db, request, slicesOf(filter));
}

/** Reads fills, newest first, and hands them to `take` slice by slice. Throws `InvalidCursor`. */
export function readFills(
  db: Database,
  filter: FillFilter,
  request: PageRequest,
  take: (rows: readonly FillRecord[]) => Promise<void>,
): Promise<Pick<Page<FillRecord>, "next">> {
  return readInSlices(db, request, slicesOf(filter), take);
}

function slicesOf(filter: FillFilter): ReadSlice<FillRecord> {
  const wanted = (bounds: TimeBounds) =>
    and(
      eq(fills.wallet, filter.wallet),
      filter.currency === undefined ? undefined : eq(fills.currency, filter.currency),
      filter.orderId === undefined ? undefined : eq(fills.orderId, filter.orderId),
      inMarkets(fills, filter),
      within(fills.ts, bounds),
    );
  return (queries, slice) =>
    pageByMonth(BY_TIME, slice, filter, (bounds) =>
      page(queries.select().from(fills).$dynamic(), BY_TIME, slice, wanted(bounds)),
    );
}
