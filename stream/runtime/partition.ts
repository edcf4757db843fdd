/**
 * One ownership of a partition, from taking it under a new epoch to its end. A `Partition` knows which of its actors
 * have work, keeps them in memory and halts those that fail; `CommitGroup` runs and commits them. Any failure, such as
 * a fenced commit or a lost connection, ends the ownership, and the next one recovers from the log. There is no other
 * way to recover.
 */

import type { ActorId } from "../../actors/actor.js";
import { type Formats, latestFormat } from "../../actors/format.js";
import type { Clock } from "../log/clock.js";
import type { ActorStatus, InlineRecord, Log, Notification } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { continues, CorruptLog, parseEntry } from "../log/packing.js";
import { ActorCache, type CapturedSnapshot } from "./actor-cache.js";
import { ActorDeadlines } from "./deadlines.js";
import { type ActorOf, errorOf, Instance } from "./instance.js";
import { loadActor } from "./recovery.js";
import type { Relay, Sender } from "./relay.js";
import type { SnapshotLimits } from "./snapshot-policy.js";

export interface PartitionPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
  readonly snapshotLimits: SnapshotLimits;
  /** Format of the snapshots (default the latest). */
  readonly formats?: Formats | undefined;
}

/** A partition that was taken, with its epoch and the incarnation of the log. */
interface PartitionLease {
  readonly name: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/** An actor in memory that has work. */
export interface ReadyActor {
  readonly instance: Instance;
  /** The messages from notifications, in order; `undefined` when the mailbox must be read. None of a busy actor. */
  readonly inline: readonly InlineRecord[] | undefined;
}

/**
 * Reason of an ended ownership when the log is sound: another worker took over, or this worker handed over, lost its
 * connection or was ahead of the log.
 */
export class OwnershipLost extends Error {
  override readonly name = "OwnershipLost";
}

const RELAY_PAGE_ENTRIES = 200;
/** Number of retained entries above which a new owner loads an actor once, so that the old entries get trimmed. */
const MAX_LEFTOVER_ENTRIES = 100;

export class Partition implements Sender {
  readonly name: string;
  readonly epoch: number;
  readonly #incarnation: string;
  readonly #ports: PartitionPorts;
  readonly #cache: ActorCache;
  /** Actors with messages, and these messages; `undefined` for an actor whose mailbox must be read. */
  readonly #pending = new Map<ActorId, InlineRecord[] | undefined>();
  readonly #halted = new Set<ActorId>();
  /** Actors that an earlier owner halted. They run again, and their first commit removes the record of the halt. */
  #haltedBefore = new Set<ActorId>();
  readonly #deadlines = new ActorDeadlines();
  /** Actors to load once, so that their leftover entries get trimmed. */
  readonly #toTrim: ActorId[] = [];
  #scannedOnce = false;
  #mustScan = true;
  readonly #loading = new Map<ActorId, Promise<void>>();
  /** A snapshot that `maintain` has yet to write. */
  #capturedSnapshot: CapturedSnapshot | undefined;
  #endReason: unknown;
  #ended = false;
  /** Called when an actor may have work, and when the ownership ends. */
  onChange: () => void = () => undefined;

  constructor({ name, epoch, incarnation }: PartitionLease, ports: PartitionPorts) {
    this.name = name;
    this.epoch = epoch;
    this.#incarnation = incarnation;
    this.#ports = ports;
    this.#cache = new ActorCache(ports.clock, ports.snapshotLimits, ports.formats ?? latestFormat);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Reason for the end of the ownership. */
  get endReason(): unknown {
    return this.#endReason;
  }

  /** Ends the ownership; only the first reason is kept. */
  end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#endReason = reason;
    this.onChange();
  }

  /** Receives a notification of new messages. */
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

  /** Marks the mailbox of an actor as possibly not empty. */
  markUnread(actor: ActorId): void {
    this.notify({ partition: this.name, notices: [{ actor }], scanAll: false });
  }

