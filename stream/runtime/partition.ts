/**
 * The tenure of one partition: from taking it, with an epoch of its own, to losing it. It knows which of its actors
 * have something to do, keeps them in memory, and stops those that break; what they do is decided and committed by
 * the step of `domain.ts`. Whatever goes wrong, from a fence to a lost connection, ends the tenure; what was
 * committed is in the log, and the next tenure starts from there. There is no other way to recover.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import { ActorDeadlines } from "./deadlines.js";
import type { InlineRecord, Log, Notification, ActorStatus } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { CorruptLog, parseEntry } from "../log/packing.js";
import { loadActor } from "./recovery.js";
import type { Relay, Sender } from "./relay.js";
import { type ActorOf, errorOf, Instance } from "./instance.js";
import { type CapturedSnapshot, ActorCache } from "./actor-cache.js";
import type { SnapshotLimits } from "./snapshot-policy.js";

export interface PartitionPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
  readonly snapshotLimits: SnapshotLimits;
}

/** An actor in memory that has something to do. */
export interface ReadyActor {
  readonly instance: Instance;
  /** What rang, in order; undefined when its mailbox has to be read. */
  readonly inline: readonly InlineRecord[] | undefined;
}

/** Why a tenure ended when nothing was wrong with the log. */
export class OwnershipLost extends Error {
  override readonly name = "TenureLost";
}

const RELAY_PAGE = 200;
/** An actor with so many entries left behind by an earlier tenure is loaded once, so that they get trimmed. */
const MAX_LEFTOVER_ENTRIES = 100;

export class Partition implements Sender {
  readonly name: string;
  readonly epoch: number;
  readonly #ports: PartitionPorts;
  readonly #cache: ActorCache;
  /** Actors with something to do, and the messages that their rings carried; undefined when some were not carried. */
  readonly #pending = new Map<ActorId, InlineRecord[] | undefined>();
  readonly #halted = new Set<ActorId>();
  /** Actors that an earlier tenure stopped; they get another chance, and the mark goes when they take it. */
  #haltedBefore = new Set<ActorId>();
  readonly #deadlines = new ActorDeadlines();
  readonly #toTrim: ActorId[] = [];
  #scannedOnce = false;
  #mustScan = true;
  readonly #loading = new Map<ActorId, Promise<void>>();
  #capturedSnapshot: CapturedSnapshot | undefined;
  #endReason: unknown;
  #ended = false;
  /** Called when there may be something to do, or the tenure has ended. */
  onChange: () => void = () => undefined;

  constructor(name: string, epoch: number, ports: PartitionPorts) {
    this.name = name;
    this.epoch = epoch;
    this.#ports = ports;
    this.#cache = new ActorCache(ports.clock, ports.snapshotLimits);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Why the tenure ended. */
  get endReason(): unknown {
    return this.#endReason;
  }

  end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.onChange();
  }

