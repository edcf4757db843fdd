/**
 * One ownership of a partition, from taking it under a new epoch to its end. A `Partition` knows which of its actors
 * have work, keeps them in memory and halts those that fail; `CommitGroup` runs and commits them. Any failure, such as
 * a fenced commit or a lost connection, ends the ownership, and the next one recovers from the log. There is no other
 * way to recover.
 */

import type { ActorId, FilterBytes } from "../../actors/actor.js";
import { type Formats, latestFormat } from "../../actors/format.js";
import type { Clock } from "../log/clock.js";
import type { ActorStatus, InlineRecord, Log, Notification, StreamSize } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { continues, CorruptLog, parseEntry } from "../log/packing.js";
import { ActorCache } from "./actor-cache.js";
import { ActorDeadlines } from "./deadlines.js";
import { type ActorOf, errorOf, Instance, packDispatch, type Retry, type Turn } from "./instance.js";
import { loadActor, RemovedActor } from "./recovery.js";
import { OwnershipLost, type Relay, type Sender } from "./relay.js";
import { type ReviewLimits, SourceReviews } from "./removal/sources.js";
import type { RetainedPartition, Retention } from "./retention.js";
import type { SnapshotLimits } from "./snapshot-policy.js";
import type { SnapshotRequest, Snapshots, SnapshotTaken } from "./snapshots/snapshots.js";

export interface PartitionPorts {
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
  readonly snapshotLimits: SnapshotLimits;
  readonly snapshots: Snapshots;
  readonly retention: Retention;
  /** Called before each piece of work of a load (default nothing). */
  readonly rest?: (() => Promise<void>) | undefined;
  readonly reviewLimits?: ReviewLimits | undefined;
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

interface CommittedTurn {
  readonly instance: Instance;
  readonly turn: Turn;
}

const NO_ENTRIES: StreamSize = { entries: 0, bytes: 0 };
const RELAY_PAGE_ENTRIES = 200;
/** Number of retained entries above which a new owner loads an actor once, so that the old entries get trimmed. */
const MAX_LEFTOVER_ENTRIES = 100;

export class Partition implements Sender {
  readonly name: string;
  readonly epoch: number;
  readonly #incarnation: string;
  readonly #ports: PartitionPorts;
  readonly #cache: ActorCache;
  readonly #retained: RetainedPartition;
  readonly #sourceReviews: SourceReviews;
  /** Actors with messages, and these messages; `undefined` for an actor whose mailbox must be read. */
  readonly #pending = new Map<ActorId, InlineRecord[] | undefined>();
  readonly #halted = new Set<ActorId>();
  /** Actors that have failed, and that try another turn when they are loaded again. */
  readonly #retries = new Map<ActorId, Retry>();
  /** Actors that an earlier owner halted. They run again, and their first commit removes the record of the halt. */
  #haltedBefore = new Set<ActorId>();
  readonly #deadlines = new ActorDeadlines();
  /** Actors with unfinished work. Each runs when it is due, whether it has messages or not. */
  readonly #unfinished = new Set<ActorId>();
  /** Actors to load once, so that their leftover entries get trimmed. */
  readonly #toTrim: ActorId[] = [];
  #scannedOnce = false;
  #mustScan = true;
  readonly #loading = new Map<ActorId, Promise<void>>();
  /** Actors that had work again while they were being loaded. */
  readonly #awaited = new Set<ActorId>();
  /** Snapshots and evictions in progress. */
  #upkeep: Promise<void> | undefined;
  /** Snapshots before a move, in progress. */
  #preparing: Promise<void> | undefined;
  #isMoveUrgent = false;
  /** Actors of the maintenance rounds that came while the snapshots of another were in progress. */
  readonly #postponed = new Set<ActorId>();
  #endReason: unknown;
  #ended = false;
  #onScanned: () => void = () => undefined;
  /** Resolves after the first scan, or when the ownership ends. */
  readonly scanned = new Promise<void>((resolve) => {
    this.#onScanned = resolve;
  });
  /** Called when an actor may have work, and when the ownership ends. */
  onChange: () => void = () => undefined;