  /** Returns true when a step would do something at this time. */
  hasWork(nowMs: number): boolean {
    if (this.#ended) return false;
    return this.#mustScan || this.#pending.size > 0 || (this.nextDeadline() ?? Infinity) <= nowMs;
  }

  /** True when any mailbox may have unread messages, so that all must be scanned. */
  get mustScan(): boolean {
    return this.#mustScan && !this.#ended;
  }

  /** Returns the time of the next tick (Unix ms), if there is one. */
  nextDeadline(): number | undefined {
    return this.#deadlines.next();
  }

  /**
   * Finds the actors with unread messages. The first scan also finds the work left by the previous owner: deadlines,
   * messages to relay and entries to trim. Never rejects; a failure ends the ownership.
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

  /** Relays the entries that the previous owner may not have relayed, before any entry of this ownership. */
  async #relayLeftovers({ actor, head }: ActorStatus): Promise<void> {
    const { log, relay, actorOf } = this.#ports;
    const router = Instance.create(actorOf(actor), actor);
    for (let seq = head.relayed; seq < head.seq;) {
      const reads = [{ partition: this.name, actor, afterSeq: seq }];
      const [found] = await log.readEntries(reads, RELAY_PAGE_ENTRIES);
      if (found === undefined) {
        this.halt(actor, missingEntries(actor, seq));
        return;
      }
      for (const stored of found.entries) {
        const outgoing = this.runOrHalt(actor, () => {
          const entry = parseEntry(actor, stored);
          if (!continues(entry, seq)) throw missingEntries(actor, seq);
          return router.outgoing(entry);
        });
        if (outgoing === undefined) return;
        relay.enqueue(this, actor, stored.seq, outgoing);
        seq = stored.seq;
      }
    }
  }

