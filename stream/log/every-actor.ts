/**
 * Feeds a read model with the entries of all actors. A batch has entries of several actors; the entries of each actor
 * are in order and without a gap.
 */

import { type ActorId, byPartition, partitionOf, PARTITIONS } from "../../actors/actor.js";
import { type Clock, sleep } from "./clock.js";
import type { InlineRecord, Listener, Log, Notification, StoredEntry } from "./log.js";
import type { Logger } from "./logger.js";
import { commonSeq, NOWHERE, type Position } from "./lineage.js";
import { continues, CorruptLog, parseEntry } from "./packing.js";
import type { Entry } from "./ports.js";

export interface EveryActorOptions {
  /** The position of the read model in each of some actors. */
  readonly cursors: ReadonlyMap<ActorId, Position>;
  /**
   * Returns the positions of other actors, which the log names later; an actor without one, such as a new one, begins at
   * its first entry (default: all of them do).
   */
  readonly positionsOf?: (actors: readonly ActorId[]) => Promise<ReadonlyMap<ActorId, Position>>;
  /**
   * Stores the next entries. The next call waits for the promise; when the promise rejects, the same entries are
   * delivered again after a pause.
   */
  readonly onEntries: (entries: readonly Entry[]) => Promise<void>;
  /**
   * Called when the log has no entry that follows the cursor of an actor: the entries were trimmed, or the log has lost
   * entries that the read model has. The actor is no longer followed.
   */
  readonly onGap: (actor: ActorId, afterSeq: number) => void;
  /** Called when an entry cannot be read, such as one of a newer build. The actor is no longer followed. */
  readonly onUnreadable: (actor: ActorId, error: CorruptLog) => void;
  /** The partitions to follow (default all). */
  readonly partitions?: readonly string[] | undefined;
  /** Approximate maximum of entries in one call (default 4,000). */
  readonly batchEntries?: number | undefined;
}

interface Ports {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
}

const BATCH_ENTRIES = 4_000;
/** Size of the entries at which a batch ends, in characters. A batch exceeds it by one read at most. */
const BATCH_LENGTH = 8_000_000;
const MIN_PAGE = 10;
const MAX_PAGE = 500;
const RETRY_MS = 250;

export class EveryActor {
  readonly #ports: Ports;
  readonly #onStopped: () => void;
  readonly #options: EveryActorOptions & { readonly batchEntries: number };
  /** Position after the last entry of each actor that is gathered or delivered. */
  readonly #cursors: Map<ActorId, Position>;
  /** Entries of the next batch, and their size in characters. */
  #gathered: Entry[] = [];
  #gatheredLength = 0;
  /** Size of an entry, on average over the last batch, in characters. The first batch is expected to have large ones. */
  #meanLength = BATCH_LENGTH / 500;
  /** Actors that are no longer followed: the log has no entry that follows their cursor, or none that can be read. */
  readonly #dropped = new Set<ActorId>();
  /** Actors with entries to read, by commit group. */
  readonly #dirty = new Map<string, Set<ActorId>>();
  readonly #toScan = new Set<string>();
  /** The partition whose heads are being compared with the cursors. */
  #scanning: string | undefined;
  readonly #listener: Listener;
  readonly #loop: Promise<void>;
  #wake: () => void = () => undefined;
  #stopped = false;

  /** `onStopped` is called once it has stopped. */
  constructor(ports: Ports, options: EveryActorOptions, onStopped: () => void) {
    this.#ports = ports;
    this.#onStopped = onStopped;
    this.#options = { ...options, batchEntries: options.batchEntries ?? BATCH_ENTRIES };
    this.#cursors = new Map(options.cursors);
    this.#listener = ports.log.listen("deltas", (notification) => this.#onNotification(notification));
    this.#listener.watch(options.partitions ?? PARTITIONS);
    this.#loop = this.#run();
  }

  #onNotification({ partition, notices, scanAll }: Notification): void {
    if (scanAll) this.#toScan.add(partition);
    for (const { actor, inline } of notices) {
      // Until the scan, the read model may have entries that the log has lost.
      const isCompared = !this.#toScan.has(partition) && this.#scanning !== partition;
      const mustRead = inline === undefined || !isCompared;
      if (mustRead || !this.#acceptInline(actor, inline)) this.#markDirty(actor);
    }
    this.#wake();
  }

  /** Gathers an entry from a notification. Returns false when it must be read from the log instead. */
  #acceptInline(actor: ActorId, { position: seq, body }: InlineRecord): boolean {
    if (this.#isFull || (this.#options.positionsOf && !this.#cursors.has(actor))) return false;
    try {
      return this.#accept(actor, { seq, body });
    } catch (error) {
      if (error instanceof CorruptLog) return false;
      throw error;
    }
  }

