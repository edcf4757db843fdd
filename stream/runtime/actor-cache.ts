/** The actors of a partition that are in memory, and when each of them is to be snapshotted or let go. */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Head, Snapshot } from "../log/log.js";
import type { Instance } from "./instance.js";
import { Upkeep, type UpkeepLimits } from "./snapshot-policy.js";

/** A snapshot to write, and the first entry that has to be kept afterwards. */
export interface Captured {
  readonly actor: ActorId;
  readonly snapshot: Snapshot;
  /** Two for an actor that is let go: entries are kept down to the snapshot before the latest. */
  readonly copies: number;
  readonly keepFrom: number;
}

interface Resident {
  readonly instance: Instance;
  readonly upkeep: Upkeep;
}

export class Residents {
  readonly #clock: Clock;
  readonly #limits: UpkeepLimits;
  readonly #residents = new Map<ActorId, Resident>();
  /** Those that a step is working on, whose state may be ahead of the log. */
  readonly #held = new Set<ActorId>();

  constructor(clock: Clock, limits: UpkeepLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  add(instance: Instance, head: Head): void {
    const upkeep = new Upkeep(this.#limits, head.snapshot, instance.seq, this.#clock.now());
    this.#residents.set(instance.id, { instance, upkeep });
  }

  remove(actor: ActorId): void {
    this.#residents.delete(actor);
  }

  /** An actor that is in memory, for one step. */
  hold(actor: ActorId): Instance | undefined {
    const resident = this.#residents.get(actor);
    if (resident !== undefined) this.#held.add(actor);
    return resident?.instance;
  }

  /** The step is over. */
  release(): void {
    this.#held.clear();
  }

  /** The actor has committed an entry. */
  used(actor: ActorId): void {
    const resident = this.#residents.get(actor);
    resident?.upkeep.used(resident.instance.seq, this.#clock.now());
  }

  /** A snapshot of the first of these actors, all committed, that is due for one. */
  capture(actors: readonly ActorId[]): Captured | undefined {
    const now = this.#clock.now();
    for (const actor of actors) {
      const resident = this.#residents.get(actor);
      if (resident === undefined) continue;
      const { instance, upkeep } = resident;
      if (!upkeep.snapshotDue(instance.seq, now)) continue;
      upkeep.snapshotTaken(instance.seq, now);
      const keepFrom = upkeep.resumeFrom(instance.seq, now);
      return { actor, snapshot: instance.snapshot(), copies: 1, keepFrom };
    }
    return undefined;
  }

  /** Lets go of one actor that nothing has happened to for long, unless `isNeeded`. */
  takeIdle(isNeeded: (actor: ActorId) => boolean): Captured | undefined {
    const now = this.#clock.now();
    for (const [actor, { instance, upkeep }] of this.#residents) {
      if (!upkeep.isIdle(now) || this.#held.has(actor) || isNeeded(actor)) continue;
      this.#residents.delete(actor);
      const { seq } = instance;
      if (seq === 0) return undefined;
      return {
        actor,
        snapshot: instance.snapshot(),
        copies: upkeep.snapshotSeq === seq ? 1 : 2,
        keepFrom: seq,
      };
    }
    return undefined;
  }
}