  constructor({ name, epoch, incarnation }: PartitionLease, ports: PartitionPorts) {
    this.name = name;
    this.epoch = epoch;
    this.#incarnation = incarnation;
    this.#ports = ports;
    this.#retained = ports.retention.open();
    this.#sourceReviews = new SourceReviews(ports.log, ports.clock, ports.reviewLimits);
    this.#cache = new ActorCache(ports.clock, ports.snapshotLimits, this.#retained);
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
    this.#onScanned();
    this.#retained.close();
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
    if (this.#mustScan || (this.nextDeadline() ?? Infinity) <= nowMs) return true;
    for (const actor of this.#pending.keys()) if (!this.#unfinished.has(actor)) return true;
    return false;
  }

  /** Number of messages that the next step can take, of which an unread mailbox counts as one. */
  get waiting(): number {
    let waiting = 0;
    if (this.#ended) return waiting;
    for (const [actor, inline] of this.#pending)
      if (!this.#unfinished.has(actor)) waiting += inline?.length ?? 1;
    return waiting;
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
    const { log } = this.#ports;
    try {
      // The steps of all partitions wait for a scan, so its reads are sent at once.
      const [statuses, halted] = await Promise.all([
        log.scan(this.name),
        this.#scannedOnce ? undefined : log.halted(),
      ]);
      for (const { actor, waiting } of statuses) {
        if (waiting > 0 && !this.#halted.has(actor)) this.#pending.set(actor, undefined);
      }
      if (halted !== undefined) await this.#recoverFrom(statuses, [...halted.keys()]);
      this.#onScanned();
    } catch (error) {
      this.end(error);
    }
  }

  async #recoverFrom(statuses: readonly ActorStatus[], haltedBefore: readonly ActorId[]): Promise<void> {
    this.#scannedOnce = true;
    this.#haltedBefore = new Set(haltedBefore);
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
      if (found === undefined || found.gap) {
        // A late mark of the previous owner may have let the log remove entries that are relayed.
        const [{ relayed } = head] = await log.heads(this.name, [actor]);
        if (relayed > seq) {
          seq = relayed;
          continue;
        }
      }
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
        relay.enqueue(this, actor, stored.seq, outgoing.map(packDispatch));
        seq = stored.seq;
      }
    }
  }

  /**
   * Takes at most `limit` actors that are due, and as many that have messages, and returns those that are in memory. The
   * others are loaded in the background, and have work again when they are in memory. An actor that may not run keeps its
   * work, and the messages of an actor with unfinished work wait.
   */
  takeReady(limit: number, mayRun: (actor: ActorId) => boolean): readonly ReadyActor[] {
    const selected = new Map<ActorId, InlineRecord[] | undefined>();
    for (const actor of this.#deadlines.due(this.#ports.clock.now(), limit))
      if (mayRun(actor)) selected.set(actor, this.#pending.has(actor) ? this.#pending.get(actor) : []);
    let withMessages = 0;
    for (const [actor, inline] of this.#pending) {
      if (withMessages >= limit) break;
      if (this.#unfinished.has(actor) || !mayRun(actor)) continue;
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
      else if (this.#loading.has(actor)) this.#awaitLoading(actor);
      else if (!this.#halted.has(actor)) missing.push(actor);
    }
    if (missing.length > 0) this.#beginLoading(missing);
    return ready;
  }

  /** Lets an actor that has work run when it is loaded. It is not due meanwhile: the steps would not let the load go on. */
  #awaitLoading(actor: ActorId): void {
    this.#awaited.add(actor);
    this.#deadlines.set(actor, undefined);
  }

  #beginLoading(actors: readonly ActorId[]): void {
    const deadlines = new Map(actors.map((actor) => [actor, this.#deadlines.get(actor)]));
    // An actor without a deadline is not due again while it is loading.
    for (const actor of actors) this.#deadlines.set(actor, undefined);
    const loading = this.#load(deadlines)
      .catch((error: unknown) => this.end(error))
      .finally(() => {
        for (const actor of actors) if (this.#loading.get(actor) === loading) this.#loading.delete(actor);
      });
    for (const actor of actors) {
      this.#awaited.delete(actor);
      this.#loading.set(actor, loading);
    }
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
          const [{ instance, head }, [size]] = await Promise.all([
            loadActor(this.#ports, this.name, actor),
            this.#ports.log.sizes(this.name, [actor]),
          ]);
          instance.adoptHead(head.cursor, deadline);
          instance.adoptLineage(head.lineage, this.#incarnation);
          const retry = this.#retries.get(actor);
          if (retry !== undefined) instance.tryAgain(retry);
          this.#retries.delete(actor);
          this.#cache.add(instance, head, size?.deltas ?? NO_ENTRIES);
          this.#loading.delete(actor);
          this.#deadlines.set(actor, deadline);
          this.markUnread(actor);
        } catch (error) {
          if (error instanceof RemovedActor) {
            // The notification of its restoration makes the actor pending again. It may have come during the load.
            this.#loading.delete(actor);
            if (this.#awaited.delete(actor)) this.markUnread(actor);
            return;
          }
          if (!(error instanceof CorruptLog)) throw error;
          this.halt(actor, error);
        }
      }),
    );
  }

  /** Bytes of the entries since its last snapshot, of the actor that has most. */
  get unsnapshottedBytes(): number {
    return this.#cache.mostBytesSinceSnapshot;
  }

  /** Returns the room that the filters of ids take in each actor in memory. */
  filterBytes(): readonly FilterBytes[] {
    return this.#cache.instances().map(({ filterBytes }) => filterBytes);
  }

  /** Returns an actor if it is in memory, and keeps it there until the step is committed. */
  hold(actor: ActorId): Instance | undefined {
    return this.#cache.hold(actor);
  }

  /** Begins a step, while the commit of the one before may be on its way. */
  stepBegins(): void {
    this.#cache.stepBegins();
  }

  /** Releases the actors that the earliest step held. */
  stepEnded(): void {
    this.#cache.stepEnded();
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

  /**
   * Records that a turn of an actor is committed. An actor with unfinished work is due at `resumesAtMs`. An actor that a
   * later turn has halted stays halted, and is not due.
   */
  committed({ instance, turn }: CommittedTurn, resumesAtMs: number): void {
    const actor = instance.id;
    if (this.#halted.has(actor)) return;
    const { entry } = turn.change;
    if (turn.entry !== undefined && entry !== undefined)
      this.#cache.used(actor, turn.entry.seq, entry.length);
    if (instance.isBusy) this.#unfinished.add(actor);
    else this.#unfinished.delete(actor);
    this.#deadlines.set(actor, instance.isBusy ? resumesAtMs : instance.deadline);
    if (this.#haltedBefore.delete(actor)) this.#recordHalt(actor, undefined);
  }

  /** Discards the state of an actor that has failed on a message in quarantine. The actor is loaded again at once. */
  reload(instance: Instance, error: Error): void {
    const actor = instance.id;
    this.#ports.logger.error(
      { err: error, actor },
      "a message is in the quarantine, because its actor failed",
    );
    this.discard(instance);
    if (this.#haltedBefore.delete(actor)) this.#recordHalt(actor, undefined);
  }

  /** Discards the state of an actor whose turn has failed as a whole, so that the actor is loaded again and tries another. */
  tryAgain(instance: Instance, retry: Retry): void {
    const actor = instance.id;
    const fields = { err: retry.error, actor, messages: retry.most };
    this.#ports.logger.warn(fields, "an actor has failed after its decisions; it tries again");
    this.#retries.set(actor, retry);
    this.discard(instance);
  }

  /**
   * Discards an instance whose state is not the one in the log. The actor is loaded again at once, unless it has been since
   * or is being loaded.
   */
  discard(instance: Instance): void {
    if (!this.#cache.has(instance)) return;
    const actor = instance.id;
    this.#cache.remove(actor);
    this.#unfinished.delete(actor);
    if (!this.#halted.has(actor)) this.#deadlines.set(actor, 0);
  }

  /** Halts an actor for this ownership: it answers no command, and its mailbox fills. Other actors continue. */
  halt(actor: ActorId, error: Error): void {
    this.#ports.logger.error({ err: error, actor }, "an actor is halted");
    this.#halted.add(actor);
    this.#pending.delete(actor);
    this.#unfinished.delete(actor);
    this.#cache.remove(actor);
    this.#deadlines.set(actor, undefined);
    this.#recordHalt(actor, error.message);
  }

  #recordHalt(actor: ActorId, reason: string | undefined): void {
    this.#ports.log.markHalted(actor, reason).catch((error: unknown) => this.end(error));
  }

  /**
   * Trims old entries and takes the snapshots that are due. Runs beside the steps of the group. Never rejects; a failure
   * of the log ends the ownership.
   */
  async maintain(): Promise<void> {
    try {
      const round = this.#cache.nextRound();
      await this.#trimWindows(round);
      for (const actor of round) this.#postponed.add(actor);
      // An actor may have fallen far behind since the snapshot was asked for that this one or another waits for.
      if (this.#upkeep !== undefined && this.#cache.hasFarBehind) this.#ports.snapshots.hurry(false);
      this.#upkeep ??= this.#keepUp(this.#takePostponed()).finally(() => {
        this.#upkeep = undefined;
      });
      await this.#upkeep;
    } catch (error) {
      this.end(error);
    }
  }

  #takePostponed(): readonly ActorId[] {
    const actors = [...this.#postponed];
    this.#postponed.clear();
    return actors;
  }

  /** True when a new owner would load an actor at once. */
  get isInUse(): boolean {
    return this.#cache.size > 0 || this.#loading.size > 0 || this.#pending.size > 0;
  }

  /** True when a new owner would fold many entries of an actor. */
  get isSlowToMove(): boolean {
    return !this.#ended && this.#cache.dueBeforeMove().length > 0;
  }

  /**
   * Takes snapshots beside the steps, so that the next owner folds few entries before it answers. They rest unless the move
   * is urgent. A call during another one waits for the same snapshots, and may make them urgent. Never rejects; a failure of
   * the log ends the ownership.
   */
  prepareMove(isUrgent: boolean): Promise<void> {
    if (isUrgent && this.#preparing !== undefined) this.#ports.snapshots.hurry(true);
    this.#isMoveUrgent ||= isUrgent;
    this.#preparing ??= this.#prepareMove().finally(() => {
      this.#preparing = undefined;
      this.#isMoveUrgent = false;
    });
    return this.#preparing;
  }

  async #prepareMove(): Promise<void> {
    try {
      for (const actor of this.#cache.dueBeforeMove())
        if (!this.#ended) await this.#takeSnapshot(actor, { isForMove: true, isUrgent: this.#isMoveUrgent });
    } catch (error) {
      this.end(error);
    }
  }

  /**
   * Takes the snapshots that are due of a round of actors, trims old entries, forgets what has expired and evicts an idle
   * actor.
   */
  async #keepUp(round: readonly ActorId[]): Promise<void> {
    this.#cache.forgetExpired(round);
    await this.#reviewSources(round);
    for (const actor of this.#cache.dueForSnapshot(round)) {
      // Before a move an actor gets its snapshot from there, and two at once would remove each other's parts.
      if (!this.#ended && this.#preparing === undefined)
        await this.#takeSnapshot(actor, { isUrgent: this.#cache.isFarBehind(actor) });
    }
    await this.#evictIdle(round);
    const toTrim = this.#toTrim.shift();
    if (toTrim !== undefined) this.markUnread(toTrim);
  }

  /** Reviews the sources of a round of actors. No actor needs a review, so after a failure the next one tries again. */
  async #reviewSources(round: readonly ActorId[]): Promise<void> {
    try {
      for (const instance of this.#cache.instancesOf(round))
        if (!this.#ended) await this.#sourceReviews.review(instance);
    } catch (error) {
      const fields = { err: error, partition: this.name };
      if (!this.#ended)
        this.#ports.logger.warn(fields, "the sources of an actor are not reviewed; trying again");
    }
  }

  /**
   * Takes a snapshot, and trims the entries that are no longer needed. Returns its seq. An actor whose snapshot fails
   * continues without one, and its log grows until the next try.
   */
  async #takeSnapshot(
    actor: ActorId,
    options: Partial<Pick<SnapshotRequest, "both" | "isForMove" | "isUrgent">>,
  ): Promise<number | undefined> {
    const { log, snapshots, clock, formats = latestFormat, logger } = this.#ports;
    const { name: partition, epoch } = this;
    const { both = false, isForMove = false, isUrgent = false } = options;
    const [format, nowMs] = [formats.active(), clock.now()];
    const request = { partition, epoch, actor, format, nowMs, both, isForMove, isUrgent };
    this.#cache.snapshotBegins(actor);
    let taken: SnapshotTaken | undefined;
    try {
      taken = await snapshots.take(request);
    } catch (error) {
      const fields = { err: error, partition, actor };
      if (error instanceof CorruptLog && (await this.#confirmsOwnership()))
        logger.error(fields, "a snapshot cannot be taken from the log");
      else if (!this.#ended) logger.warn(fields, "a snapshot was not taken; it is tried again");
    }
    this.#cache.snapshotEnds(actor, taken);
    // Of an actor that leaves the memory, nobody resumes: both of its snapshots replace all entries.
    if (taken !== undefined) await log.trim(partition, [{ actor, seq: both ? taken.seq : 0 }]);
    return taken?.seq;
  }

  /** Evicts an idle actor. Its snapshots contain all of its entries, so that the log need not keep them. */
  async #evictIdle(round: readonly ActorId[]): Promise<void> {
    const isNeeded = (actor: ActorId): boolean => this.#deadlines.get(actor) !== undefined;
    const idle = this.#cache.findIdle(round, isNeeded);
    if (idle === undefined) return;
    const actor = idle.id;
    if (idle.seq > 0 && (await this.#takeSnapshot(actor, { both: true })) === undefined) return;
    if (this.#cache.isIdle(actor) && !isNeeded(actor)) this.#cache.remove(actor);
  }

  /**
   * Returns false, and ends the ownership, when another worker has had the partition since. What this worker reads of the
   * log then means nothing, because the next owner trims it.
   */
  async #confirmsOwnership(): Promise<boolean> {
    const ownerships = [{ partition: this.name, epoch: this.epoch }];
    const outcome = await this.#ports.log.commit({ ownerships, changes: [] });
    if (outcome.kind !== "fenced") return true;
    this.end(new OwnershipLost(`${this.name} had another owner`));
    return false;
  }

  /** Removes the entries of a round of actors that have left their resume windows. */
  async #trimWindows(round: readonly ActorId[]): Promise<void> {
    const windows = [...this.#retained.takeMoved(round)].map(([actor, seq]) => ({ actor, seq }));
    if (windows.length > 0) await this.#ports.log.trim(this.name, windows);
  }
}

function missingEntries(actor: ActorId, seq: number): CorruptLog {
  return new CorruptLog(`${actor}: the entries after ${seq} are missing, and were not relayed`);
}
