/** The actors of a partition that are in memory, with the snapshot policy of each. */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Head } from "../log/log.js";
import type { Instance } from "./instance.js";
import { SnapshotPolicy, type SnapshotLimits } from "./snapshot-policy.js";

interface CachedActor {
  readonly instance: Instance;
  readonly policy: SnapshotPolicy;
}

export class ActorCache {
  readonly #clock: Clock;
  readonly #limits: SnapshotLimits;
  readonly #actors = new Map<ActorId, CachedActor>();
  /** Actors in the current step. Their state may be ahead of the log, so they are not evicted. */
  readonly #held = new Set<ActorId>();

  constructor(clock: Clock, limits: SnapshotLimits) {
    this.#clock = clock;
    this.#limits = limits;
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

  /** Records that an actor has committed an entry of this size. */
  used(actor: ActorId, entryBytes: number): void {
    const cached = this.#actors.get(actor);
    cached?.policy.used(cached.instance.seq, entryBytes, this.#clock.now());
  }

  /** Returns the actors that are due for a snapshot. */
  dueForSnapshot(): readonly ActorId[] {
    const now = this.#clock.now();
    return [...this.#actors.values()]
      .filter(({ instance, policy }) => policy.snapshotDue(instance.seq, now))
      .map(({ instance }) => instance.id);
  }

  /** Records that a snapshot of an actor begins. */
  snapshotBegins(actor: ActorId): void {
    this.#actors.get(actor)?.policy.snapshotBegins(this.#clock.now());
  }

  /**
   * Records the end of a snapshot; `seq` is absent if it failed. Returns the first seq of the resume window, below which
   * the log may be trimmed.
   */
  snapshotEnds(actor: ActorId, seq: number | undefined): number | undefined {
    const cached = this.#actors.get(actor);
    const now = this.#clock.now();
    cached?.policy.snapshotEnds(seq, now);
    return cached?.policy.resumeFrom(cached.instance.seq, now);
  }

  /** Returns an idle actor to evict, unless `isNeeded`. */
  findIdle(isNeeded: (actor: ActorId) => boolean): Instance | undefined {
    for (const [actor, { instance }] of this.#actors)
      if (this.isIdle(actor) && !isNeeded(actor)) return instance;
    return undefined;
  }

  /** Returns true for an actor in memory that nothing has used for a long time. */
  isIdle(actor: ActorId): boolean {
    const cached = this.#actors.get(actor);
    return cached !== undefined && !this.#held.has(actor) && cached.policy.isIdle(this.#clock.now());
  }

  /** Bytes of the entries since the last snapshot, of the actor that has most. */
  get mostBytesSinceSnapshot(): number {
    return Math.max(0, ...[...this.#actors.values()].map(({ policy }) => policy.bytesSinceSnapshot));
  }
}
