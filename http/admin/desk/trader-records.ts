/** Records of one trader, for the operators who answer the trader's questions (contract section 8.10). */

import { ledgerOf, LEDGERS } from "../../../actors/actor.js";
import type { Database } from "../../../db/database.js";
import { listCheckIns } from "../../../db/queries/accounts/device-locations.js";
import { listKeys } from "../../../db/queries/accounts/keys.js";
import { findSubaccount, findSubaccountByKey } from "../../../db/queries/accounts/subaccounts.js";
import { findTrader } from "../../../db/queries/accounts/traders.js";
import { findAnyOrder } from "../../../db/queries/trading/orders.js";
import { listTransactions } from "../../../db/queries/trading/transactions.js";
import type { LongWork } from "../../../stream/services/long-work.js";
import { IDS } from "../../docs/examples.js";
import type { Reference } from "../../reference/reference.js";
import { operatorWith } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { PageOnly, pageOf } from "../../request/fields.js";
import { route } from "../../request/route.js";
import { keyOnWire } from "../../surface-a/keys.js";
import { DeviceLocation, Transaction } from "../../surface-a/schemas/account.js";
import { Fill, FillsQuery, Order } from "../../surface-a/schemas/orders.js";
import { locationOnWire } from "../../surface-a/sessions/session.js";
import { fillsPage, ordersPage } from "../../surface-a/wallet-lists.js";
import { orderOnWire, transactionOnWire } from "../../surface-a/wire.js";
import type { ReadModel } from "../../trading/freshness.js";
import { TraderKey, TraderOrder, TraderOrdersQuery, TraderTransactionsQuery } from "../schemas/traders.js";

interface TraderRecordParts {
  readonly db: Database;
  readonly reads: ReadModel;
  readonly reference: Reference;
  readonly longWork: LongWork;
}

/** Codes with which a wallet that is not there is refused. */
const OF_WALLET = ["TRADER_NOT_FOUND", "SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"] as const;

export function traderRecordRoutes(parts: TraderRecordParts) {
  const { db, reads, reference } = parts;
  const requireTrader = async (traderId: string): Promise<string> => {
    if ((await findTrader(db, traderId)) === undefined) throw new Refused("TRADER_NOT_FOUND");
    return traderId;
  };

  /** Returns the wallet of the subaccount that a key names, or else the trader's own, once its tables are up to date. */
  const walletToRead = async (traderId: string, keyId: string | undefined): Promise<string> => {
    await requireTrader(traderId);
    const subaccount = keyId === undefined ? undefined : await findSubaccountByKey(db, traderId, keyId);
    if (subaccount === "NOT_A_SUBACCOUNT_KEY") throw new Refused("NOT_A_SUBACCOUNT_KEY");
    if (subaccount === undefined && keyId !== undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
    await reads.freshness.reach(ledgerOf(traderId));
    return subaccount?.subaccountId ?? traderId;
  };

  const orders = route("GET /admin/v1/traders/:traderId/orders", {
    access: operatorWith("read"),
    query: TraderOrdersQuery,
    answer: pageOf(Order),
    docs: {
      summary: "List the orders of a trader",
      description: "Returns the orders of one wallet of the trader, of every status, newest first.",
      refuses: OF_WALLET,
      exampleQuery: { subaccount: IDS.keyId, market: IDS.marketId },
    },
    run: async ({ caller, query, id }) => {
      const wallet = await walletToRead(id("traderId"), query.subaccount);
      return ordersPage(parts, { wallet, reader: caller.accountId }, query);
    },
  });

  const order = route("GET /admin/v1/orders/:orderId", {
    access: operatorWith("read"),
    answer: TraderOrder,
    docs: {
      summary: "Retrieve an order of any trader",
      description:
        "Returns an order by its id alone, with its trader and subaccount. Of an id that the tables do not have, it waits until they have every order that was accepted. `subaccount` is `null` for the trader's own wallet.",
      refuses: ["ORDER_NOT_FOUND"],
    },
    run: async ({ id, incoming }) => {
      const orderId = id("orderId");
      // Of an order that the tables lack, nobody knows the ledger that may have accepted it.
      const known = await findAnyOrder(reads.db, orderId);
      const ledgers = known === undefined ? LEDGERS : [ledgerOf(known.traderId)];
      await Promise.all(ledgers.map((ledger) => reads.freshness.reach(ledger)));
      const found = await findAnyOrder(reads.db, orderId);
      if (found === undefined) throw new Refused("ORDER_NOT_FOUND");
      const { traderId, wallet, marketId, filled, updatedTs } = found;
      const markets = await reference.marketsById([marketId]);
      const subaccount = await findSubaccount(db, wallet, incoming.receivedMs);
      const shown = orderOnWire(markets.get(marketId), found);
      return { body: { ...shown, traderId, subaccount: subaccount?.keyId ?? null, filled, updatedTs } };
    },
  });

  const fills = route("GET /admin/v1/traders/:traderId/fills", {
    access: operatorWith("read"),
    query: FillsQuery,
    answer: pageOf(Fill),
    docs: {
      summary: "List the fills of a trader",
      description: "Returns the fills of one wallet of the trader, newest first.",
      refuses: OF_WALLET,
      exampleQuery: { subaccount: IDS.keyId, order: IDS.orderId },
    },
    run: async ({ caller, query, id }) => {
      const wallet = await walletToRead(id("traderId"), query.subaccount);
      return fillsPage(parts, { wallet, reader: caller.accountId }, query);
    },
  });

  const transactions = route("GET /admin/v1/traders/:traderId/transactions", {
    access: operatorWith("read"),
    query: TraderTransactionsQuery,
    answer: pageOf(Transaction),
    docs: {
      summary: "List the transactions of a trader",
      description:
        "Returns every movement of money in one wallet of the trader, newest first: in the trader's own wallet, or with `subaccount` in that of a subaccount.",
      refuses: OF_WALLET,
      exampleQuery: { kind: "DEPOSIT" },
    },
    run: async ({ query, id }) => {
      const { subaccount, kind, currency, startsAfter, startsBefore, ...page } = query;
      const wallet = await walletToRead(id("traderId"), subaccount);
      const filter = { wallet, kind, currency, startsAfter, startsBefore };
      const { items, next } = await listTransactions(reads.db, filter, page);
      return { body: { items: items.map(transactionOnWire), next } };
    },
  });

  const keys = route("GET /admin/v1/traders/:traderId/keys", {
    access: operatorWith("read"),
    query: PageOnly,
    answer: pageOf(TraderKey),
    docs: {
      summary: "List the keys of a trader",
      description: "Returns all keys of the trader, revoked and expired ones included, newest first.",
      refuses: ["TRADER_NOT_FOUND"],
    },
    run: async ({ query, id }) => {
      const { items, next } = await listKeys(db, await requireTrader(id("traderId")), query);
      const shown = items.map(({ key, label }) => ({ ...keyOnWire(key, label), revokedAt: key.revokedTs }));
      return { body: { items: shown, next } };
    },
  });

  const checkIns = route("GET /admin/v1/traders/:traderId/check-ins", {
    access: operatorWith("read"),
    query: PageOnly,
    answer: pageOf(DeviceLocation),
    docs: {
      summary: "List the device check-ins of a trader",
      description: "Returns the check-ins of the last 90 days, the last one of each minute, newest first.",
      refuses: ["TRADER_NOT_FOUND"],
    },
    run: async ({ query, id }) => {
      const { items, next } = await listCheckIns(db, await requireTrader(id("traderId")), query);
      return { body: { items: items.map(locationOnWire), next } };
    },
  });

  return [orders, order, fills, transactions, keys, checkIns];
}
