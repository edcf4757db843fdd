/** What travels through the log, and the ports the rest of the code sees of it. */

import type { ActorId, Batch } from "../../actors/actor.js";
import type { LedgerCommand, LedgerReply } from "../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { MarketCommand, MarketReply } from "../../actors/market/commands.js";
import type { MarketDelta } from "../../actors/market/deltas.js";

export type AnyDelta = MarketDelta | LedgerDelta;

/**
 * One commit of one actor: an entry of its delta stream, whose stream id is `<seq>-0`. `seq` counts from 1 without a gap.
 * Everything the actor must remember to be exactly-once is in here, so a fold of entries is the whole recovery.
 */
export interface Entry<Delta = AnyDelta> {
  readonly actor: ActorId;
  readonly seq: number;
  /** One batch per command that changed anything, in order. */
  readonly batches: readonly Batch<Delta>[];
  /** The mailbox position applied up to, `0-0` before any. */
  readonly cursor: string;
  /** The last seq applied of each actor that sent messages in this commit. */
  readonly sources: Readonly<Record<string, number>>;
  /** Answers given in this commit, remembered until `untilMs` so that a repeat of the command id gets the same one. */
  readonly answers: readonly { readonly id: string; readonly reply: unknown; readonly untilMs: number }[];
}

/** How to ask: `id` is the command's identity (repeats of it take effect once). */
export interface AskOptions {
  readonly id?: string | undefined;
  /** How long the receiver must remember the answer, ms (default 10,000). */
  readonly rememberMs?: number | undefined;
  /** Default 5,000. */
  readonly timeoutMs?: number | undefined;
}

/** The actor, or Redis, gave no answer in time; whether the command took effect is unknown. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

/** Sends a command to an actor and waits for its answer. Retries with the same command id; throws `Unavailable`. */
export interface Exchange {
  market(marketId: string, command: MarketCommand, options?: AskOptions): Promise<MarketReply>;
  ledger(shard: number, command: LedgerCommand, options?: AskOptions): Promise<LedgerReply>;
}

/** Reads the delta streams of actors as they grow. */
export interface Tail {
  /**
   * Calls `onEntries` with every entry after `afterSeq`, in order and without a gap, until the returned stop is called.
   * Registering is immediate: entries committed from now on are never missed.
   * `onGap` is called when entries after `afterSeq` have been trimmed away; following then stops.
   */
  follow<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    onEntries: (entries: readonly Entry<Delta>[]) => void,
    onGap: () => void,
  ): () => void;
  /** The last committed seq of an actor, 0 before any. */
  head(actor: ActorId): Promise<number>;
}
