/** Client of the ledger of a trader: queries and commands, whose refusals are thrown. */

import { ledgerOf, ledgerShardOf } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { WalletSnapshot } from "../../actors/ledger/types.js";
import { isUnavailable } from "../../db/database.js";
import {
  type Answered,
  type AskOptions,
  type Exchange,
  type GatewayExchange,
  Unavailable,
} from "../../stream/log/ports.js";
import { readWalletBase, walletQueries } from "../../stream/ws/wallet/read-wallet.js";
import { REMEMBER_MS } from "../auth/signatures.js";
import { idFrom } from "../request/command-ids.js";
import { refusedBy } from "../request/errors.js";
import type { Freshness } from "./freshness.js";

/** Owner of orders: a wallet, and the trader of that wallet. The trader's ledger shard holds the wallet. */
export interface Trader {
  readonly traderId: string;
  readonly wallet: string;
}

/** Orders and positions of a wallet. */
export type Holdings = Pick<WalletSnapshot, "orders" | "positions">;

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

/** Query of a ledger that asks for the answer to an earlier command. */
const QUERY = "groups";

/** Tables in which a ledger's uncertain ids are looked up. */
export interface LookUpParts {
  readonly exchange: Pick<GatewayExchange, "ledgerOnce">;
  readonly freshness: Pick<Freshness, "hasReached">;
}

/** Command with ids of the caller, and what becomes of it when the ledger is not certain that some of them are new. */
export interface WithIds {
  readonly command: LedgerCommand;
  /** Returns the command with what the tables have about all of its ids. */
  readonly lookedUp: (ids: readonly string[]) => Promise<LedgerCommand>;
  /** Returns what can be done while the tables cannot be asked about these ids; nothing by default. */
  readonly without?: (ids: readonly string[]) => LedgerCommand | undefined;
}

/**
 * Time in ms after which a second command has no effect. A request is answered within 4.5 s, of which it may have waited for
 * a second before its first command.
 */
const SECOND_MS = 3_500;

const CANNOT_TELL = "the service cannot determine whether this id was used before; try again";

/**
 * Sends a command with ids of the caller to the ledger of a trader, and returns its answer. If the ledger is not certain
 * that some ids are new, they are looked up and the command is sent again with what the tables have about all of its ids:
 * the ledger may have forgotten further ids by then. The answer to a repeat of the command id is marked as repeated. Throws
 * `Unavailable`, also when the tables are behind the ledger, unless a part of the command can do without them.
 */
export async function askWithIds(
  { exchange, freshness }: LookUpParts,
  traderId: string,
  { command, lookedUp, without }: WithIds,
  commandId: string,
): Promise<Answered<LedgerReply>> {
  const shard = ledgerShardOf(traderId);
  // The query of `answerTo` has the same id, and the answer to it may come twice.
  const isAnswer = (reply: unknown): boolean => !isOf(reply as LedgerReply, QUERY);
  const options = { rememberMs: REMEMBER_MS, isAnswer };
  const dueMs = performance.now() + SECOND_MS;
  const answer = await exchange.ledgerOnce(shard, command, { ...options, id: commandId });
  const { reply } = answer;
  if (!isOf(reply, "uncertain")) return answer;
  const { ids, sinceMs } = reply;
  const whole = await unlessAway(async () =>
    (await freshness.hasReached(ledgerOf(traderId), sinceMs)) ? lookedUp(ids) : undefined,
  );
  const second = whole ?? without?.(ids);
  const timeoutMs = Math.floor(dueMs - performance.now());
  if (second === undefined || timeoutMs <= 0) throw new Unavailable(CANNOT_TELL);
  const again = await exchange.ledgerOnce(shard, second, {
    ...options,
    id: lookedUpIdOf(commandId),
    timeoutMs,
  });
  // Without the tables, further ids may have left the memory of the ledger meanwhile.
  if (isOf(again.reply, "uncertain")) throw new Unavailable(CANNOT_TELL);
  return again;
}

/** Returns `undefined` when the database cannot be reached. */
async function unlessAway<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Returns the id of the second command of a request, because the ledger remembers its answer to the first one. */
function lookedUpIdOf(commandId: string): string {
  return idFrom(commandId, "with the ids looked up");
}

/**
 * Returns the answer that the ledger of a trader remembers for a command that `askWithIds` has sent, if there is one. A
 * command that is on its way to the ledger counts as not sent. Throws `Unavailable`.
 */
export async function answerTo(
  exchange: Ledgers,
  { traderId, wallet }: Trader,
  commandId: string,
): Promise<LedgerReply | undefined> {
  // The ledger answers the id of a command that it remembers, and the query of one that it does not.
  const query = { kind: QUERY, wallet } as const;
  const ask = (id: string): Promise<LedgerReply> =>
    exchange.ledger(ledgerShardOf(traderId), query, { ...READ_ONLY, id });
  const first = await ask(commandId);
  const reply = isOf(first, "uncertain") ? await ask(lookedUpIdOf(commandId)) : first;
  return isOf(reply, query.kind) ? undefined : reply;
}

/** Sends a command like `askWithIds`, and returns its answer of a kind. Throws `Refused` and `Unavailable`. */
export async function sendWithIds<K extends "placed" | "transfer">(
  parts: LookUpParts,
  traderId: string,
  withIds: WithIds,
  kind: K,
  commandId: string,
): Promise<Answered<ReplyOf<K>>> {
  const { reply, repeated } = await askWithIds(parts, traderId, withIds, commandId);
  return { reply: expectKind(withIds.command, reply, kind), repeated };
}

/** Returns the present balances and policy of a trader's wallet; one that was never used is empty. Throws `Unavailable`. */
export async function readBalances(
  exchange: Ledgers,
  traderId: string,
  wallet: string,
): Promise<Pick<WalletSnapshot, "balances" | "policy">> {
  return (await askLedger(exchange, traderId, { kind: "wallet", wallet, part: "balances" }, "wallet")).wallet;
}

/**
 * Returns the present orders and positions of a trader's wallet. Of a wallet that takes several pages the seqs are those
 * of the first page: what is newer is in the result or in the deltas after them, or in both. Calls `rest` between the pages.
 * Throws `Unavailable`.
 */
export function readHoldings(
  exchange: Ledgers,
  traderId: string,
  wallet: string,
  rest: (ms: number) => Promise<void>,
): Promise<Holdings> {
  return readWalletBase(walletQueries(exchange, ledgerShardOf(traderId), wallet), rest);
}