  /** The command bell rang. */
  notify(notification: Notification): void {
    if (notification.scanAll) this.#mustScan = true;
    for (const { actor, inline } of notification.notices) {
      if (this.#halted.has(actor)) continue;
      const known = this.#pending.get(actor);
      if (inline === undefined || (known === undefined && this.#pending.has(actor)))
        this.#pending.set(actor, undefined);
      else if (known === undefined) this.#pending.set(actor, [inline]);
      else known.push(inline);
    }
    this.onChange();
  }

  /** There may be something in the mailbox of an actor. */
  markUnread(actor: ActorId): void {
    this.notify({ partition: this.name, notices: [{ actor }], scanAll: false });
  }

  /** Whether a step would do something now. */
  hasWork(nowMs: number): boolean {
    if (this.#ended) return false;
    return this.#mustScan || this.#pending.size > 0 || (this.nextDeadline() ?? Infinity) <= nowMs;
  }

  /** Whether anything in the partition may have changed. */
  get mustScan(): boolean {
    return this.#mustScan && !this.#ended;
  }

  /** When the next tick is due (Unix ms), if at all. */
  nextDeadline(): number | undefined {
    return this.#deadlines.next();
  }

  /**
   * Finds what rang unheard, and at first what an earlier tenure has left: messages to relay,
   * deadlines. Never rejects; a failure ends the tenure.
   */
  async scan(): Promise<void> {
    this.#mustScan = false;
    try {
      const statuses = await this.#ports.log.scan(this.name);
      for (const { actor, waiting } of statuses) {
        if (waiting > 0 && !this.#halted.has(actor)) this.#pending.set(actor, undefined);
      }
      if (!this.#scannedOnce) await this.#recoverFrom(statuses);
    } catch (error) {
      this.end(error);
    }
  }

  async #recoverFrom(statuses: readonly ActorStatus[]): Promise<void> {
    this.#scannedOnce = true;
    this.#haltedBefore = new Set((await this.#ports.log.halted()).keys());
    for (const status of statuses) {
      const { actor, head, retained, deadlineMs } = status;
      this.#deadlines.set(actor, deadlineMs);
      if (retained > MAX_LEFTOVER_ENTRIES) this.#toTrim.push(actor);
      if (head.relayed < head.seq) await this.#relayLeftovers(status);
    }
  }

  /** Relays what the last tenure committed and may not have sent. Comes before anything that this one commits. */
  async #relayLeftovers({ actor, head }: ActorStatus): Promise<void> {
    const { log, relay, actorOf } = this.#ports;
    const router = Instance.create(actorOf(actor), actor);
    for (let seq = head.relayed; seq < head.seq;) {
      const [found] = await log.readEntries([{ partition: this.name, actor, afterSeq: seq }], RELAY_PAGE);
      if (found === undefined || found.gap) {
        this.halt(actor, new CorruptLog(`${actor}: the entries after ${seq} are gone, and were not relayed`));
        return;
      }
      for (const stored of found.entries) {
        const outgoing = this.runOrHalt(actor, () => router.outgoing(parseEntry(actor, stored)));
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
  takeReady(limit: number): readonly ReadyActor[] {
    const chosen = new Map<ActorId, InlineRecord[] | undefined>();
    for (const actor of this.#deadlines.due(this.#ports.clock.now(), limit)) chosen.set(actor, []);
    for (const [actor, inline] of this.#pending) {
      if (chosen.size >= limit) break;
      chosen.set(actor, inline);
    }
    const ready: ReadyActor[] = [];
    const missing: ActorId[] = [];
    for (const [actor, inline] of chosen) {
      this.#pending.delete(actor);
      const instance = this.hold(actor);
      if (instance !== undefined) ready.push({ instance, inline });
      else if (!this.#halted.has(actor) && !this.#loading.has(actor)) missing.push(actor);
    }
    if (missing.length > 0) this.#beginLoading(missing);
    return ready;
  }

  #beginLoading(actors: readonly ActorId[]): void {
    const deadlines = new Map(actors.map((actor) => [actor, this.#deadlines.get(actor)]));
    // Their ticks wait until they are there.
    for (const actor of actors) this.#deadlines.set(actor, undefined);
    const loading = this.#load(deadlines)
      .catch((error: unknown) => this.end(error))
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
          const { instance, head } = await loadActor(log, this.name, actorOf(actor), actor, logger);
          instance.adoptHead(head.cursor, deadline);
          this.#cache.add(instance, head);
          this.#loading.delete(actor);
          this.#deadlines.set(actor, deadline);
          this.markUnread(actor);
        } catch (error) {
          if (!(error instanceof CorruptLog)) throw error;
          this.halt(actor, error);
        }
      }),
    );
  }

  /** The actor, if it is in memory, for the step that is under way. */
  hold(actor: ActorId): Instance | undefined {
    return this.#cache.hold(actor);
  }

  /** The step is over. */
  release(): void {
    this.#cache.release();
  }

  /** Runs code of an actor. What it throws stops that actor, and only that. */
  runOrHalt<T>(actor: ActorId, run: () => T): T | undefined {
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
    if (wroteEntry) this.#cache.used(actor);
    this.#deadlines.set(actor, instance.deadline);
    if (this.#haltedBefore.delete(actor)) this.#recordHalt(actor, undefined);
  }

  /** Stops an actor for this tenure: it answers nothing and its mailbox fills. The others go on. */
  halt(actor: ActorId, error: Error): void {
    this.#ports.logger.error({ err: error, actor }, "an actor is stopped");
    this.#halted.add(actor);
    this.#pending.delete(actor);
    this.#cache.remove(actor);
    this.#deadlines.set(actor, undefined);
    this.#recordHalt(actor, error.message);
  }

  /**
   * Takes a snapshot of one of these actors, all committed, when one is due; `tidy` writes it. An actor whose state
   * cannot be written down goes on without, and its log keeps growing.
   */
  captureSnapshot(actors: readonly ActorId[]): void {
    try {
      this.#capturedSnapshot ??= this.#cache.capture(actors);
    } catch (error) {
      this.#ports.logger.error({ err: error, partition: this.name }, "an actor cannot be snapshotted");
    }
  }

  #recordHalt(actor: ActorId, reason: string | undefined): void {
    this.#ports.log.markHalted(actor, reason).catch((error: unknown) => this.end(error));
  }

  /**
   * What can wait: noticing that the tenure is over, writing a captured snapshot, forgetting old entries, dropping idle
   * actors from memory. Runs beside `step`; never rejects.
   */
  async maintain(): Promise<void> {
    try {
      await this.#confirmOwnership();
      if (this.#capturedSnapshot !== undefined) {
        await this.#writeSnapshot(this.#capturedSnapshot);
        this.#capturedSnapshot = undefined;
      }
      const idle = this.#cache.evictIdle((actor) => this.#deadlines.get(actor) !== undefined);
      if (idle !== undefined) await this.#writeSnapshot(idle);
      const toTrim = this.#toTrim.shift();
      if (toTrim !== undefined) this.markUnread(toTrim);
    } catch (error) {
      this.end(error);
    }
  }

  /**
   * Commits nothing, only to be fenced where another took over in a pause and has let go again: nobody would tick or
   * relay until the next command. Ends the tenure then.
   */
  async #confirmOwnership(): Promise<void> {
    const ownerships = [{ partition: this.name, epoch: this.epoch }];
    const outcome = await this.#ports.log.commit({ ownerships, changes: [] });
    if (outcome.kind === "fenced") this.end(new OwnershipLost(`${this.name} had another owner`));
  }

  async #writeSnapshot({ actor, snapshot, copies, trimBelow: keepFrom }: CapturedSnapshot): Promise<void> {
    for (let copy = 0; copy < copies; copy += 1) {
      await this.#ports.log.writeSnapshot(this.name, this.epoch, actor, snapshot);
    }
    await this.#ports.log.trim(this.name, actor, keepFrom);
  }
}