  get #isFull(): boolean {
    return this.#gathered.length >= this.#options.batchEntries || this.#gatheredLength >= BATCH_LENGTH;
  }

  #cursorOf(actor: ActorId): Position {
    return this.#cursors.get(actor) ?? NOWHERE;
  }

  /** Loads the positions of the actors that have none in memory. */
  async #loadPositions(actors: readonly ActorId[]): Promise<void> {
    const { positionsOf } = this.#options;
    const unknown = actors.filter((actor) => !this.#cursors.has(actor));
    if (unknown.length === 0 || positionsOf === undefined) return;
    const positions = await positionsOf(unknown);
    for (const actor of unknown) this.#cursors.set(actor, positions.get(actor) ?? NOWHERE);
  }

  /** Forgets the positions of actors. If the log names one of them later, its position is loaded again. */
  forget(actors: readonly ActorId[]): void {
    if (this.#options.positionsOf === undefined) return;
    for (const actor of actors) this.#cursors.delete(actor);
  }

  /** Gathers an entry, unless it was gathered before. Returns false when an entry before it is missing. */
  #accept(actor: ActorId, stored: StoredEntry): boolean {
    const { seq: last, lineage } = this.#cursorOf(actor);
    if (stored.seq <= last) return true;
    if (this.#dropped.has(actor)) return false;
    // The log has only entries of this actor, so their deltas are of its type.
    const entry = parseEntry(actor, stored) as unknown as Entry;
    if (!continues(entry, last)) return false;
    this.#gathered.push(entry);
    this.#gatheredLength += stored.body.length;
    this.#cursors.set(actor, { seq: stored.seq, lineage: entry.resumed?.lineage ?? lineage });
    return true;
  }

  #markDirty(actor: ActorId): void {
    if (this.#dropped.has(actor)) return;
    const group = this.#ports.log.commitGroupOf(partitionOf(actor));
    const dirty = this.#dirty.get(group);
    if (dirty === undefined) this.#dirty.set(group, new Set([actor]));
    else dirty.add(actor);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (this.#gathered.length === 0 && this.#dirty.size === 0 && this.#toScan.size === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      try {
        await this.#scan();
        await this.#read();
      } catch (error) {
        this.#ports.logger.warn({ err: error }, "cannot read the deltas of all actors; trying again");
        await sleep(this.#ports.clock, RETRY_MS);
      }
      const entries = this.#gathered;
      if (entries.length > 0) this.#meanLength = Math.max(1, this.#gatheredLength / entries.length);
      this.#gathered = [];
      this.#gatheredLength = 0;
      if (entries.length > 0) await this.#deliver(entries);
    }
  }

  async #scan(): Promise<void> {
    if (this.#toScan.size === 0) return;
    const known = byPartition(this.#cursors.keys());
    for (const partition of [...this.#toScan]) {
      // A notification that comes during the scan may ask for another one.
      this.#toScan.delete(partition);
      this.#scanning = partition;
      try {
        await this.#scanPartition(partition, known.get(partition) ?? []);
      } catch (error) {
        this.#toScan.add(partition);
        throw error;
      } finally {
        this.#scanning = undefined;
      }
    }
  }

  /** Compares the heads of the actors of a partition with the cursors. `known` has the actors with a cursor. */
  async #scanPartition(partition: string, known: readonly ActorId[]): Promise<void> {
    const { log } = this.#ports;
    const statuses = await log.scan(partition);
    await this.#loadPositions(statuses.map(({ actor }) => actor));
    const named = new Set(statuses.map(({ actor }) => actor));
    // An actor that the log does not name was removed, and the log keeps its head, or the log has lost all of its entries.
    const others = known.filter((actor) => !named.has(actor));
    const heads = others.length === 0 ? [] : await log.heads(partition, others);
    for (const { actor, head } of statuses) this.#compare(actor, head);
    for (const [index, actor] of others.entries())
      if (this.#cursors.has(actor)) this.#compare(actor, heads[index] ?? NOWHERE);
  }

  /** Marks an actor that has entries after its cursor, and drops one whose log has none that follows it. */
  #compare(actor: ActorId, head: Position): void {
    const cursor = this.#cursorOf(actor);
    if (commonSeq(head, cursor) !== cursor.seq) this.#dropAtGap(actor);
    else if (head.seq > cursor.seq) this.#markDirty(actor);
  }

  #dropAtGap(actor: ActorId): void {
    if (this.#dropped.has(actor)) return;
    this.#dropped.add(actor);
    this.#options.onGap(actor, this.#cursorOf(actor).seq);
  }

  /** Reads the entries of the dirty actors. After a failure the actors stay dirty. */
  async #read(): Promise<void> {
    const dirty = [...this.#dirty.values()].reduce((sum, actors) => sum + actors.size, 0);
    // One read returns a page of each of its actors, and all of it is in memory at once.
    const room = Math.min(this.#options.batchEntries, Math.ceil(BATCH_LENGTH / this.#meanLength));
    const page = Math.min(MAX_PAGE, room, Math.max(MIN_PAGE, Math.floor(room / Math.max(1, dirty))));
    for (const [group, actors] of [...this.#dirty]) {
      this.#dirty.delete(group);
      const unread = [...actors];
      try {
        while (unread.length > 0 && !this.#isFull) {
          await this.#readGroup(unread.slice(0, Math.ceil(room / page)), page);
          unread.splice(0, Math.ceil(room / page));
        }
      } finally {
        for (const actor of unread) this.#markDirty(actor);
      }
    }
  }

  async #readGroup(actors: readonly ActorId[], page: number): Promise<void> {
    await this.#loadPositions(actors);
    const reads = actors.map((actor) => ({
      partition: partitionOf(actor),
      actor,
      afterSeq: this.#cursorOf(actor).seq,
    }));
    for (const { actor, entries } of await this.#ports.log.readEntries(reads, page)) {
      try {
        if (!entries.every((stored) => this.#accept(actor, stored))) {
          this.#dropAtGap(actor);
          continue;
        }
      } catch (error) {
        if (!(error instanceof CorruptLog)) throw error;
        this.#dropped.add(actor);
        this.#options.onUnreadable(actor, error);
        continue;
      }
      if (entries.length === page) this.#markDirty(actor);
    }
  }

  /** Delivers a batch, and repeats it until the read model has stored it. */
  async #deliver(entries: readonly Entry[]): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#options.onEntries(entries);
        return;
      } catch (error) {
        this.#ports.logger.warn(
          { err: error, entries: entries.length },
          "the read model did not store a batch; it is delivered again",
        );
        await sleep(this.#ports.clock, RETRY_MS);
      }
    }
  }

  /** Stops after the current batch. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#listener.close();
    this.#wake();
    await this.#loop;
    this.#onStopped();
  }
}
