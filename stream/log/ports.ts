/**
 * The two ports through which the rest of the code uses the actors: `Exchange` sends a command and returns the answer,
 * `Tail` follows the entries that actors commit. Neither port names Redis, so a test can implement both in memory.
 */

import type { ActorId, Batch } from "../../actors/actor.js";
import type { Format } from "../../actors/format.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { MarketDelta } from "../../actors/market/deltas.js";

export type AnyDelta = MarketDelta | LedgerDelta;

/**
 * One entry of a delta stream: everything that one actor committed at once. An actor is recovered by folding its
 * entries and by nothing else, so an entry also has the facts that make every command take effect exactly once.
 */
export interface Entry<Delta = AnyDelta> {
  readonly actor: ActorId;
  /** Number of the entry. It counts from 1, without a gap within an incarnation; the stream id is `<seq>-0`. */
  readonly seq: number;
  /** One batch for each command that emitted deltas, in order. */
  readonly batches: readonly Batch<Delta>[];
  /** Id of the last mailbox message applied, `0-0` before the first. */
  readonly cursor: string;
  /** The last seq applied from each actor that sent messages in this commit. */
  readonly sources: Readonly<Record<string, number>>;
  /** Answers given in this commit. Until `untilMs` (Unix ms) a repeat of the command id gets the same answer. */
  readonly answers: readonly { readonly id: string; readonly reply: unknown; readonly untilMs: number }[];
  /** Format of the entry, and of the messages that follow from it (default 1). */
  readonly format?: Format | undefined;
  /** The commands that finish what this entry began; the actor takes no other command before them. Absent for none. */
  readonly unfinished?: readonly unknown[] | undefined;
  /** Id of the command of a process that has begun this work; absent for that of another actor, or of a tick. */
  readonly unfinishedOf?: string | undefined;
  /**
   * Set on the first entry of an incarnation: the seq of the entry before, and the lineage from then on. The seqs
   * between the two are left out, because entries that the log has lost may have had them.
   */
  readonly resumed?: Resumed | undefined;
}

/** The start of an incarnation in the entries of an actor; see `lineage.ts`. */
export interface Resumed {
  readonly after: number;
  readonly lineage: string;
}

/** Options of one command. */
export interface AskOptions {
  /** Identity of the command: however often an id is sent, it takes effect once. Default: a new id. */
  readonly id?: string | undefined;
  /**
   * Time for which the actor remembers the answer, in ms (default 10,000). Pass 0 only for a command that changes
   * nothing: its repeat is executed again.
   */
  readonly rememberMs?: number | undefined;
  /** Time to wait for the answer, in ms (default 5,000). */
  readonly timeoutMs?: number | undefined;
  /** Returns false for a reply that answers a query with the same id instead (default: every reply is the answer). */
  readonly isAnswer?: ((reply: unknown) => boolean) | undefined;
}

/** Answer to a command. `repeated`: an earlier command with the same id got it first; this command had no effect. */
export interface Answered<Reply> {
  readonly reply: Reply;
  readonly repeated: boolean;
}

/** An actor or a server did not answer in time. The command may have taken effect. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** The log has no room for such a command now. It was not sent. */
export class NotSent extends Unavailable {}

/** An actor has failed on the command, which had no effect and is in the quarantine. */
export class Quarantined extends Error {
  override readonly name = "Quarantined";
}

/**
 * Sends commands to actors. A method resolves with the answer of the actor. While the outcome is unknown it repeats the
 * command under the same id; after the time-out it throws `Unavailable`. It throws `Quarantined` when the actor fails on
 * the command.
 */
export interface Exchange {
  market(marketId: string, command: MarketCommand, options?: AskOptions): Promise<MarketReply>;
  ledger(shard: number, command: LedgerCommand, options?: AskOptions): Promise<LedgerReply>;
}

/** Exchange of a gateway, to which a client may send a request that another gateway has received too. */
export interface GatewayExchange extends Exchange {
  /**
   * Sends a command like `ledger`, under an id that other gateways may send too, and says whether the answer is repeated.
   * A worker of a build before format 3 never says so.
   */
  ledgerOnce(
    shard: number,
    command: LedgerCommand,
    options: AskOptions & { readonly id: string },
  ): Promise<Answered<LedgerReply>>;
}

/** An earlier entry of an actor, as it is stored. */
export interface EarlierEntry<Delta> {
  /** Size in the log. */
  readonly bytes: number;
  /** Returns the entry, or `undefined` when it cannot be read. */
  readonly parse: () => Entry<Delta> | undefined;
}

/** Follows the delta streams of actors. */
export interface Tail {
  /**
   * Calls `onEntries` with every entry after `afterSeq`, in order and without a gap, until the returned function is
   * called. The follower is registered before this method returns, so that it misses no later entry.
   *
   * Calls `onGap`, and stops, when the entries after `afterSeq` are no longer in the log: they were trimmed, or a crash
   * of the log undid them. The follower must then load the state of the actor again.
   */
  follow<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    onEntries: (entries: readonly Entry<Delta>[]) => void,
    onGap: () => void,
  ): () => void;
  /**
   * Reads the entries after `afterSeq` through `throughSeq`, of which the last one is committed. Returns `undefined` when
   * some of them are no longer in the log, or the first one cannot be parsed.
   */
  read<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    throughSeq: number,
  ): Promise<readonly EarlierEntry<Delta>[] | undefined>;
  /** Returns the seq of the last committed entry of an actor, 0 before the first. */
  head(actor: ActorId): Promise<number>;
}
