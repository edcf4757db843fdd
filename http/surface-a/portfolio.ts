/** Open orders, positions and fills of a wallet (contract section 5.17). */

import { ledgerOf } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { listPositions } from "../../db/queries/trading/positions.js";
import type { Exchange } from "../../stream/log/ports.js";
import { IDS, UNCHANGED } from "../docs/examples.js";
import { etagOf, matchesEtag } from "../edge/etag.js";
import type { Reference } from "../reference/reference.js";
import { signedOrSession, TRADING } from "../request/access.js";
import { pageOf } from "../request/fields.js";
import { ACCOUNT, perRows, READ } from "../request/metering.js";
import { route } from "../request/route.js";
import type { ReadModel } from "../trading/freshness.js";
import { readHoldings } from "../trading/ledger-client.js";
import { scopeOf } from "../trading/scope.js";
import {
  AccountOrders,
  AccountPositions,
  Fill,
  FillsQuery,
  Position,
  PositionsQuery,
  WalletQuery,
} from "./schemas/orders.js";
import { SUBACCOUNT_REFUSALS, walletToRead } from "./subaccounts.js";
import { fillsPage } from "./wallet-lists.js";
import { openOrderOnWire, outcomeIdOf, positionOnWire } from "./wire.js";

interface PortfolioParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly reference: Reference;
  readonly reads: ReadModel;
}

/** Bound of the answer, which has no pages. A wallet may hold more positions. */
const MAX_POSITIONS = 100_000;

export function portfolioRoutes({ db, exchange, reference, reads }: PortfolioParts) {
  const openOrders = route("GET /v3/account/orders", {
    access: signedOrSession(TRADING),
    metering: ACCOUNT,
    query: WalletQuery,
    answer: AccountOrders.optional(),
    docs: {
      summary: "Retrieve the open orders of the wallet",
      description:
        "Returns the orders of the wallet that rest in their books, which are those in the snapshot of the stream, with the `seq` of the private orders channel.",
      refuses: SUBACCOUNT_REFUSALS,
      also: UNCHANGED,
      exampleQuery: { subaccount: IDS.keyId },
    },
    run: async ({ caller, query, incoming }) => {
      const { traderId, wallet } = await walletToRead(db, caller, query);
      const { orders } = await readHoldings(exchange, traderId, wallet);
      const { seq } = orders;
      const open = orders.open.filter(({ status }) => status === "OPEN");
      // Of a large wallet some orders may be newer than the seq, so it alone does not identify a version.
      const etag = etagOf(wallet, "orders", seq, ...open.flatMap(({ orderId, qty }) => [orderId, qty]));
      const headers = { ETag: etag, "Cache-Control": "no-cache" };
      if (matchesEtag(incoming.header("if-none-match"), etag))
        return { status: 304, headers, body: undefined };
      const markets = await reference.marketsById(open.map(({ marketId }) => marketId));
      const body = { seq, open: open.map((order) => openOrderOnWire(markets.get(order.marketId), order)) };
      return { headers, body };
    },
  });

  const openPositions = route("GET /v3/account/positions", {
    access: signedOrSession(TRADING),
    metering: ACCOUNT,
    query: WalletQuery,
    answer: AccountPositions.optional(),
    docs: {
      summary: "Retrieve the open positions of the wallet",
      description:
        "Returns the same positions as the snapshot of the stream, with the `seq` of the private positions channel.",
      refuses: SUBACCOUNT_REFUSALS,
      also: UNCHANGED,
      exampleQuery: { subaccount: IDS.keyId },
    },
    run: async ({ caller, query, incoming }) => {
      const { traderId, wallet } = await walletToRead(db, caller, query);
      const { seq, positions } = (await readHoldings(exchange, traderId, wallet)).positions;
      const rows = positions.flatMap(({ marketId, currency, outcome, qty, cost }) => [
        marketId,
        currency,
        outcome,
        qty,
        cost,
      ]);
      const etag = etagOf(wallet, "positions", seq, ...rows);
      const headers = { ETag: etag, "Cache-Control": "no-cache" };
      if (matchesEtag(incoming.header("if-none-match"), etag))
        return { status: 304, headers, body: undefined };
      const markets = await reference.marketsById(positions.map(({ marketId }) => marketId));
      const shown = positions.map((position) =>
        positionOnWire(outcomeIdOf(markets.get(position.marketId), position.outcome), position),
      );
      return { headers, body: { seq, positions: shown } };
    },
  });

  const fills = route("GET /v3/portfolio/fills", {
    access: signedOrSession(TRADING),
    metering: perRows("history", 8, 50),
    query: FillsQuery,
    answer: pageOf(Fill),
    docs: {
      summary: "List fills",
      description: "Returns the fills of the wallet, newest first.",
      refuses: SUBACCOUNT_REFUSALS,
      exampleQuery: { subaccount: IDS.keyId, market: IDS.marketId, limit: "100" },
    },
    run: async ({ caller, query }) => {
      const { traderId, wallet } = await walletToRead(db, caller, query);
      await reads.freshness.reach(ledgerOf(traderId));
      const body = await fillsPage({ reads, reference }, wallet, query);
      return { body, rows: body.items.length };
    },
  });

  const positions = route("GET /v3/portfolio/positions", {
    access: signedOrSession(TRADING),
    metering: READ,
    query: PositionsQuery,
    answer: Position.array(),
    docs: {
      summary: "List positions",
      description: "Returns the positions of the wallet, each with the contracts held and their cost.",
      refuses: SUBACCOUNT_REFUSALS,
      exampleQuery: { subaccount: IDS.keyId, event: IDS.eventId },
    },
    run: async ({ caller, query }) => {
      const { traderId, wallet } = await walletToRead(db, caller, query);
      const { currency, ...named } = query;
      await reads.freshness.reach(ledgerOf(traderId));
      const filter = { wallet, currency, ...(await scopeOf(reference, named)) };
      const found = await listPositions(reads.db, filter, { limit: MAX_POSITIONS, offset: 0 });
      return { body: found.map((position) => positionOnWire(position.outcomeId, position)) };
    },
  });

  return [openOrders, openPositions, fills, positions];
}
