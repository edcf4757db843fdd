/** Client of the ledger of a trader: queries and commands, whose refusals are thrown. */

import { ledgerShardOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { WalletSnapshot } from "../../actors/ledger/types.js";
import type { AskOptions, Exchange } from "../../stream/log/ports.js";
import { refusedBy } from "../request/errors.js";
import { REMEMBER_MS } from "../auth/signatures.js";

/** Options of a query, which changes nothing; its answer is not remembered, so that the log is not written. */
export const READ_ONLY = { rememberMs: 0 } as const;

type Kind = Extract<LedgerReply, { ok: true }>["kind"];
type ReplyOf<K extends Kind> = Extract<LedgerReply, { ok: true; kind: K }>;
type Ledgers = Pick<Exchange, "ledger">;

function isOf<K extends Kind>(reply: LedgerReply, kind: K): reply is ReplyOf<K> {
  return reply.ok && reply.kind === kind;
}

async function replyOf<K extends Kind>(
  exchange: Ledgers,
  traderId: string,
  command: LedgerCommand,
  kind: K,
  options: AskOptions,
): Promise<ReplyOf<K>> {
  const reply = await exchange.ledger(ledgerShardOf(traderId), command, options);
  if (!reply.ok) throw refusedBy(reply.refusal);
  if (isOf(reply, kind)) return reply;
  throw new Error(`the ledger answered the command ${command.kind} with ${reply.kind}`);
}

/** Sends a query, which changes nothing, to the ledger of a trader. Throws `Refused` and `Unavailable`. */
export function askLedger<K extends Kind>(
  exchange: Ledgers,
  traderId: string,
  command: LedgerCommand,
  kind: K,
): Promise<ReplyOf<K>> {
  return replyOf(exchange, traderId, command, kind, READ_ONLY);
}

/** Sends a command to the ledger of a trader. A repeat of the command id gets the same answer. Throws `Refused` and `Unavailable`. */
export function sendToLedger<K extends Kind>(
  exchange: Ledgers,
  traderId: string,
  command: LedgerCommand,
  kind: K,
  commandId: string,
): Promise<ReplyOf<K>> {
  return replyOf(exchange, traderId, command, kind, { id: commandId, rememberMs: REMEMBER_MS });
}

/** Returns the present state of a trader's wallet; one that was never used is empty. Throws `Unavailable`. */
export async function readWallet(
  exchange: Ledgers,
  traderId: string,
  wallet: string,
): Promise<WalletSnapshot> {
  return (await askLedger(exchange, traderId, { kind: "wallet", wallet }, "wallet")).wallet;
}
