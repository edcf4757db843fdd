/** The actors of a partition that are in memory, with the snapshot policy of each. */

import type { ActorId } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import type { Clock } from "../log/clock.js";
import type { Head, Snapshot } from "../log/log.js";
import type { Instance } from "./instance.js";
import { SnapshotPolicy, type SnapshotLimits } from "./snapshot-policy.js";

/** A snapshot to write, after which the log may be trimmed. */
export interface CapturedSnapshot {
  readonly actor: ActorId;
  readonly snapshot: Snapshot;
  /**
   * Number of times to write it. An evicted actor is written twice, because the log keeps the entries after the
   * previous snapshot, and both should be this one.
   */
  readonly copies: number;
  /** The entries before this seq may be trimmed. */
  readonly trimBelow: number;
}

interface CachedActor {
  readonly instance: Instance;
  readonly policy: SnapshotPolicy;
}

export class ActorCache {
  readonly #clock: Clock;
  readonly #limits: SnapshotLimits;
  readonly #formats: Formats;
  readonly #actors = new Map<ActorId, CachedActor>();
  /** Actors in the current step. Their state may be ahead of the log, so they are not evicted. */
  readonly #held = new Set<ActorId>();

  constructor(clock: Clock, limits: SnapshotLimits, formats: Formats) {
    this.#clock = clock;
    this.#limits = limits;
    this.#formats = formats;
  }

  add(instance: Instance, head: Head): void {
    const policy = new SnapshotPolicy(this.#limits, head.snapshot, instance.seq, this.#clock.now());
    this.#actors.set(instance.id, { instance, policy });
  }

  remove(actor: ActorId): void {
    this.#actors.delete(actor);
  }

  /** Returns an actor that is in memory, and keeps it there until the end of the step. */
  hold(actor: ActorId): Instance | undefined {
    const cached = this.#actors.get(actor);
    if (cached !== undefined) this.#held.add(actor);
    return cached?.instance;
  }

  /** Ends the step. */
  release(): void {
    this.#held.clear();
  }

  /** Records that an actor has committed an entry. */
  used(actor: ActorId): void {
    const cached = this.#actors.get(actor);
    cached?.policy.used(cached.instance.seq, this.#clock.now());
  }

  /** Captures a snapshot of the first of these actors that is due for one. All of them must be committed. */
  capture(actors: readonly ActorId[]): CapturedSnapshot | undefined {
    const now = this.#clock.now();
    for (const actor of actors) {
      const cached = this.#actors.get(actor);
      if (cached === undefined) continue;
      const { instance, policy } = cached;
      if (!policy.snapshotDue(instance.seq, now)) continue;
      policy.snapshotTaken(instance.seq, now);
      const trimBelow = policy.resumeFrom(instance.seq, now);
      return { actor, snapshot: instance.snapshot(this.#formats.active()), copies: 1, trimBelow };
    }
    return undefined;
  }

  /** Evicts one idle actor, unless `isNeeded`. Returns its last snapshot, if it has any entry. */
  evictIdle(isNeeded: (actor: ActorId) => boolean): CapturedSnapshot | undefined {
    const now = this.#clock.now();
    for (const [actor, { instance, policy }] of this.#actors) {
      if (!policy.isIdle(now) || this.#held.has(actor) || isNeeded(actor)) continue;
      this.#actors.delete(actor);
      const { seq } = instance;
      if (seq === 0) return undefined;
      const copies = policy.snapshotSeq === seq ? 1 : 2;
      return { actor, snapshot: instance.snapshot(this.#formats.active()), copies, trimBelow: seq };
    }
    return undefined;
  }
}
