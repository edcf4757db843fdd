/**
 * The tenure of one partition: from taking it, with an epoch of its own, to losing it. `step` is the whole life of a
 * command: read, decide, commit, pass on. Whatever goes wrong, from a fence to a lost connection, ends the tenure;
 * what was committed is in the log, and the next tenure starts from there. There is no other way to recover.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "./clock.js";
import { Deadlines } from "./deadlines.js";
import type { Log, Message, Ring, Sighting } from "./log.js";
import type { Logger } from "./logger.js";
import { CorruptLog, parseEntry } from "./packing.js";
import { recover } from "./recovery.js";
import type { Relay, Sender } from "./relay.js";
import type { ReplyQueue } from "./replies.js";
import { type ActorOf, Instance, type Turn } from "./runtime.js";
import { type Captured, Residents } from "./residents.js";
import type { UpkeepLimits } from "./upkeep.js";

export interface PartitionPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly replies: ReplyQueue;
  readonly logger: Logger;
  readonly upkeep: UpkeepLimits;
}

/** Why a tenure ended when nothing was wrong with the log. */
export class TenureLost extends Error {
  override readonly name = "TenureLost";
}

const MAX_ACTORS = 256;
/** Messages of one read batch over all of its actors, and at least so many of each. */
const MAX_MESSAGES = 2_048;
const MIN_MESSAGES_EACH = 16;
const RELAY_PAGE = 200;
/** An actor with so many entries left behind by an earlier tenure is loaded once, so that they get trimmed. */
const UNTIDY_ENTRIES = 100;

interface Taken {
  readonly instance: Instance;
  readonly turn: Turn;
}

export class Partition implements Sender {
  readonly name: string;
  readonly epoch: number;
  readonly #ports: PartitionPorts;
  readonly #residents: Residents;
  readonly #rung = new Set<ActorId>();
  readonly #stopped = new Set<ActorId>();
  /** Actors that an earlier tenure stopped; they get another chance, and the mark goes when they take it. */
  #haltedBefore = new Set<ActorId>();
  readonly #deadlines = new Deadlines();
  readonly #untidy: ActorId[] = [];
  #lookedOnce = false;
  #lookAtAll = true;
  #captured: Captured | undefined;
  #underWay: Promise<void> = Promise.resolve();
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
    for (const actor of ring.actors) if (!this.#stopped.has(actor)) this.#rung.add(actor);
    this.onChange();
  }

  /** Whether a step would do something now. */
  hasWork(nowMs: number): boolean {
    return this.#lookAtAll || this.#rung.size > 0 || (this.nextDeadline() ?? Infinity) <= nowMs;
  }

  /** When the next tick is due (Unix ms), if at all. */
  nextDeadline(): number | undefined {
    return this.#deadlines.next();
  }

  /** One read batch: never rejects; a failure ends the tenure. One at a time. */
  step(): Promise<void> {
    this.#underWay = this.#step();
    return this.#underWay;
  }

  /** Resolves when no step is under way. */
  finished(): Promise<void> {
    return this.#underWay;
  }

  async #step(): Promise<void> {
    try {
      if (this.#lookAtAll) await this.#look();
      const actors = this.#choose();
      if (actors.length === 0) return;
      const instances = await this.#load(actors);
      const mail = await this.#read(instances);
      if (this.#dropped) return;
      await this.#commit(this.#decide(instances, mail));
    } catch (error) {
      this.drop(error);
    } finally {
      this.#residents.release();
    }
  }

  /** Finds what rang unheard, and at first what an earlier tenure has left: messages to relay, deadlines. */
  async #look(): Promise<void> {
    this.#lookAtAll = false;
    const { log } = this.#ports;
    const sightings = await log.look(this.name);
    for (const { actor, waiting } of sightings) {
      if (waiting > 0 && !this.#stopped.has(actor)) this.#rung.add(actor);
    }
    if (this.#lookedOnce) return;
    this.#lookedOnce = true;
    this.#haltedBefore = new Set((await log.halted()).keys());
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
      const [found] = await log.readEntries(this.name, [{ actor, afterSeq: seq }], RELAY_PAGE);
      if (found === undefined || found.gap) {
        this.#halt(
          actor,
          new CorruptLog(`${actor}: the entries after ${seq} are gone, and were not relayed`),
        );
        return;
      }
      for (const stored of found.entries) {
        const outgoing = this.#guarded(actor, () => router.outgoing(parseEntry(actor, stored)));
        if (outgoing === undefined) return;
        relay.enqueue(this, actor, stored.seq, outgoing);
        seq = stored.seq;
      }
    }
  }

