/** Asking a trader's ledger, and telling it what to do. Its refusals come as exceptions. */

import { ledgerShardOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { WalletSnapshot } from "../../actors/ledger/types.js";
import type { AskOptions, Exchange } from "../../stream/log/ports.js";
import { refusedBy } from "../request/errors.js";
import { REMEMBER_MS } from "../auth/signatures.js";

/** For questions that change nothing: their answers need not be remembered, and so nothing is written. */
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
  throw new Error(`the ledger answered ${command.kind} with ${reply.kind}`);
}

/** Asks a trader's ledger something that changes nothing. Throws `Unavailable`. */
export function askLedger<K extends Kind>(
  exchange: Ledgers,
  traderId: string,
  command: LedgerCommand,
  kind: K,
): Promise<ReplyOf<K>> {
  return replyOf(exchange, traderId, command, kind, READ_ONLY);
}

/** Has a trader's ledger do something, once per command id: a repeat gets the same answer. Throws `Unavailable`. */
export function sendToLedger<K extends Kind>(
  exchange: Ledgers,
  traderId: string,
  command: LedgerCommand,
  kind: K,
  commandId: string,
): Promise<ReplyOf<K>> {
  return replyOf(exchange, traderId, command, kind, { id: commandId, rememberMs: REMEMBER_MS });
}

/** A wallet of a trader as it is at this moment. One that nobody has used yet is empty. Throws `Unavailable`. */
export async function readWallet(
  exchange: Ledgers,
  traderId: string,
  wallet: string,
): Promise<WalletSnapshot> {
  return (await askLedger(exchange, traderId, { kind: "wallet", wallet }, "wallet")).wallet;
}
