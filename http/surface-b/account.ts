/** What the client's subaccount holds and has done (specification, Surface B table; contract section 7). */

import { ledgerOf } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { listFills } from "../../db/queries/trading/fills.js";
import { listOrders } from "../../db/queries/trading/orders.js";
import { listPositions } from "../../db/queries/trading/positions.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import type { Freshness } from "../trading/freshness.js";
import type { Incoming } from "../edge/incoming.js";
import { readQuery } from "../edge/query.js";
import type { Reference } from "../reference/reference.js";
import { clientEndpoint } from "../request/route.js";
import {
  Fill,
  HistoryQuery,
  Order,
  Position,
  PositionsQuery,
  Transaction,
  TransactionsQuery,
} from "./schemas.js";
import { fillOnB, orderOnB, positionOnB, transactionOnB } from "./wire.js";

export interface EmmAccountParts {
  readonly db: Database;
  readonly reference: Reference;
  readonly freshness: Freshness;
}

/** Where the next page is, for clients that follow links and for those that do not. */
export function nextPage(target: Incoming["target"], next: string | undefined): Record<string, string> {
  if (next === undefined) return {};
  const query = new URLSearchParams({ ...readQuery(target.query), after: next });
  return { Link: `<${target.path}?${query.toString()}>; rel="next"`, "X-Next-Cursor": next };
}

export function emmAccountEndpoints({ db, reference, freshness }: EmmAccountParts) {
  const positions = clientEndpoint({
    query: PositionsQuery,
    answer: Position.array(),
    run: async ({ caller: { traderId, wallet }, query: { currency, outcomeIds, ...page } }) => {
      if (outcomeIds?.length === 0) return { body: [] };
      await freshness.reach(ledgerOf(traderId));
      const openMarkets = outcomeIds === undefined;
      const found = await listPositions(db, { wallet, currency, outcomeIds, openMarkets }, page);
      return { body: found.map(positionOnB) };
    },
  });

  const fills = clientEndpoint({
    query: HistoryQuery,
    answer: Fill.array(),
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, before: startsBefore, ...page } = query;
      await freshness.reach(ledgerOf(traderId));
      const { items, next } = await listFills(db, { wallet, currency, startsBefore }, page);
      const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
      return {
        headers: nextPage(incoming.target, next),
        body: items.map((fill) => fillOnB(markets.get(fill.marketId), fill)),
      };
    },
  });

  const orders = clientEndpoint({
    query: HistoryQuery,
    answer: Order.array(),
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, before: startsBefore, ...page } = query;
      await freshness.reach(ledgerOf(traderId));
      const { items, next } = await listOrders(db, { wallet, currency, startsBefore }, page);
      const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
      return {
        headers: nextPage(incoming.target, next),
        body: items.map((order) => orderOnB(markets.get(order.marketId), order)),
      };
    },
  });

  const transactions = clientEndpoint({
    query: TransactionsQuery,
    answer: Transaction.array(),
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, kind, before: startsBefore, ...page } = query;
      await freshness.reach(ledgerOf(traderId));
      const { items, next } = await listTransactions(db, { wallet, currency, kind, startsBefore }, page);
      return { headers: nextPage(incoming.target, next), body: items.map(transactionOnB) };
    },
  });

  return { positions, fills, orders, transactions };
}
