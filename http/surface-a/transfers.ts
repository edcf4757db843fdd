/**
 * Transfers between a trader's own wallet and a subaccount, and the transactions of a wallet (contract section 5.13).
 */

import { ledgerOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import type { Transfer as LedgerTransfer } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { findSubaccount } from "../../db/queries/accounts/subaccounts.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import {
  findTransfer,
  findTransferByClientId,
  type TransferRecord,
} from "../../db/queries/trading/transfers.js";
import { Unavailable, type GatewayExchange } from "../../stream/log/ports.js";
import { idFrom } from "../request/command-ids.js";
import { ANY_SCOPE, MANAGING, signedBy, signedOrSession } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { ACCOUNT, costs, perRows } from "../request/metering.js";
import { route } from "../request/route.js";
import type { Freshness, ReadModel } from "../trading/freshness.js";
import { sendWithIds } from "../trading/ledger-client.js";
import {
  AccountTransfer,
  Transaction,
  TransactionsQuery,
  Transfer,
  TransferBody,
} from "./schemas/account.js";
import { requireSubaccount, SUBACCOUNT_REFUSALS } from "./subaccounts.js";
import { coin, transactionOnWire } from "./wire.js";

interface TransferParts {
  readonly db: Database;
  readonly exchange: GatewayExchange;
  readonly freshness: Freshness;
  readonly reads: ReadModel;
  /** Format that all processes read. */
  readonly formats: Formats;
}

type Shown = Pick<LedgerTransfer, "transferId" | "direction" | "currency" | "amount" | "status"> & {
  readonly available?: LedgerTransfer["available"] | null;
  readonly clientTransferId?: string | null | undefined;
};

function transferOnWire(transfer: Shown, ts: number) {
  const { transferId, status, direction, amount, available, clientTransferId } = transfer;
  const at = new Date(ts).toISOString();
  return {
    transferId,
    status,
    direction,
    amount: formatMoney(amount),
    actualBalance: available === undefined || available === null ? null : formatMoney(available),
    clientTransferId: clientTransferId ?? null,
    createdAt: at,
    updatedAt: at,
    ...coin(transfer.currency ?? "CASH"),
  };
}

/** Returns a transfer of the tables as its ledger emitted it. */
function transferOf({
  traderId,
  available,
  clientTransferId,
  ts: _ts,
  ...transfer
}: TransferRecord): LedgerTransfer {
  return {
    ...transfer,
    trader: traderId,
    available: available ?? undefined,
    clientTransferId: clientTransferId ?? undefined,
  };
}

/** Transfers have rates of their own besides the cost: 5 per second and 60 per minute (contract section 5.13). */
const TRANSFER = costs("account", 1, [
  { name: "transfers a second", capacity: 5, refill: 5, periodMs: 1_000 },
  { name: "transfers a minute", capacity: 60, refill: 60, periodMs: 60_000 },
]);

/** Format from which every ledger reads the currency of a transfer. */
const CURRENCY_IN_TRANSFERS = 4;

/** Returns the currency for the command of a transfer. Refuses `UNAVAILABLE` while a ledger would not read it. */
function currencyFor(currency: Currency, formats: Formats): Currency | undefined {
  if (currency === "CASH") return undefined;
  if (formats.active() >= CURRENCY_IN_TRANSFERS) return currency;
  throw new Unavailable(`transfers of ${currency} wait until the upgrade of the exchange is complete`);
}

export function transferRoutes({ db, exchange, freshness, reads, formats }: TransferParts) {
  const create = route("POST /v3/account/subaccounts/:keyId/transfer", {
    access: signedBy(["management"]),
    metering: TRANSFER,
    status: 202,
    body: TransferBody,
    answer: Transfer,
    docs: {
      summary: "Create a transfer",
      description:
        "Moves money from the trader's own wallet to the subaccount (`fund`), or back (`defund`). A transfer of more than is available is accepted and ends with the status `Rejected`. Each `clientTransferId` takes effect once.",
      refuses: [...SUBACCOUNT_REFUSALS, "TRANSFER_ID_REUSED"],
      exampleBody: { direction: "fund", amount: "12.50", clientTransferId: "monday" },
    },
    run: async ({ caller, body, id, incoming }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      const command = {
        kind: "transfer" as const,
        transferId: idFrom(caller.commandId, "transfer"),
        direction: body.direction,
        trader: traderId,
        wallet: subaccountId,
        currency: currencyFor(body.currency, formats),
        amount: body.amount,
        clientTransferId: body.clientTransferId,
      };
      const parts = { exchange, freshness };
      const { commandId } = caller;
      const lookedUp = async ([ref = ""]: readonly string[]) => {
        const found = await findTransferByClientId(db, traderId, ref);
        return { ...command, lookedUp: { first: found && transferOf(found) } };
      };
      const { reply } = await sendWithIds(parts, traderId, { command, lookedUp }, "transfer", commandId);
      await freshness.hasReached(ledgerOf(traderId));
      const kept = await findTransfer(db, subaccountId, reply.transfer.transferId);
      return { body: transferOnWire(reply.transfer, kept?.ts ?? incoming.receivedMs) };
    },
  });

  const one = route("GET /v3/account/subaccounts/:keyId/transfers/:transferId", {
    access: signedOrSession(MANAGING),
    metering: ACCOUNT,
    answer: AccountTransfer,
    docs: {
      summary: "Retrieve a transfer",
      refuses: [...SUBACCOUNT_REFUSALS, "TRANSFER_NOT_FOUND"],
    },
    run: async ({ caller, id, incoming }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      await freshness.reach(ledgerOf(traderId));
      const transfer = await findTransfer(db, subaccountId, id("transferId"));
      const named = await findSubaccount(db, subaccountId, incoming.receivedMs);
      if (transfer === undefined || named === undefined) throw new Refused("TRANSFER_NOT_FOUND");
      return { body: { ...transferOnWire(transfer, transfer.ts), subaccountKeyId: named.keyId } };
    },
  });

  const transactions = route("GET /v3/account/subaccounts/:keyId/transactions", {
    access: signedOrSession(ANY_SCOPE),
    metering: perRows("history", 6, 100),
    query: TransactionsQuery,
    answer: pageOf(Transaction),
    docs: {
      summary: "List transactions",
      description: "Returns every movement of money in the wallet of the subaccount, newest first.",
      refuses: SUBACCOUNT_REFUSALS,
      exampleQuery: { kind: "TRANSFER_IN", limit: "100" },
    },
    run: async ({ caller, query, id }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      await reads.freshness.reach(ledgerOf(traderId));
      const { kind, currency, startsAfter, startsBefore, ...page } = query;
      const filter = { wallet: subaccountId, currency, kind, startsAfter, startsBefore };
      const { items, next } = await listTransactions(reads.db, filter, page);
      return { body: { items: items.map(transactionOnWire), next }, rows: items.length };
    },
  });

  return [create, one, transactions];
}
