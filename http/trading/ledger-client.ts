/** Client of the ledger of a trader: queries and commands, whose refusals are thrown. */

import { ledgerOf, ledgerShardOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { WalletSnapshot } from "../../actors/ledger/types.js";
import { type AskOptions, type Exchange, Unavailable } from "../../stream/log/ports.js";
import { REMEMBER_MS } from "../auth/signatures.js";
import { idFrom } from "../request/command-ids.js";
import { refusedBy } from "../request/errors.js";
import type { Freshness } from "./freshness.js";

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
  return expectKind(command, await exchange.ledger(ledgerShardOf(traderId), command, options), kind);
}

function expectKind<K extends Kind>(command: LedgerCommand, reply: LedgerReply, kind: K): ReplyOf<K> {
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

/** Tables in which a ledger's uncertain ids are looked up. */
export interface LookUpParts {
  readonly exchange: Ledgers;
  readonly freshness: Pick<Freshness, "hasReached">;
}

/**
 * Sends a command with ids of the caller to the ledger of a trader, and returns its answer. If the ledger is not certain
 * that some ids are new, `withLookedUp` returns the command with what the tables have about all of its ids, and the
 * command is sent again: the ledger may have forgotten further ids by then. Throws `Unavailable`, also when the tables are behind the ledger.
 */
export async function askWithIds(
  { exchange, freshness }: LookUpParts,
  traderId: string,
  command: LedgerCommand,
  commandId: string,
  withLookedUp: (ids: readonly string[]) => Promise<LedgerCommand>,
): Promise<LedgerReply> {
  const shard = ledgerShardOf(traderId);
  const reply = await exchange.ledger(shard, command, { id: commandId, rememberMs: REMEMBER_MS });
  if (!isOf(reply, "uncertain")) return reply;
  if (!(await freshness.hasReached(ledgerOf(traderId))))
    throw new Unavailable("the service cannot determine whether this id was used before; try again");
  // The ledger remembers its answer to the first command id.
  const id = idFrom(commandId, "with the ids looked up");
  return exchange.ledger(shard, await withLookedUp(reply.ids), { id, rememberMs: REMEMBER_MS });
}

/** Sends a command like `askWithIds`, and returns its answer of a kind. Throws `Refused` and `Unavailable`. */
export async function sendWithIds<K extends "placed" | "transfer">(
  parts: LookUpParts,
  traderId: string,
  command: LedgerCommand,
  kind: K,
  commandId: string,
  withLookedUp: (ids: readonly string[]) => Promise<LedgerCommand>,
): Promise<ReplyOf<K>> {
  return expectKind(command, await askWithIds(parts, traderId, command, commandId, withLookedUp), kind);
}

/** Returns the present state of a trader's wallet; one that was never used is empty. Throws `Unavailable`. */
export async function readWallet(
  exchange: Ledgers,
  traderId: string,
  wallet: string,
): Promise<WalletSnapshot> {
  return (await askLedger(exchange, traderId, { kind: "wallet", wallet }, "wallet")).wallet;
}
