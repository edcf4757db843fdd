/** The actors of a partition that are in memory, with the snapshot policy of each. */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Head, StreamSize } from "../log/log.js";
import type { Instance } from "./instance.js";
import type { RetainedPartition } from "./retention.js";
import { SnapshotPolicy, type SnapshotLimits } from "./snapshot-policy.js";
import type { SnapshotTaken } from "./snapshots/snapshots.js";

interface CachedActor {
  readonly instance: Instance;
  readonly policy: SnapshotPolicy;
}

export class ActorCache {
  readonly #clock: Clock;
  readonly #limits: SnapshotLimits;
  readonly #retained: RetainedPartition;
  readonly #actors = new Map<ActorId, CachedActor>();
  /** Actors that have committed since the last maintenance round. */
  readonly #used = new Set<ActorId>();
  /** Actors that the next rounds visit in turn. */
  #turn: Iterator<ActorId> = this.#actors.keys();
  /** Actors in the latest step. Their state may be ahead of the log, so they are not evicted. */
  #held = new Set<ActorId>();
  /** Actors in the step before it, while that step is not committed. */
  #heldBefore = new Set<ActorId>();
  /** Number of steps that are not committed. */
  #steps = 0;

  constructor(clock: Clock, limits: SnapshotLimits, retained: RetainedPartition) {
    this.#clock = clock;
    this.#limits = limits;
    this.#retained = retained;
  }

  add(instance: Instance, head: Head, size: StreamSize): void {
    this.#retained.add(instance.id, head, size);
    const policy = new SnapshotPolicy(this.#limits, head.snapshot, this.#clock.monotonic());
    this.#actors.set(instance.id, { instance, policy });
  }

  /** Returns true for the instance of an actor that is in memory, and false for one that was discarded. */
  has(instance: Instance): boolean {
    return this.#actors.get(instance.id)?.instance === instance;
  }

  remove(actor: ActorId): void {
    this.#actors.delete(actor);
    this.#used.delete(actor);
    this.#retained.remove(actor);
  }

  /** Returns an actor that is in memory, and keeps it there until the step is committed. */
  hold(actor: ActorId): Instance | undefined {
    const cached = this.#actors.get(actor);
    if (cached !== undefined) this.#held.add(actor);
    return cached?.instance;
  }

  /** Begins a step. The one before it may be on its way to the log. */
  stepBegins(): void {
    this.#steps += 1;
    this.#heldBefore = this.#held;
    this.#held = new Set();
  }

  /** Ends the earliest step. */
  stepEnded(): void {
    this.#steps -= 1;
    if (this.#steps === 0) this.#held.clear();
    this.#heldBefore.clear();
  }

  /** Records that an actor has committed an entry of this size. */
  used(actor: ActorId, seq: number, entryBytes: number): void {
    const cached = this.#actors.get(actor);
    if (cached === undefined) return;
    this.#used.add(actor);
    cached.policy.used(this.#clock.monotonic());
    this.#retained.committed(actor, seq, entryBytes);
  }

  /**
   * Begins a maintenance round and returns its actors: those that have committed since the last round, and some of the
   * others in turn. The work of a round therefore does not grow with the number of actors in memory.
   */
  nextRound(): readonly ActorId[] {
    const { roundActors } = this.#limits;
    const round = new Set(this.#actors.size <= roundActors ? this.#actors.keys() : this.#used);
    this.#used.clear();
    for (let n = 0; n < roundActors && round.size < this.#actors.size; n += 1) {
      let next = this.#turn.next();
      if (next.done === true) {
        this.#turn = this.#actors.keys();
        next = this.#turn.next();
      }
      if (next.done !== true) round.add(next.value);
    }
    return [...round];
  }

  /** Number of actors in memory. */
  get size(): number {
    return this.#actors.size;
  }

  /** Returns the actors in memory. */
  instances(): readonly Instance[] {
    return [...this.#actors.values()].map(({ instance }) => instance);
  }

  /** Returns those of some actors that are in memory. */
  instancesOf(actors: readonly ActorId[]): readonly Instance[] {
    return actors.flatMap((actor) => this.#actors.get(actor)?.instance ?? []);
  }

  /** Returns those of some actors that are due for a snapshot. */
  dueForSnapshot(actors: readonly ActorId[]): readonly ActorId[] {
    const now = this.#clock.monotonic();
    return actors.filter((actor) => {
      const cached = this.#actors.get(actor);
      if (cached === undefined) return false;
      const bytes = this.#retained.bytesSinceSnapshot(actor);
      return (
        cached.policy.snapshotDue(cached.instance.seq, bytes, now) || this.#retained.needsSnapshot(actor)
      );
    });
  }

  /** Returns whether the entries since the last snapshot take so much that the next one must not rest. */
  isFarBehind(actor: ActorId): boolean {
    const bytes = this.#retained.bytesSinceSnapshot(actor);
    return this.#actors.get(actor)?.policy.isFarBehind(bytes) === true || this.#retained.needsSnapshot(actor);
  }

  /** True when some actor is far behind. */
  get hasFarBehind(): boolean {
    return [...this.#actors.keys()].some((actor) => this.isFarBehind(actor));
  }

  /** Returns the actors of which a new owner would fold many entries, those with most first. */
  dueBeforeMove(): readonly ActorId[] {
    const bytesOf = (actor: ActorId): number => this.#retained.bytesSinceSnapshot(actor);
    return [...this.#actors.keys()]
      .filter((actor) => bytesOf(actor) >= this.#limits.moveBytes)
      .toSorted((a, b) => bytesOf(b) - bytesOf(a));
  }

  /** Records that a snapshot of an actor begins. */
  snapshotBegins(actor: ActorId): void {
    this.#actors.get(actor)?.policy.snapshotBegins(this.#clock.monotonic());
    this.#retained.snapshotBegins(actor);
  }

  /** Records the end of a snapshot, which failed without `taken`. */
  snapshotEnds(actor: ActorId, taken: SnapshotTaken | undefined): void {
    this.#actors.get(actor)?.policy.snapshotEnds(taken, this.#clock.monotonic());
    if (taken !== undefined) this.#retained.snapshotTaken(actor);
  }

  /** Forgets the expired answers of some actors, also of those that receive nothing. */
  forgetExpired(actors: readonly ActorId[]): void {
    const now = this.#clock.now();
    for (const instance of this.instancesOf(actors)) instance.forgetExpired(now);
  }

  /** Returns an idle one of some actors to evict, unless `isNeeded`. */
  findIdle(actors: readonly ActorId[], isNeeded: (actor: ActorId) => boolean): Instance | undefined {
    const idle = actors.find((actor) => this.isIdle(actor) && !isNeeded(actor));
    return idle === undefined ? undefined : this.#actors.get(idle)?.instance;
  }

  /** Returns true for an actor in memory that nothing has used for a long time. */
  isIdle(actor: ActorId): boolean {
    const cached = this.#actors.get(actor);
    const isHeld = this.#held.has(actor) || this.#heldBefore.has(actor);
    return cached !== undefined && !isHeld && cached.policy.isIdle(this.#clock.monotonic());
  }

  /** Bytes of the entries since the last snapshot, of the actor that has most. */
  get mostBytesSinceSnapshot(): number {
    return Math.max(0, ...[...this.#actors.keys()].map((actor) => this.#retained.bytesSinceSnapshot(actor)));
  }
}
