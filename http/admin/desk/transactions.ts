/** Transactions of operators: how one reaches the ledger, and the record of it (contract section 8.10). */

import { randomUUID } from "node:crypto";
import { ledgerOf } from "../../../actors/actor.js";
import { formatMoney } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import { findSubaccountByKey } from "../../../db/queries/accounts/subaccounts.js";
import { findTransactionByRef } from "../../../db/queries/trading/transactions.js";
import type { GuardedAction } from "../../../db/schema/accounts.js";
import type { GatewayExchange } from "../../../stream/log/ports.js";
import { Refused, refusedBy } from "../../request/errors.js";
import type { Freshness } from "../../trading/freshness.js";
import { askWithIds } from "../../trading/ledger-client.js";
import { recordIntent, type ActionRequest } from "../audit.js";

export interface TransactionParts {
  readonly db: Database;
  readonly exchange: GatewayExchange;
  readonly freshness: Freshness;
}

/** Transaction, the trader whose money it moves, and the wallet of that trader. */
export interface Posting {
  readonly traderId: string;
  readonly wallet: string;
  readonly transaction: Extract<GuardedAction, { action: "trader.transaction" }>;
}

/**
 * Returns the wallet of the subaccount that a key names, or else the trader's own. Refuses `SUBACCOUNT_NOT_FOUND` and
 * `NOT_A_SUBACCOUNT_KEY`.
 */
export async function walletOfTrader(
  db: Database,
  traderId: string,
  keyId: string | undefined,
): Promise<string> {
  if (keyId === undefined) return traderId;
  const subaccount = await findSubaccountByKey(db, traderId, keyId);
  if (subaccount === undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
  if (subaccount === "NOT_A_SUBACCOUNT_KEY") throw new Refused("NOT_A_SUBACCOUNT_KEY");
  return subaccount.subaccountId;
}

/**
 * Posts a transaction for the caller of a request, and waits until the tables have it. The audit log has it before the
 * ledger is asked. Throws the refusal of the ledger.
 */
export async function postTransaction(
  { db, exchange, freshness }: TransactionParts,
  call: ActionRequest,
  { traderId, wallet, transaction: { action, ...posted } }: Posting,
) {
  const { kind, amount, currency, reason, clientRef } = posted;
  const transactionId = randomUUID();
  const command = {
    kind: "transact" as const,
    transactionId,
    transaction: kind,
    wallet,
    trader: traderId,
    currency,
    amount,
    ref: reason,
    clientRef,
  };
  const after = { ...posted, amount: formatMoney(amount), transactionId };
  const record = { action, subject: traderId, after };
  const reply = await recordIntent(db, call, record, async () => {
    const parts = { exchange, freshness };
    const lookedUp = async ([id = ""]: readonly string[]) => ({
      ...command,
      lookedUp: { first: await findTransactionByRef(db, traderId, id) },
    });
    const answer = await askWithIds(parts, traderId, { command, lookedUp }, transactionId);
    return answer.reply;
  });
  if (!reply.ok) throw refusedBy(reply.refusal);
  if (reply.kind !== "transaction") throw new Error(`the ledger answered transact with ${reply.kind}`);
  await freshness.hasReached(ledgerOf(traderId));
  return { transactionId: reply.transactionId, balance: formatMoney(reply.balance.total) };
}
