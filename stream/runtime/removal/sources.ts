/**
 * Forgetting of the sources of an inbox. An inbox keeps the last seq of each actor that has sent it a message, so that no
 * message takes effect twice. It may forget a source when no message of that source up to a seq can come any more:
 *
 * 1. The source is removed at that seq, and its mark says that all of its messages were appended. Marks are fenced, so no
 *    owner from then on has one left to append.
 * 2. The partition of the inbox then refuses the appends of every earlier ownership of the source's partition.
 * 3. All messages that were appended before are in the mailbox before the message that lets the inbox forget the source.
 *
 * A restored actor goes on with higher seqs, so the inbox keeps a source of which it has applied a later message.
 */

import { type ActorId, partitionOf } from "../../../actors/actor.js";
import type { Clock } from "../../log/clock.js";
import type { Log } from "../../log/log.js";
import { packEnvelope } from "../../log/packing.js";

/** Limits of the reviews. A simulation makes them small. */
export interface ReviewLimits {
  /** Number of sources up to which an inbox is not reviewed. */
  readonly minSources: number;
  /** Most sources in one review. */
  readonly sources: number;
  /** Time in ms between two reviews of an inbox, and from the review that finds a removed source until it is forgotten. */
  readonly intervalMs: number;
}

export const REVIEW_LIMITS: ReviewLimits = { minSources: 64, sources: 256, intervalMs: 10_000 };

/** The inbox of an actor in memory. */
interface ReviewedInbox {
  readonly id: ActorId;
  readonly sources: ReadonlyMap<string, number>;
}

/** Progress of the reviews of one inbox. */
interface Progress {
  reviewedMs: number;
  /** Sources that the present round has not reviewed. */
  left: ActorId[];
  /** Removed sources that the last review has found, with their last seqs. */
  removed: Record<string, number>;
}

type ReviewLog = Pick<Log, "heads" | "leases" | "append">;

/** Reviews the inboxes of the actors of one ownership, round by round. */
export class SourceReviews {
  readonly #log: ReviewLog;
  readonly #clock: Clock;
  readonly #limits: ReviewLimits;
  readonly #progress = new Map<ActorId, Progress>();

  constructor(log: ReviewLog, clock: Clock, limits: ReviewLimits = REVIEW_LIMITS) {
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Lets an inbox forget the removed sources of the last review, and looks for others, if a review is due. */
  async review({ id, sources }: ReviewedInbox): Promise<void> {
    const { minSources, intervalMs } = this.#limits;
    const nowMs = this.#clock.monotonic();
    const progress = this.#progress.get(id) ?? { reviewedMs: -Infinity, left: [], removed: {} };
    if (sources.size <= minSources && Object.keys(progress.removed).length === 0) {
      this.#progress.delete(id);
      return;
    }
    if (nowMs - progress.reviewedMs < intervalMs) return;
    this.#progress.set(id, progress);
    progress.reviewedMs = nowMs;
    await this.#forget(id, progress.removed);
    if (progress.left.length === 0) progress.left = [...sources.keys()] as ActorId[];
    progress.removed = await this.#removedOf(progress.left.splice(0, this.#limits.sources));
  }

  /** Returns those of some sources that are removed and have no message left to append, with their last seqs. */
  async #removedOf(sources: readonly ActorId[]): Promise<Record<string, number>> {
    const removed: Record<string, number> = {};
    await Promise.all(
      [...byPartition(sources)].map(async ([partition, actors]) => {
        const heads = await this.#log.heads(partition, actors);
        for (const [index, head] of heads.entries()) {
          const actor = actors[index];
          if (actor !== undefined && head.removed !== undefined && head.relayed >= head.seq)
            removed[actor] = head.seq;
        }
      }),
    );
    return removed;
  }

  async #forget(id: ActorId, removed: Readonly<Record<string, number>>): Promise<void> {
    const sources = Object.keys(removed) as ActorId[];
    if (sources.length === 0) return;
    const partitions = [...byPartition(sources).keys()];
    const leases = await this.#log.leases(partitions);
    // Without the fence of a partition, the message would not be the last of its sources. A later review finds them.
    if (leases.size < partitions.length) return;
    const fences = [...leases].map(([partition, { epoch }]) => ({ partition, epoch }));
    const body = packEnvelope({ commands: [], forgotten: removed });
    await this.#log.append(partitionOf(id), [{ to: id, body }], 0, fences);
  }
}

function byPartition(actors: readonly ActorId[]): ReadonlyMap<string, readonly ActorId[]> {
  const groups = new Map<string, ActorId[]>();
  for (const actor of actors) {
    const group = groups.get(partitionOf(actor));
    if (group === undefined) groups.set(partitionOf(actor), [actor]);
    else group.push(actor);
  }
  return groups;
}
