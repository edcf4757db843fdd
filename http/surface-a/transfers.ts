/** Money between a trader's own wallet and a subaccount, and the list of what moved (contract section 5). */

import { ledgerOf } from "../../actors/actor.js";
import type { Transfer as LedgerTransfer } from "../../actors/ledger/types.js";
import { formatMoney } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { findSubaccount } from "../../db/queries/accounts/subaccounts.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import { findTransfer } from "../../db/queries/trading/transfers.js";
import type { Exchange } from "../../stream/log/ports.js";
import { Refused } from "../request/errors.js";
import type { Freshness } from "../trading/freshness.js";
import { keyEndpoint } from "../request/route.js";
import {
  AccountTransfer,
  Transaction,
  TransactionsQuery,
  Transfer,
  TransferBody,
} from "./schemas/account.js";
import { pageOf } from "../request/fields.js";
import { idFrom } from "../auth/signatures.js";
import { sendToLedger } from "../trading/ledger-client.js";
import { transactionOnWire } from "./wire.js";
import { requireSubaccount } from "./subaccounts.js";

export interface TransferParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly freshness: Freshness;
}

type Shown = Pick<LedgerTransfer, "transferId" | "direction" | "amount" | "status"> & {
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
  };
}

export function transferEndpoints({ db, exchange, freshness }: TransferParts) {
  const create = keyEndpoint({
    status: 202,
    body: TransferBody,
    answer: Transfer,
    run: async ({ caller, body, id, incoming }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      const command = {
        kind: "transfer" as const,
        transferId: idFrom(caller.commandId, "transfer"),
        direction: body.direction,
        trader: traderId,
        wallet: subaccountId,
        amount: body.amount,
        clientTransferId: body.clientTransferId,
      };
      const reply = await sendToLedger(exchange, traderId, command, "transfer", caller.commandId);
      await freshness.reach(ledgerOf(traderId));
      const kept = await findTransfer(db, subaccountId, reply.transfer.transferId);
      return { body: transferOnWire(reply.transfer, kept?.ts ?? incoming.receivedMs) };
    },
  });

  const one = keyEndpoint({
    answer: AccountTransfer,
    run: async ({ caller, id, incoming }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      await freshness.reach(ledgerOf(traderId));
      const transfer = await findTransfer(db, subaccountId, id("transferId"));
      const named = await findSubaccount(db, subaccountId, incoming.receivedMs);
      if (transfer === undefined || named === undefined) throw new Refused("TRANSFER_NOT_FOUND");
      return { body: { ...transferOnWire(transfer, transfer.ts), subaccountKeyId: named.keyId } };
    },
  });

  const transactions = keyEndpoint({
    query: TransactionsQuery,
    answer: pageOf(Transaction),
    run: async ({ caller, query, id }) => {
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      await freshness.reach(ledgerOf(traderId));
      const { kind, currency, startsAfter, startsBefore, ...page } = query;
      const filter = { wallet: subaccountId, currency, kind, startsAfter, startsBefore };
      const { items, next } = await listTransactions(db, filter, page);
      return { body: { items: items.map(transactionOnWire), next }, rows: items.length };
    },
  });

  return { create, one, transactions };
}