  #choose(): readonly ActorId[] {
    const chosen = new Set(this.#deadlines.due(this.#ports.clock.now(), MAX_ACTORS));
    for (const actor of this.#rung) {
      if (chosen.size >= MAX_ACTORS) break;
      chosen.add(actor);
    }
    for (const actor of chosen) this.#rung.delete(actor);
    return [...chosen].filter((actor) => !this.#stopped.has(actor));
  }

  /** The actors in memory, loaded where need be. One that cannot be loaded is stopped. */
  async #load(actors: readonly ActorId[]): Promise<readonly Instance[]> {
    const { log, actorOf, logger } = this.#ports;
    const missing = actors.filter((actor) => !this.#residents.has(actor));
    const heads = missing.length === 0 ? [] : await log.heads(this.name, missing);
    await Promise.all(
      missing.map(async (actor, index) => {
        const head = heads[index];
        if (head === undefined) throw new Error(`no head of ${actor}`);
        try {
          const instance = await recover(log, this.name, actorOf(actor), actor, head, logger);
          instance.settle(head.cursor, this.#deadlines.get(actor));
          this.#residents.add(instance, head);
        } catch (error) {
          if (!(error instanceof CorruptLog)) throw error;
          this.#halt(actor, error);
        }
      }),
    );
    return this.#residents.hold(actors);
  }

  async #read(instances: readonly Instance[]): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    const limit = Math.max(MIN_MESSAGES_EACH, Math.floor(MAX_MESSAGES / Math.max(1, instances.length)));
    const reads = instances.map(({ id, cursor }) => ({ actor: id, after: cursor }));
    const mail = await this.#ports.log.readMailboxes(this.name, reads, limit);
    for (const [actor, messages] of mail) if (messages.length === limit) this.#rung.add(actor);
    return mail;
  }

  #decide(instances: readonly Instance[], mail: ReadonlyMap<ActorId, readonly Message[]>): readonly Taken[] {
    const now = this.#ports.clock.now();
    return instances.flatMap((instance) => {
      const turn = this.#guarded(instance.id, () => instance.run(mail.get(instance.id) ?? [], now));
      return turn === undefined ? [] : [{ instance, turn }];
    });
  }

  /** Runs code of an actor. What it throws stops that actor, and only that. */
  #guarded<T>(actor: ActorId, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.#halt(actor, error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  }

  async #commit(taken: readonly Taken[]): Promise<void> {
    // A fault is committed too, though it writes nothing: a former owner, whose state is old, must not stop an actor.
    const writing = taken.filter(({ turn }) => turn.changed || turn.fault !== undefined);
    const changes = writing.map(({ turn }) => turn.change);
    if (changes.length > 0) {
      const outcome = await this.#ports.log.commit(this.name, this.epoch, changes);
      switch (outcome.kind) {
        case "ok":
          break;
        case "fenced":
          throw new TenureLost(`${this.name} has another owner`);
        case "conflict":
          throw new TenureLost(`${outcome.actor} is not where this worker believed`);
        default:
          outcome satisfies never;
      }
    }
    // After a lost connection the log may have lost this commit too: the next tenure relays what it finds.
    if (this.#dropped) return;
    for (const { instance, turn } of taken) this.#passOn(instance, turn);
    this.#captured ??= this.#capture(taken);
  }

  #passOn(instance: Instance, { entry, replies, skipped, fault }: Turn): void {
    const { relay, logger } = this.#ports;
    const actor = instance.id;
    for (const { id, error } of skipped)
      logger.warn({ err: error, actor, message: id }, "skipped a malformed message");
    this.#ports.replies.add(replies);
    if (entry !== undefined) {
      this.#residents.used(actor);
      const outgoing = this.#guarded(actor, () => instance.outgoing(entry));
      if (outgoing === undefined) return;
      relay.enqueue(this, actor, entry.seq, outgoing);
    }
    if (fault !== undefined) {
      this.#halt(actor, fault);
      return;
    }
    this.#deadlines.set(actor, instance.deadline);
    if (this.#haltedBefore.delete(actor)) this.#mark(actor, undefined);
  }

  /** Stops an actor for this tenure: it answers nothing and its mailbox fills. The others go on. */
  #halt(actor: ActorId, error: Error): void {
    this.#ports.logger.error({ err: error, actor }, "an actor is stopped");
    this.#stopped.add(actor);
    this.#rung.delete(actor);
    this.#residents.remove(actor);
    this.#deadlines.set(actor, undefined);
    this.#mark(actor, error.message);
  }

  /** An actor whose state cannot be written down goes on without a snapshot, and its log keeps growing. */
  #capture(taken: readonly Taken[]): Captured | undefined {
    try {
      return this.#residents.capture(taken.map(({ instance }) => instance.id));
    } catch (error) {
      this.#ports.logger.error({ err: error, partition: this.name }, "an actor cannot be snapshotted");
      return undefined;
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
      if (untidy !== undefined) this.ring({ partition: this.name, actors: [untidy], lookAtAll: false });
    } catch (error) {
      this.drop(error);
    }
  }

  /**
   * Commits nothing, only to be fenced where another took over in a pause and has let go again: nobody would tick or
   * relay until the next command. Ends the tenure then.
   */
  async #confirm(): Promise<void> {
    const outcome = await this.#ports.log.commit(this.name, this.epoch, []);
    if (outcome.kind === "fenced") this.drop(new TenureLost(`${this.name} had another owner`));
  }

  async #keep({ actor, snapshot, copies, keepFrom }: Captured): Promise<void> {
    for (let copy = 0; copy < copies; copy += 1) {
      await this.#ports.log.writeSnapshot(this.name, this.epoch, actor, snapshot);
    }
    await this.#ports.log.trim(this.name, actor, keepFrom);
  }
}
