/** Open orders, positions and fills of a wallet (contract section 5.17). */

import type { z } from "zod";
import { ledgerOf } from "../../actors/actor.js";
import type { OpenOrder, WalletPosition } from "../../actors/ledger/types.js";
import type { Database } from "../../db/database.js";
import { listPositions } from "../../db/queries/trading/positions.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { LongWork, Pieces } from "../../stream/services/long-work.js";
import { IDS, UNCHANGED } from "../docs/examples.js";
import { etagOf, matchesEtag } from "../edge/etag.js";
import { retryAfter } from "../edge/headers.js";
import type { Incoming } from "../edge/incoming.js";
import type { Reference } from "../reference/reference.js";
import { signedOrSession, TRADING } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { ACCOUNT, perRows, READ } from "../request/metering.js";
import { route, Serialized, type Reply } from "../request/route.js";
import { type BucketSize, MemoryBuckets } from "../request/throttle.js";
import type { ReadModel } from "../trading/freshness.js";
import { readHoldings, type Holdings, type Trader } from "../trading/ledger-client.js";
import { scopeOf } from "../trading/scope.js";
import { SharedRuns } from "../trading/shared-runs.js";
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
import { inTurn } from "./in-turn.js";
import { fillsPage, serializeRows } from "./wallet-lists.js";
import { openOrderOnWire, outcomeIdOf, positionOnWire } from "./wire.js";

interface PortfolioParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly reference: Reference;
  readonly reads: ReadModel;
  readonly longWork: LongWork;
}

/** Open orders or positions of a wallet, as they are sent. */
interface Held {
  readonly etag: string;
  readonly json: Buffer;
}

/**
 * Bytes of open orders and positions that a trader receives: a second, and at once. Every request is answered with all of
 * them, and those of a large wallet have more than a megabyte.
 */
const HELD_BYTES: BucketSize = { capacity: 8e6, refillPerSec: 4e6 };

/** Bound of the answer, which has no pages. A wallet may hold more positions. */
const MAX_POSITIONS = 100_000;

export function portfolioRoutes(parts: PortfolioParts) {
  const { db, exchange, reference, reads, longWork } = parts;
  const held = new SharedRuns<Held>();
  const sentBytes = new MemoryBuckets(HELD_BYTES);

  /**
   * Reads the open orders or positions of a wallet from its ledger, and serializes them. Requests that come while a read is
   * in progress share the next one.
   */
  const read = (
    name: "open" | "positions",
    { traderId, wallet }: Trader,
    rowsOf: (
      holdings: Holdings,
      pieces: Pieces,
    ) => Promise<{ readonly seq: number; readonly rows: readonly Buffer[] }>,
  ): Promise<Held> =>
    held.run(`${name} ${wallet}`, () =>
      inTurn(longWork, `account ${traderId}`, async (pieces) => {
        const holdings = await readHoldings(exchange, traderId, wallet, (ms) => pieces.rest(ms));
        const { seq, rows } = await rowsOf(holdings, pieces);
        const parts = [Buffer.from(`{"seq":${seq},"${name}":[`), ...rows, Buffer.from("]}")];
        // Of a large wallet some rows may be newer than the seq, so it alone does not identify a version.
        return pieces.piece(() => ({ etag: etagOf(wallet, ...parts), json: Buffer.concat(parts) }));
      }),
    );

  /** Returns what a wallet holds, or 304 to a client that has it. Refuses a trader who has received too much. */
  const replyOf = <Answer>(
    { traderId }: Trader,
    { etag, json }: Held,
    incoming: Incoming,
  ): Reply<Answer | undefined> => {
    const headers = { ETag: etag, "Cache-Control": "no-cache" };
    if (matchesEtag(incoming.header("if-none-match"), etag)) return { status: 304, headers, body: undefined };
    const { granted, retryAfterS } = sentBytes.charge(traderId, Math.min(json.length, HELD_BYTES.capacity));
    if (!granted) {
      const message = `you have received too many open orders and positions; send If-None-Match, or wait ${retryAfterS} s`;
      throw new Refused("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(retryAfterS));
    }
    return { headers, body: new Serialized<Answer>(() => json, json) };
  };

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
      const trader = await walletToRead(db, caller, query);
      const found = await read("open", trader, async ({ orders }, pieces) => {
        const open = orders.open.filter(({ status }) => status === "OPEN");
        const markets = await reference.marketsById(open.map(({ marketId }) => marketId));
        const onWire = (order: OpenOrder) => openOrderOnWire(markets.get(order.marketId), order);
        return { seq: orders.seq, rows: await serializeRows(pieces, open, onWire) };
      });
      return replyOf<z.output<typeof AccountOrders>>(trader, found, incoming);
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
      const trader = await walletToRead(db, caller, query);
      const found = await read("positions", trader, async (holdings, pieces) => {
        const { seq, positions } = holdings.positions;
        const markets = await reference.marketsById(positions.map(({ marketId }) => marketId));
        const onWire = (position: WalletPosition) =>
          positionOnWire(outcomeIdOf(markets.get(position.marketId), position.outcome), position);
        return { seq, rows: await serializeRows(pieces, positions, onWire) };
      });
      return replyOf<z.output<typeof AccountPositions>>(trader, found, incoming);
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
      return fillsPage(parts, { wallet, reader: traderId }, query);
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
