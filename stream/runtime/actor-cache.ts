/** The actors of a partition that are in memory, and when each of them is to be snapshotted or let go. */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Head, Snapshot } from "../log/log.js";
import type { Instance } from "./instance.js";
import { SnapshotPolicy, type SnapshotLimits } from "./snapshot-policy.js";

/** A snapshot to write, and the first entry that has to be kept afterwards. */
export interface CapturedSnapshot {
  readonly actor: ActorId;
  readonly snapshot: Snapshot;
  /** Two for an actor that is let go: entries are kept down to the snapshot before the latest. */
  readonly copies: number;
  readonly trimBelow: number;
}

interface CachedActor {
  readonly instance: Instance;
  readonly policy: SnapshotPolicy;
}

export class ActorCache {
  readonly #clock: Clock;
  readonly #limits: SnapshotLimits;
  readonly #actors = new Map<ActorId, CachedActor>();
  /** Those that a step is working on, whose state may be ahead of the log. */
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

  /** An actor that is in memory, for one step. */
  hold(actor: ActorId): Instance | undefined {
    const resident = this.#actors.get(actor);
    if (resident !== undefined) this.#held.add(actor);
    return resident?.instance;
  }

  /** The step is over. */
  release(): void {
    this.#held.clear();
  }

  /** The actor has committed an entry. */
  used(actor: ActorId): void {
    const resident = this.#actors.get(actor);
    resident?.policy.used(resident.instance.seq, this.#clock.now());
  }

  /** A snapshot of the first of these actors, all committed, that is due for one. */
  capture(actors: readonly ActorId[]): CapturedSnapshot | undefined {
    const now = this.#clock.now();
    for (const actor of actors) {
      const resident = this.#actors.get(actor);
      if (resident === undefined) continue;
      const { instance, policy } = resident;
      if (!policy.snapshotDue(instance.seq, now)) continue;
      policy.snapshotTaken(instance.seq, now);
      const keepFrom = policy.resumeFrom(instance.seq, now);
      return { actor, snapshot: instance.snapshot(), copies: 1, trimBelow: keepFrom };
    }
    return undefined;
  }

  /** Lets go of one actor that nothing has happened to for long, unless `isNeeded`. */
  evictIdle(isNeeded: (actor: ActorId) => boolean): CapturedSnapshot | undefined {
    const now = this.#clock.now();
    for (const [actor, { instance, policy }] of this.#actors) {
      if (!policy.isIdle(now) || this.#held.has(actor) || isNeeded(actor)) continue;
      this.#actors.delete(actor);
      const { seq } = instance;
      if (seq === 0) return undefined;
      return {
        actor,
        snapshot: instance.snapshot(),
        copies: policy.snapshotSeq === seq ? 1 : 2,
        trimBelow: seq,
      };
    }
    return undefined;
  }
}
