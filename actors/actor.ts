/**
 * What an actor is. An actor is a pure decider: same state, same command, same time in; same deltas out.
 * The runtime (`stream/log/`) feeds it commands one at a time, makes its deltas durable and delivers them.
 */

import type { LedgerCommand } from "./ledger/commands.js";
import type { MarketCommand } from "./market/commands.js";
import { shown } from "./unreachable.js";

/** `market:<uuid>`. */
export type MarketActorId = `market:${string}`;
/** `ledger:<shard>`. */
export type LedgerActorId = `ledger:${number}`;
export type ActorId = MarketActorId | LedgerActorId;

/** Ledger shards; the number is fixed at the first start of an installation. */
export const LEDGER_SHARDS = 16;
/** Partitions that markets are spread over; fixed at the first start of an installation. */
export const MARKET_PARTITIONS = 64;

export function marketActor(marketId: string): MarketActorId {
  return `market:${marketId}`;
}

export function ledgerActor(shard: number): LedgerActorId {
  return `ledger:${shard}`;
}

/** Every wallet of a trader lives in the same shard, so transfers between them are one step. */
export function ledgerShardOf(traderId: string): number {
  return fnv1a(traderId) % LEDGER_SHARDS;
}

export function ledgerOf(traderId: string): LedgerActorId {
  return ledgerActor(ledgerShardOf(traderId));
}

/** The partition of an actor: `m0`..`m63` or `l0`..`l15`. Everything atomic happens within one partition. */
export function partitionOf(actor: ActorId): string {
  const id = actor.slice(actor.indexOf(":") + 1);
  return actor.startsWith("ledger:") ? `l${id}` : `m${fnv1a(id) % MARKET_PARTITIONS}`;
}

export const PARTITIONS: readonly string[] = [
  ...Array.from({ length: LEDGER_SHARDS }, (_, shard) => `l${shard}`),
  ...Array.from({ length: MARKET_PARTITIONS }, (_, partition) => `m${partition}`),
];

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/**
 * Thrown by `decide`, before it has changed anything, on a command that is not one. The runtime skips the command;
 * any other exception is a bug and stops the actor.
 */
export class MalformedCommand extends Error {
  override readonly name = "MalformedCommand";
}

/** Rejects a message that is no command of the actor: its kind is unknown, or it is no object at all. */
export function malformed(command: unknown): never {
  throw new MalformedCommand(`not a command of this actor: ${shown(command)}`);
}

/** Rejects a message that is no object. The switch over its `kind` rejects the rest with `malformed`. */
export function checkCommand(command: unknown): void {
  if (typeof command !== "object" || command === null) malformed(command);
}

/** What came of one command: its deltas, in order, and the answer for whoever asked. */
export interface Decision<Delta, Reply> {
  readonly deltas: readonly Delta[];
  readonly reply: Reply | undefined;
}

/** The deltas of one command, with the engine time they were decided at (Unix ms). */
export interface Batch<Delta> {
  readonly ts: number;
  readonly deltas: readonly Delta[];
}

/** A command for another actor that follows from a batch; the destination decides which commands fit. */
export type Outgoing =
  | { readonly to: MarketActorId; readonly command: MarketCommand }
  | { readonly to: LedgerActorId; readonly command: LedgerCommand };

/** A command for another actor of any kind, as the runtime carries it. */
export interface AnyOutgoing {
  readonly to: ActorId;
  readonly command: unknown;
}

/**
 * The contract between an actor and the runtime.
 * `decide` applies each delta to the state as it emits it, through the same `evolve` that recovery uses, so the
 * state is the fold of the deltas by construction; when a commit fails the runtime throws the state away.
 */
export interface Actor<State, Command, Delta, Reply, Message extends AnyOutgoing = Outgoing> {
  /** The state before any delta. */
  create(id: ActorId): State;
  decide(state: State, command: Command, nowMs: number): Decision<Delta, Reply>;
  evolve(state: State, delta: Delta, ts: number): void;
  /** When the next `tick` is due (Unix ms), if at all. */
  deadline(state: State): number | undefined;
  /** The command that the runtime gives when a deadline is due. */
  readonly tick: Command;
  /** The commands for other actors that follow from a batch, in order. A pure function of the batch. */
  route(id: ActorId, batch: Batch<Delta>): readonly Message[];
  /** A value that survives JSON, and back. `restore(save(s))` behaves as `s` does. */
  save(state: State): unknown;
  restore(id: ActorId, saved: unknown): State;
}
