/**
 * The tenure of one partition: from taking it, with an epoch of its own, to losing it. It knows which of its actors
 * have something to do, keeps them in memory, and stops those that break; what they do is decided and committed by
 * the step of `domain.ts`. Whatever goes wrong, from a fence to a lost connection, ends the tenure; what was
 * committed is in the log, and the next tenure starts from there. There is no other way to recover.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import { Deadlines } from "./deadlines.js";
import type { Carried, Log, Ring, Sighting } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { CorruptLog, parseEntry } from "../log/packing.js";
import { load } from "./recovery.js";
import type { Relay, Sender } from "./relay.js";
import { type ActorOf, errorOf, Instance } from "./instance.js";
import { type Captured, Residents } from "./actor-cache.js";
import type { UpkeepLimits } from "./snapshot-policy.js";

export interface PartitionPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
  readonly upkeep: UpkeepLimits;
}

/** An actor in memory that has something to do. */
export interface Chosen {
  readonly instance: Instance;
  /** What rang, in order; undefined when its mailbox has to be read. */
  readonly carried: readonly Carried[] | undefined;
}

/** Why a tenure ended when nothing was wrong with the log. */
export class TenureLost extends Error {
  override readonly name = "TenureLost";
}

const RELAY_PAGE = 200;
/** An actor with so many entries left behind by an earlier tenure is loaded once, so that they get trimmed. */
const UNTIDY_ENTRIES = 100;

export class Partition implements Sender {
  readonly name: string;
  readonly epoch: number;
  readonly #ports: PartitionPorts;
  readonly #residents: Residents;
  /** Actors with something to do, and the messages that their rings carried; undefined when some were not carried. */
  readonly #rung = new Map<ActorId, Carried[] | undefined>();
  readonly #stopped = new Set<ActorId>();
  /** Actors that an earlier tenure stopped; they get another chance, and the mark goes when they take it. */
  #haltedBefore = new Set<ActorId>();
  readonly #deadlines = new Deadlines();
  readonly #untidy: ActorId[] = [];
  #lookedOnce = false;
  #lookAtAll = true;
  readonly #loading = new Map<ActorId, Promise<void>>();
  #captured: Captured | undefined;
  #reason: unknown;
  #dropped = false;
  /** Called when there may be something to do, or the tenure has ended. */
  onChange: () => void = () => undefined;

  constructor(name: string, epoch: number, ports: PartitionPorts) {
    this.name = name;
    this.epoch = epoch;
    this.#ports = ports;
    this.#residents = new Residents(ports.clock, ports.upkeep);
  }

  get dropped(): boolean {
    return this.#dropped;
  }

  /** Why the tenure ended. */
  get reason(): unknown {
    return this.#reason;
  }

