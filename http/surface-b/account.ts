/**
 * Positions, fills, orders and transactions of the client's subaccount (specification, Surface B table; contract
 * section 7.8).
 */

import { ledgerOf } from "../../actors/actor.js";
import { subtract } from "../../actors/units.js";
import { listFills } from "../../db/queries/trading/fills.js";
import { listOrders } from "../../db/queries/trading/orders.js";
import { listPositions } from "../../db/queries/trading/positions.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import type { Exchange } from "../../stream/log/ports.js";
import { IDS } from "../docs/examples.js";
import type { Incoming } from "../edge/incoming.js";
import { readQuery } from "../edge/query.js";
import type { Reference } from "../reference/reference.js";
import { route } from "../request/route.js";
import type { ReadModel } from "../trading/freshness.js";
import { readBalances } from "../trading/ledger-client.js";
import { HISTORY, ordinary, POSITIONS, reading } from "./access.js";
import {
  Balance,
  BalanceQuery,
  Fill,
  HistoryQuery,
  Order,
  Position,
  PositionsQuery,
  Transaction,
  TransactionsQuery,
} from "./schemas.js";
import { amountOnB, fillOnB, orderOnB, positionOnB, transactionOnB } from "./wire.js";

interface EmmAccountParts {
  readonly exchange: Exchange;
  readonly reference: Reference;
  readonly reads: ReadModel;
}

/** Returns the headers of the next page: a link to follow, and its cursor, which takes the place of an offset. */
function nextPage(target: Incoming["target"], next: string | undefined): Record<string, string> {
  if (next === undefined) return {};
  const query = new URLSearchParams({ ...readQuery(target.query, true), after: next });
  query.delete("offset");
  return { Link: `<${target.path}?${query.toString()}>; rel="next"`, "X-Next-Cursor": next };
}

/** Headers of a page that has a next one. */
const NEXT_PAGE = ["Link", "X-Next-Cursor"] as const;

export function emmAccountRoutes(base: string, { exchange, reference, reads }: EmmAccountParts) {
  const positions = route(`GET ${base}/positions/all`, {
    access: reading(POSITIONS),
    query: PositionsQuery,
    answer: Position.array(),
    docs: {
      summary: "List positions",
      description:
        "Returns the positions of the client in all open markets, or in the outcomes that `outcomeIds` names.",
      exampleQuery: { currency: "CASH", outcomeIds: IDS.outcomeId, limit: "100" },
    },
    run: async ({ caller: { traderId, wallet }, query: { currency, outcomeIds, ...page } }) => {
      if (outcomeIds?.length === 0) return { body: [] };
      await reads.freshness.reach(ledgerOf(traderId));
      const openMarkets = outcomeIds === undefined;
      const found = await listPositions(reads.db, { wallet, currency, outcomeIds, openMarkets }, page);
      return { body: found.map(positionOnB) };
    },
  });

  const fills = route(`GET ${base}/fills/all`, {
    access: reading(HISTORY),
    query: HistoryQuery,
    answer: Fill.array(),
    docs: {
      summary: "List fills",
      description: "Returns the fills of the client, newest first. Each fill has the status `FILLED`.",
      headers: NEXT_PAGE,
      exampleQuery: { limit: "256" },
    },
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, status, before: startsBefore, ...page } = query;
      if (status?.includes("FILLED") === false) return { body: [] };
      await reads.freshness.reach(ledgerOf(traderId));
      const { items, next } = await listFills(reads.db, { wallet, currency, startsBefore }, page);
      const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
      return {
        headers: nextPage(incoming.target, next),
        body: items.map((fill) => fillOnB(markets.get(fill.marketId), fill)),
      };
    },
  });

  const orders = route(`GET ${base}/orders/all`, {
    access: reading(HISTORY),
    query: HistoryQuery,
    answer: Order.array(),
    docs: {
      summary: "List orders",
      description: "Returns the orders of the client, newest first.",
      headers: NEXT_PAGE,
      exampleQuery: { status: "OPEN,FILLED", limit: "256" },
    },
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, status: statuses, before: startsBefore, ...page } = query;
      await reads.freshness.reach(ledgerOf(traderId));
      const { items, next } = await listOrders(reads.db, { wallet, currency, statuses, startsBefore }, page);
      const markets = await reference.marketsById(items.map(({ marketId }) => marketId));
      return {
        headers: nextPage(incoming.target, next),
        body: items.map((order) => orderOnB(markets.get(order.marketId), order)),
      };
    },
  });

  const transactions = route(`GET ${base}/transactions`, {
    access: reading(HISTORY),
    query: TransactionsQuery,
    answer: Transaction.array(),
    docs: {
      summary: "List transactions",
      description:
        "Returns every movement of the client's money, newest first. Each movement has the status `COMPLETED`.",
      headers: NEXT_PAGE,
      exampleQuery: { kind: "TRANSFER_IN", limit: "256" },
    },
    run: async ({ caller: { traderId, wallet }, query, incoming }) => {
      const { currency, kind, before: startsBefore, limit, after, offset } = query;
      await reads.freshness.reach(ledgerOf(traderId));
      const { items, next } = await listTransactions(
        reads.db,
        { wallet, currency, kind, startsBefore },
        { limit, after, offset },
      );
      return { headers: nextPage(incoming.target, next), body: items.map(transactionOnB) };
    },
  });

  const balance = route(`GET ${base}/account/balance`, {
    access: reading(ordinary("balance")),
    query: BalanceQuery,
    answer: Balance,
    docs: {
      summary: "Retrieve the balance",
      description:
        "Returns the balance of the client's subaccount, the part that is available, and the part that open orders reserve.",
      exampleQuery: { currency: "CASH" },
    },
    run: async ({ caller: { traderId, wallet }, query: { currency } }) => {
      const { total, reserved } = (await readBalances(exchange, traderId, wallet)).balances[currency];
      return {
        body: {
          balance: amountOnB(total),
          available: amountOnB(subtract(total, reserved)),
          reserved: amountOnB(reserved),
          currency,
        },
      };
    },
  });

  return [positions, fills, orders, transactions, balance];
}
