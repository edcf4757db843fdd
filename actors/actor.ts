/**
 * The contract of an actor. An actor is a pure decider: the same state, command, time and format give the same deltas. The
 * runtime (`stream/runtime/`) gives it one command at a time, makes its deltas durable and delivers its messages.
 */

import type { Format } from "./format.js";
import type { Bounds } from "./limits.js";
import type { LedgerCommand } from "./ledger/commands.js";
import type { MarketCommand } from "./market/commands.js";
import { shown } from "./unreachable.js";

/** `market:<uuid>`. */
export type MarketActorId = `market:${string}`;
/** `ledger:<shard>`. */
export type LedgerActorId = `ledger:${number}`;
export type ActorId = MarketActorId | LedgerActorId;

/** Number of ledger shards, fixed at the first start of an installation. */
export const LEDGER_SHARDS = 16;
/** Number of partitions that hold the markets, fixed at the first start of an installation. */
export const MARKET_PARTITIONS = 64;

export function marketActor(marketId: string): MarketActorId {
  return `market:${marketId}`;
}

export function ledgerActor(shard: number): LedgerActorId {
  return `ledger:${shard}`;
}

/** The ledgers of all shards. */
export const LEDGERS: readonly LedgerActorId[] = Array.from({ length: LEDGER_SHARDS }, (_, shard) =>
  ledgerActor(shard),
);

/** Returns the shard of a trader. All wallets of a trader are in one shard, so a transfer between them is one step. */
export function ledgerShardOf(traderId: string): number {
  return fnv1a(traderId) % LEDGER_SHARDS;
}

export function ledgerOf(traderId: string): LedgerActorId {
  return ledgerActor(ledgerShardOf(traderId));
}

/**
 * Returns the partition of an actor: `m0`..`m63` or `l0`..`l15`. One worker owns a partition, and its keys share one
 * hash slot.
 */
export function partitionOf(actor: ActorId): string {
  const id = actor.slice(actor.indexOf(":") + 1);
  return actor.startsWith("ledger:") ? `l${id}` : `m${fnv1a(id) % MARKET_PARTITIONS}`;
}

/** Returns the actors of each partition that has any. */
export function byPartition(actors: Iterable<ActorId>): ReadonlyMap<string, readonly ActorId[]> {
  const partitions = new Map<string, ActorId[]>();
  for (const actor of actors) {
    const partition = partitionOf(actor);
    const members = partitions.get(partition);
    if (members === undefined) partitions.set(partition, [actor]);
    else members.push(actor);
  }
  return partitions;
}

export const PARTITIONS: readonly string[] = [
  ...Array.from({ length: LEDGER_SHARDS }, (_, shard) => `l${shard}`),
  ...Array.from({ length: MARKET_PARTITIONS }, (_, partition) => `m${partition}`),
];

/** Returns a hash of 32 bits. Stored data depends on it. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/**
 * Error of `decide` on a message that is not a command. Nothing has changed, and the runtime skips the message. Any
 * other exception is a bug and stops the actor.
 */
export class MalformedCommand extends Error {
  override readonly name = "MalformedCommand";
}

/** Rejects a message that is not a command of the actor: its kind is unknown, or it is not an object. */
export function malformed(command: unknown): never {
  throw new MalformedCommand(`not a command of this actor: ${shown(command)}`);
}

/** Rejects a message that is not an object. The switch over `kind` rejects unknown kinds with `malformed`. */
export function checkCommand(command: unknown): void {
  if (typeof command !== "object" || command === null) malformed(command);
}

/** The result of one command: its deltas in order, and the answer to the sender. */
export interface Decision<Delta, Reply, Command> {
  readonly deltas: readonly Delta[];
  readonly reply: Reply | undefined;
  /**
   * The commands that finish what this command began, in order. The actor takes no other command before them. Absent or
   * empty for a command that is finished. When one of them fails, the runtime drops what is left of a command of a client,
   * a job or an operator, so the state must be sound between any two pieces.
   */
  readonly unfinished?: readonly Command[] | undefined;
}

/** The deltas of one command, with the engine time of the decision (Unix ms). */
export interface Batch<Delta> {
  readonly ts: number;
  readonly deltas: readonly Delta[];
}

/** A command for another actor that follows from a batch. The type of the destination limits the commands. */
export type Outgoing =
  | { readonly to: MarketActorId; readonly command: MarketCommand }
  | { readonly to: LedgerActorId; readonly command: LedgerCommand };

/** A command for an actor of any kind, as the runtime carries it. */
export interface AnyOutgoing {
  readonly to: ActorId;
  readonly command: unknown;
}

/**
 * The contract between an actor and the runtime. `decide` applies each delta to the state as it emits it, through the
 * same `evolve` that recovery uses, so the state is always the fold of the deltas. The runtime discards the state when a
 * commit fails.
 */
export interface Actor<State, Command, Delta, Reply, Message extends AnyOutgoing = Outgoing> {
  /** Returns the state before the first delta. */
  create(id: ActorId): State;
  /**
   * Decides a command. The deltas, and the commands that follow from them, are of `format` or an earlier one; the
   * default is the latest. The deltas record what was decided, so `evolve` and `route` do not depend on the format. A
   * command with more work than `bounds` allow is left unfinished (default `BOUNDS`, from format 2 on).
   */
  decide(
    state: State,
    command: Command,
    nowMs: number,
    format?: Format,
    bounds?: Bounds,
  ): Decision<Delta, Reply, Command>;
  evolve(state: State, delta: Delta, ts: number): void;
  /** Returns the time at which the next `tick` is due (Unix ms), if one is. */
  deadline(state: State): number | undefined;
  /** Returns the room that the filters of ids take in a state; absent when such a state has none. */
  filterBytes?(state: State): FilterBytes;
  /** The command that the runtime sends when a deadline is due. */
  readonly tick: Command;
  /**
   * Returns the command that the runtime sends when the log may have lost entries: every channel leaves out `count`
   * seqs, so that none is used twice. An actor that has numbered nothing yet emits no delta.
   */
  skip(count: number): Command;
  /** Returns the commands for other actors that follow from a batch, in order. Depends on the batch alone. */
  route(id: ActorId, batch: Batch<Delta>): readonly Message[];
  /**
   * Yields the state in parts of bounded size, each a text, in the order in which they are restored. Data that have not
   * changed give the same part as before. The state restored from the parts of `s` behaves as `s` does.
   */
  save(state: State): Iterable<string>;
  restore(id: ActorId): StateBuilder<State>;
  /** Converts the state to and from one value that JSON can carry, as the builds before format 2 store it. */
  saveWhole(state: State): unknown;
  restoreWhole(id: ActorId, saved: unknown): State;
}

/**
 * Room that filters of ids take. They hold the ids of a day, so they grow through the first day of an exchange and have a
 * bound after it.
 */
export interface FilterBytes {
  readonly memory: number;
  /** Room in the log, in a snapshot and the one before it, which share what has not changed. */
  readonly snapshots: number;
}

/** Restores a state from its parts. */
export interface StateBuilder<State> {
  /** Adds the next part. */
  add(part: string): void;
  /** Returns the state once all parts are added. */
  finish(): State;
}

/** Restores a state from all of its parts. */
export function restoreParts<State>(
  { restore }: { readonly restore: (id: ActorId) => StateBuilder<State> },
  id: ActorId,
  parts: Iterable<string>,
): State {
  const builder = restore(id);
  for (const part of parts) builder.add(part);
  return builder.finish();
}