  drop(reason: unknown): void {
    if (this.#dropped) return;
    this.#dropped = true;
    this.#reason = reason;
    this.onChange();
  }

  /** The command bell rang. */
  ring(ring: Ring): void {
    if (ring.lookAtAll) this.#lookAtAll = true;
    for (const { actor, carried } of ring.rung) {
      if (this.#stopped.has(actor)) continue;
      const known = this.#rung.get(actor);
      if (carried === undefined || (known === undefined && this.#rung.has(actor)))
        this.#rung.set(actor, undefined);
      else if (known === undefined) this.#rung.set(actor, [carried]);
      else known.push(carried);
    }
    this.onChange();
  }

  /** There may be something in the mailbox of an actor. */
  mustRead(actor: ActorId): void {
    this.ring({ partition: this.name, rung: [{ actor }], lookAtAll: false });
  }

  /** Whether a step would do something now. */
  hasWork(nowMs: number): boolean {
    if (this.#dropped) return false;
    return this.#lookAtAll || this.#rung.size > 0 || (this.nextDeadline() ?? Infinity) <= nowMs;
  }

  /** Whether anything in the partition may have changed. */
  get mustLook(): boolean {
    return this.#lookAtAll && !this.#dropped;
  }

  /** When the next tick is due (Unix ms), if at all. */
  nextDeadline(): number | undefined {
    return this.#deadlines.next();
  }

  /**
   * Finds what rang unheard, and at first what an earlier tenure has left: messages to relay,
   * deadlines. Never rejects; a failure ends the tenure.
   */
  async look(): Promise<void> {
    this.#lookAtAll = false;
    try {
      const sightings = await this.#ports.log.look(this.name);
      for (const { actor, waiting } of sightings) {
        if (waiting > 0 && !this.#stopped.has(actor)) this.#rung.set(actor, undefined);
      }
      if (!this.#lookedOnce) await this.#takeUp(sightings);
    } catch (error) {
      this.drop(error);
    }
  }

  async #takeUp(sightings: readonly Sighting[]): Promise<void> {
    this.#lookedOnce = true;
    this.#haltedBefore = new Set((await this.#ports.log.halted()).keys());
    for (const sighting of sightings) {
      const { actor, head, retained, deadlineMs } = sighting;
      this.#deadlines.set(actor, deadlineMs);
      if (retained > UNTIDY_ENTRIES) this.#untidy.push(actor);
      if (head.relayed < head.seq) await this.#relayRest(sighting);
    }
  }

  /** Relays what the last tenure committed and may not have sent. Comes before anything that this one commits. */
  async #relayRest({ actor, head }: Sighting): Promise<void> {
    const { log, relay, actorOf } = this.#ports;
    const router = Instance.create(actorOf(actor), actor);
    for (let seq = head.relayed; seq < head.seq;) {
      const [found] = await log.readEntries([{ partition: this.name, actor, afterSeq: seq }], RELAY_PAGE);
      if (found === undefined || found.gap) {
        this.halt(actor, new CorruptLog(`${actor}: the entries after ${seq} are gone, and were not relayed`));
        return;
      }
      for (const stored of found.entries) {
        const outgoing = this.guarded(actor, () => router.outgoing(parseEntry(actor, stored)));
        if (outgoing === undefined) return;
        relay.enqueue(this, actor, stored.seq, outgoing);
        seq = stored.seq;
      }
    }
  }

  /**
   * The actors that have something to do, at most `limit`, as far as they are in memory. The others are loaded beside
   * the steps, and have something to do again when they are there.
   */
  choose(limit: number): readonly Chosen[] {
    const chosen = new Map<ActorId, Carried[] | undefined>();
    for (const actor of this.#deadlines.due(this.#ports.clock.now(), limit)) chosen.set(actor, []);
    for (const [actor, carried] of this.#rung) {
      if (chosen.size >= limit) break;
      chosen.set(actor, carried);
    }
    const ready: Chosen[] = [];
    const missing: ActorId[] = [];
    for (const [actor, carried] of chosen) {
      this.#rung.delete(actor);
      const instance = this.hold(actor);
      if (instance !== undefined) ready.push({ instance, carried });
      else if (!this.#stopped.has(actor) && !this.#loading.has(actor)) missing.push(actor);
    }
    if (missing.length > 0) this.#beginLoading(missing);
    return ready;
  }

  #beginLoading(actors: readonly ActorId[]): void {
    const deadlines = new Map(actors.map((actor) => [actor, this.#deadlines.get(actor)]));
    // Their ticks wait until they are there.
    for (const actor of actors) this.#deadlines.set(actor, undefined);
    const loading = this.#load(deadlines)
      .catch((error: unknown) => this.drop(error))
      .finally(() => {
        for (const actor of actors) this.#loading.delete(actor);
      });
    for (const actor of actors) this.#loading.set(actor, loading);
  }

  /** Resolves when nothing that was asked for has yet to be loaded. */
  async loaded(): Promise<void> {
    await Promise.all(this.#loading.values());
  }

  /** Brings actors into memory, with the deadlines that the log has. One that cannot be loaded is stopped. */
  async #load(deadlines: ReadonlyMap<ActorId, number | undefined>): Promise<void> {
    const { log, actorOf, logger } = this.#ports;
    await Promise.all(
      [...deadlines].map(async ([actor, deadline]) => {
        try {
          const { instance, head } = await load(log, this.name, actorOf(actor), actor, logger);
          instance.settle(head.cursor, deadline);
          this.#residents.add(instance, head);
          this.#loading.delete(actor);
          this.#deadlines.set(actor, deadline);
          this.mustRead(actor);
        } catch (error) {
          if (!(error instanceof CorruptLog)) throw error;
          this.halt(actor, error);
        }
      }),
    );
  }

  /** The actor, if it is in memory, for the step that is under way. */
  hold(actor: ActorId): Instance | undefined {
    return this.#residents.hold(actor);
  }

  /** The step is over. */
  release(): void {
    this.#residents.release();
  }

  /** Runs code of an actor. What it throws stops that actor, and only that. */
  guarded<T>(actor: ActorId, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.halt(actor, errorOf(error));
      return undefined;
    }
  }

  /** A turn of an actor has been committed. */
  committed(instance: Instance, wroteEntry: boolean): void {
    const actor = instance.id;
    if (wroteEntry) this.#residents.used(actor);
    this.#deadlines.set(actor, instance.deadline);
    if (this.#haltedBefore.delete(actor)) this.#mark(actor, undefined);
  }

  /** Stops an actor for this tenure: it answers nothing and its mailbox fills. The others go on. */
  halt(actor: ActorId, error: Error): void {
    this.#ports.logger.error({ err: error, actor }, "an actor is stopped");
    this.#stopped.add(actor);
    this.#rung.delete(actor);
    this.#residents.remove(actor);
    this.#deadlines.set(actor, undefined);
    this.#mark(actor, error.message);
  }

  /**
   * Takes a snapshot of one of these actors, all committed, when one is due; `tidy` writes it. An actor whose state
   * cannot be written down goes on without, and its log keeps growing.
   */
  capture(actors: readonly ActorId[]): void {
    try {
      this.#captured ??= this.#residents.capture(actors);
    } catch (error) {
      this.#ports.logger.error({ err: error, partition: this.name }, "an actor cannot be snapshotted");
    }
  }

  #mark(actor: ActorId, reason: string | undefined): void {
    this.#ports.log.markHalted(actor, reason).catch((error: unknown) => this.drop(error));
  }

  /**
   * What can wait: noticing that the tenure is over, writing a captured snapshot, forgetting old entries, dropping idle
   * actors from memory. Runs beside `step`; never rejects.
   */
  async tidy(): Promise<void> {
    try {
      await this.#confirm();
      if (this.#captured !== undefined) {
        await this.#keep(this.#captured);
        this.#captured = undefined;
      }
      const idle = this.#residents.takeIdle((actor) => this.#deadlines.get(actor) !== undefined);
      if (idle !== undefined) await this.#keep(idle);
      const untidy = this.#untidy.shift();
      if (untidy !== undefined) this.mustRead(untidy);
    } catch (error) {
      this.drop(error);
    }
  }

  /**
   * Commits nothing, only to be fenced where another took over in a pause and has let go again: nobody would tick or
   * relay until the next command. Ends the tenure then.
   */
  async #confirm(): Promise<void> {
    const tenures = [{ partition: this.name, epoch: this.epoch }];
    const outcome = await this.#ports.log.commit({ tenures, changes: [] });
    if (outcome.kind === "fenced") this.drop(new TenureLost(`${this.name} had another owner`));
  }

  async #keep({ actor, snapshot, copies, keepFrom }: Captured): Promise<void> {
    for (let copy = 0; copy < copies; copy += 1) {
      await this.#ports.log.writeSnapshot(this.name, this.epoch, actor, snapshot);
    }
    await this.#ports.log.trim(this.name, actor, keepFrom);
  }
}
