/** Money from outside trading: transactions of operators, transfers between the wallets of a trader, closing of wallets. */

import { CURRENCIES } from "../market/types.js";
import { MAX_SHARD_MILLICENTS, type Millicents, negate } from "../units.js";
import type { LedgerCommand, LedgerReply, LookedUp } from "./commands.js";
import type { Emitter } from "./emitter.js";
import type { Known } from "./ids/known.js";
import { available, emptyWallet, type Totals } from "./state.js";
import { type OperatorTransactionKind, RESTRICTIONS_FORMAT, type Transfer } from "./types.js";

/** True for the kinds that take money out. The amount of an ADJUSTMENT has a sign. */
const TAKES: Readonly<Record<OperatorTransactionKind, boolean>> = {
  DEPOSIT: false,
  CREDIT: false,
  FORWARDING: false,
  ADJUSTMENT: false,
  WITHDRAWAL: true,
  CREDIT_RECLAIM: true,
};

/** Starts to forget old transfers and transactions, which a ledger of format 1 keeps for ever. */
function beginForgetting(emitter: Emitter): void {
  const { state, format, nowMs } = emitter;
  if (format > 1 && !state.known.forgets) emitter.emit(state.known.forgottenAt(nowMs));
}

/** Returns the first use of an id, if there is one, with what the tables have about an uncertain id. */
function resolved<First>(
  known: Known<First>,
  lookedUp: LookedUp<First> | undefined,
): First | "uncertain" | undefined {
  if (known === "uncertain" && lookedUp !== undefined) return lookedUp.first;
  return known === "new" ? undefined : known;
}

/** Returns true when a transaction would take the sums of its shard beyond the range that all money is counted in. */
function exceedsRange(
  { deposits, withdrawals, adjustments }: Totals,
  transaction: OperatorTransactionKind,
  amount: Millicents,
): boolean {
  if (transaction !== "ADJUSTMENT")
    return (TAKES[transaction] ? withdrawals : deposits) + Math.abs(amount) > MAX_SHARD_MILLICENTS;
  return Math.abs(adjustments + amount) > MAX_SHARD_MILLICENTS;
}

/**
 * Posts a transaction of an operator. Refuses more than is available, and a credit to a closed subaccount; a repeated
 * `clientRef` gets the first answer.
 */
export function transact(
  emitter: Emitter,
  command: Extract<LedgerCommand, { kind: "transact" }>,
): LedgerReply {
  const { state } = emitter;
  const { wallet: walletId, trader, transaction, currency, ref, clientRef } = command;
  const wallet = state.wallets.get(walletId) ?? emptyWallet(walletId, trader);
  if (clientRef !== undefined) {
    const known = resolved(state.known.transactionOf(trader, clientRef), command.lookedUp);
    if (known === "uncertain") return { ok: true, kind: "uncertain", ids: [clientRef] };
    if (known !== undefined)
      return { ok: true, kind: "transaction", transactionId: known, balance: { ...wallet.funds[currency] } };
  }

  const amount = TAKES[transaction] ? negate(command.amount) : command.amount;
  if (amount > 0 && wallet.closed) return { ok: false, refusal: "SUBACCOUNT_NOT_FOUND" };
  if (amount < 0 && available(wallet, currency) + amount < 0)
    return { ok: false, refusal: "INSUFFICIENT_BALANCE" };
  if (exceedsRange(state.totals[currency], transaction, amount))
    return { ok: false, refusal: "AMOUNT_OUT_OF_RANGE" };
  if (clientRef !== undefined) beginForgetting(emitter);
  const { funds } = emitter.wallet(walletId, trader);
  const { transactionId } = command;
  emitter.entry({
    transactionId,
    wallet: walletId,
    counterparty: "external",
    kind: transaction,
    currency,
    amount,
    ref,
    clientRef,
  });
  return { ok: true, kind: "transaction", transactionId, balance: { ...funds[currency] } };
}

/**
 * Moves money between the own wallet of a trader and a subaccount. A transfer of more than is available ends `Rejected`. A
 * repeated `clientTransferId` gets the first transfer on the same subaccount, and a refusal on another one.
 */
export function transfer(
  emitter: Emitter,
  command: Extract<LedgerCommand, { kind: "transfer" }>,
): LedgerReply {
  const { state } = emitter;
  const { transferId, direction, trader, wallet, currency, amount, clientTransferId } = command;
  if (clientTransferId !== undefined) {
    const known = resolved(state.known.transferOf(trader, clientTransferId), command.lookedUp);
    if (known === "uncertain") return { ok: true, kind: "uncertain", ids: [clientTransferId] };
    if (known !== undefined)
      return known.wallet === wallet
        ? { ok: true, kind: "transfer", transfer: known }
        : { ok: false, refusal: "TRANSFER_ID_REUSED" };
  }

  if (direction === "fund" && state.wallets.get(wallet)?.closed === true)
    return { ok: false, refusal: "SUBACCOUNT_NOT_FOUND" };
  const [from, to] = direction === "fund" ? [trader, wallet] : [wallet, trader];
  const spare = available(state.wallets.get(from) ?? emptyWallet(from, trader), currency ?? "CASH");
  const common = { transferId, direction, trader, wallet, currency, amount, clientTransferId };
  const result: Transfer =
    amount > spare ? { ...common, status: "Rejected", available: spare } : { ...common, status: "Applied" };
  if (result.status === "Applied") {
    emitter.wallet(from, trader);
    emitter.wallet(to, trader);
    const entry = { currency: currency ?? "CASH", ref: transferId } as const;
    emitter.entry({
      ...entry,
      wallet: from,
      counterparty: `wallet:${to}`,
      kind: "TRANSFER_OUT",
      amount: negate(amount),
    });
    emitter.entry({ ...entry, wallet: to, counterparty: `wallet:${from}`, kind: "TRANSFER_IN", amount });
  }
  if (clientTransferId !== undefined) beginForgetting(emitter);
  emitter.emit({ type: "transfer", transfer: result });
  return { ok: true, kind: "transfer", transfer: result };
}

/**
 * Closes the wallet of a subaccount that has no money, no position and no order, and refuses to close any other. An
 * earlier format has no form for a closed wallet, so nothing is recorded in it.
 */
export function closeWallet(
  emitter: Emitter,
  { wallet: walletId, trader }: Extract<LedgerCommand, { kind: "closeWallet" }>,
): LedgerReply {
  const known = emitter.state.wallets.get(walletId) ?? emptyWallet(walletId, trader);
  const { orders, accounts, funds, closed } = known;
  const hasMoney = CURRENCIES.some((currency) => funds[currency].total !== 0);
  if (!closed && (hasMoney || orders.size > 0 || accounts.size > 0))
    return { ok: false, refusal: "SUBACCOUNT_NOT_EMPTY" };
  if (!closed && emitter.format >= RESTRICTIONS_FORMAT) {
    emitter.wallet(walletId, trader);
    emitter.emit({ type: "closed", wallet: walletId });
  }
  return { ok: true, kind: "done" };
}
