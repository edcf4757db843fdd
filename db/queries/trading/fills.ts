/** Fills, each one side of an execution (contract section 5.17). */

import { and, eq } from "drizzle-orm";
import type { Currency } from "../../../actors/market/types.js";
import type { Database } from "../../database.js";
import {
  page,
  pageByMonth,
  pageInSlices,
  within,
  type Keyset,
  type Page,
  type PageRequest,
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
  const wanted = (bounds: TimeBounds) =>
    and(
      eq(fills.wallet, filter.wallet),
      filter.currency === undefined ? undefined : eq(fills.currency, filter.currency),
      filter.orderId === undefined ? undefined : eq(fills.orderId, filter.orderId),
      inMarkets(fills, filter),
      within(fills.ts, bounds),
    );
  return pageInSlices(db, request, (queries, slice) =>
    pageByMonth(BY_TIME, slice, filter, (bounds) =>
      page(queries.select().from(fills).$dynamic(), BY_TIME, slice, wanted(bounds)),
    ),
  );
}