  /**
   * Takes at most `limit` actors that are due, and as many that have messages, and returns those that are in memory. The
   * others are loaded in the background, and have work again when they are in memory. The messages of an actor with
   * unfinished work wait.
   */
  takeReady(limit: number): readonly ReadyActor[] {
    const selected = new Map<ActorId, InlineRecord[] | undefined>();
    for (const actor of this.#deadlines.due(this.#ports.clock.now(), limit)) selected.set(actor, []);
    let withMessages = 0;
    for (const [actor, inline] of this.#pending) {
      if (withMessages >= limit) break;
      withMessages += 1;
      selected.set(actor, inline);
    }
    const ready: ReadyActor[] = [];
    const missing: ActorId[] = [];
    for (const [actor, inline] of selected) {
      const instance = this.hold(actor);
      if (instance?.isBusy === true) {
        ready.push({ instance, inline: [] });
        continue;
      }
      this.#pending.delete(actor);
      if (instance !== undefined) ready.push({ instance, inline });
      else if (!this.#halted.has(actor) && !this.#loading.has(actor)) missing.push(actor);
    }
    if (missing.length > 0) this.#beginLoading(missing);
    return ready;
  }

  #beginLoading(actors: readonly ActorId[]): void {
    const deadlines = new Map(actors.map((actor) => [actor, this.#deadlines.get(actor)]));
    // An actor without a deadline is not due again while it is loading.
    for (const actor of actors) this.#deadlines.set(actor, undefined);
    const loading = this.#load(deadlines)
      .catch((error: unknown) => this.end(error))
      .finally(() => {
        for (const actor of actors) this.#loading.delete(actor);
      });
    for (const actor of actors) this.#loading.set(actor, loading);
  }

  /** Resolves when no actor is being loaded. */
  async loaded(): Promise<void> {
    await Promise.all(this.#loading.values());
  }

  /** Loads actors, and restores their deadlines. Halts an actor that cannot be loaded. */
  async #load(deadlines: ReadonlyMap<ActorId, number | undefined>): Promise<void> {
    await Promise.all(
      [...deadlines].map(async ([actor, deadline]) => {
        try {
          const { instance, head } = await loadActor(this.#ports, this.name, actor);
          instance.adoptHead(head.cursor, deadline);
          instance.adoptLineage(head.lineage, this.#incarnation);
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

  /** Returns an actor if it is in memory, and keeps it there until the end of the step. */
  hold(actor: ActorId): Instance | undefined {
    return this.#cache.hold(actor);
  }

  /** Releases the actors that the step held. */
  release(): void {
    this.#cache.release();
  }

  /** Runs code of an actor. An error halts that actor, and no other. */
  runOrHalt<T>(actor: ActorId, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.halt(actor, errorOf(error));
      return undefined;
    }
  }

  /** Records that a turn of an actor is committed. */
  committed(instance: Instance, wroteEntry: boolean): void {
    const actor = instance.id;
    if (wroteEntry) this.#cache.used(actor);
    this.#deadlines.set(actor, instance.deadline);
    if (this.#haltedBefore.delete(actor)) this.#recordHalt(actor, undefined);
  }

  /** Halts an actor for this ownership: it answers no command, and its mailbox fills. Other actors continue. */
  halt(actor: ActorId, error: Error): void {
    this.#ports.logger.error({ err: error, actor }, "an actor is halted");
    this.#halted.add(actor);
    this.#pending.delete(actor);
    this.#cache.remove(actor);
    this.#deadlines.set(actor, undefined);
    this.#recordHalt(actor, error.message);
  }

  #recordHalt(actor: ActorId, reason: string | undefined): void {
    this.#ports.log.markHalted(actor, reason).catch((error: unknown) => this.end(error));
  }

  /**
   * Captures a snapshot of one of these actors, if one is due; `maintain` writes it. All of them must be committed. An
   * actor that fails to save its state continues without a snapshot, and its log grows.
   */
  captureSnapshot(actors: readonly ActorId[]): void {
    try {
      this.#capturedSnapshot ??= this.#cache.capture(actors);
    } catch (error) {
      this.#ports.logger.error({ err: error, partition: this.name }, "the snapshot of an actor failed");
    }
  }

  /**
   * Confirms the ownership, writes the captured snapshot, trims old entries and evicts an idle actor. Runs beside the
   * steps of the group. Never rejects; a failure ends the ownership.
   */
  async maintain(): Promise<void> {
    try {
      await this.#confirmOwnership();
      if (this.#capturedSnapshot !== undefined) {
        await this.#writeSnapshot(this.#capturedSnapshot);
        this.#capturedSnapshot = undefined;
      }
      const evicted = this.#cache.evictIdle((actor) => this.#deadlines.get(actor) !== undefined);
      if (evicted !== undefined) await this.#writeSnapshot(evicted);
      const toTrim = this.#toTrim.shift();
      if (toTrim !== undefined) this.markUnread(toTrim);
    } catch (error) {
      this.end(error);
    }
  }

  /**
   * Makes an empty commit, and ends the ownership when that commit is fenced. While this worker was paused, another one
   * may have taken the partition and released it. Without this check, this worker would learn that only at the next
   * command, and until then no worker would tick the actors or relay their messages.
   */
  async #confirmOwnership(): Promise<void> {
    const ownerships = [{ partition: this.name, epoch: this.epoch }];
    const outcome = await this.#ports.log.commit({ ownerships, changes: [] });
    if (outcome.kind === "fenced") this.end(new OwnershipLost(`${this.name} had another owner`));
  }

  async #writeSnapshot({ actor, snapshot, copies, trimBelow }: CapturedSnapshot): Promise<void> {
    const { log } = this.#ports;
    for (let copy = 0; copy < copies; copy += 1) {
      await log.writeSnapshot(this.name, this.epoch, actor, snapshot);
    }
    await log.trim(this.name, actor, trimBelow);
  }
}

function missingEntries(actor: ActorId, seq: number): CorruptLog {
  return new CorruptLog(`${actor}: the entries after ${seq} are missing, and were not relayed`);
}
