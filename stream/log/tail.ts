/**
 * Follows the delta streams of actors. A process has one `LogTail`, which parses every entry once and passes it to all
 * followers of its actor.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import { type Clock, sleep } from "./clock.js";
import { EveryActor, type EveryActorOptions } from "./every-actor.js";
import type { EntryRead, InlineRecord, Listener, Log, Notification, StoredEntry } from "./log.js";
import { NOWHERE, type Position } from "./lineage.js";
import type { Logger } from "./logger.js";
import { continues, CorruptLog, parseEntry } from "./packing.js";
import type { AnyDelta, EarlierEntry, Entry, Tail } from "./ports.js";

export interface TailOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PAGE_ENTRIES = 500;
const RETRY_MS = 100;

interface Follower {
  afterSeq: number;
  readonly onEntries: (entries: readonly Entry[]) => void;
  readonly onGap: () => void;
}

/** The followers of one actor. */
class ActorFollowers {
  readonly followers = new Set<Follower>();

  /** Seq of the follower that is furthest behind. */
  get afterSeq(): number {
    return Math.min(...[...this.followers].map(({ afterSeq }) => afterSeq));
  }
}

export class LogTail implements Tail {
  readonly #options: TailOptions;
  readonly #followed = new Map<string, Map<ActorId, ActorFollowers>>();
  /** Actors with entries to read, by commit group. */
  readonly #dirty = new Map<string, Set<ActorId>>();
  /** Partitions in which a crash of the log may have undone entries. */
  readonly #checkHeads = new Set<string>();
  /** The reads in progress, by commit group. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #everyActor = new Set<EveryActor>();
  /** Actors whose last entry could not be read, and why. */
  readonly #unreadable = new Map<ActorId, string>();
  #pendingNotifications: Notification[] = [];
  readonly #listener: Listener;
  #closed = false;

  constructor(options: TailOptions) {
    this.#options = options;
    this.#listener = options.log.listen("deltas", (notification) => this.#onNotification(notification));
  }

  /** Actors that this process does not follow, because an entry of theirs is of a newer build or corrupt, and why. */
  get unreadable(): ReadonlyMap<ActorId, string> {
    return this.#unreadable;
  }

  follow<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    onEntries: (entries: readonly Entry<Delta>[]) => void,
    onGap: () => void,
  ): () => void {
    const partition = partitionOf(actor);
    // The kind of the actor determines the type of its deltas, so the caller's `Delta` is the actual type.
    const follower: Follower = { afterSeq, onEntries: onEntries as Follower["onEntries"], onGap };
    let actors = this.#followed.get(partition);
    if (actors === undefined) {
      actors = new Map();
      this.#followed.set(partition, actors);
      this.#listener.watch([...this.#followed.keys()]);
    }
    let followed = actors.get(actor);
    if (followed === undefined) {
      followed = new ActorFollowers();
      actors.set(actor, followed);
    }
    followed.followers.add(follower);
    this.#markDirty(actor);
    return () => this.#unfollow(partition, actor, follower);
  }

  async read<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    throughSeq: number,
  ): Promise<readonly EarlierEntry<Delta>[] | undefined> {
    const read = { partition: partitionOf(actor), actor, afterSeq };
    const [found] = await this.#options.log.readEntries([read], throughSeq - afterSeq);
    const stored = (found?.entries ?? []).filter(({ seq }) => seq <= throughSeq);
    const [oldest] = stored;
    const first = oldest === undefined ? undefined : readableEntry(actor, oldest);
    const isWhole = first !== undefined && continues(first, afterSeq) && stored.at(-1)?.seq === throughSeq;
    const earlier = stored.map((entry) => ({
      bytes: entry.body.length,
      // The kind of the actor determines the type of its deltas, as in `follow`.
      parse: () => (entry === oldest ? first : readableEntry(actor, entry)) as Entry<Delta> | undefined,
    }));
    return isWhole ? earlier : undefined;
  }

  /** Passes an entry from a notification to the followers. Returns false when it must be read from the log instead. */
  #deliverInline(
    partition: string,
    followed: ActorFollowers,
    actor: ActorId,
    { position: seq, body }: InlineRecord,
  ): boolean {
    if (seq !== followed.afterSeq + 1) return seq <= followed.afterSeq;
    try {
      this.#deliver({ partition, actor, afterSeq: followed.afterSeq }, [{ seq, body }]);
      return true;
    } catch (error) {
      if (error instanceof CorruptLog) return false;
      throw error;
    }
  }

  #unfollow(partition: string, actor: ActorId, follower: Follower): void {
    const actors = this.#followed.get(partition);
    const followed = actors?.get(actor);
    if (actors === undefined || followed === undefined) return;
    followed.followers.delete(follower);
    if (followed.followers.size > 0) return;
    actors.delete(actor);
    this.#dirty.get(this.#options.log.commitGroupOf(partition))?.delete(actor);
    if (actors.size > 0) return;
    this.#followed.delete(partition);
    this.#listener.watch([...this.#followed.keys()]);
  }

  /** Handles notifications in the next turn of the event loop, after the answers that were published before them. */
  #onNotification(notification: Notification): void {
    this.#pendingNotifications.push(notification);
    if (this.#pendingNotifications.length > 1) return;
    setImmediate(() => {
      const notifications = this.#pendingNotifications;
      this.#pendingNotifications = [];
      if (this.#closed) return;
      for (const each of notifications) this.#handle(each);
    });
  }

  #handle({ partition, notices, scanAll }: Notification): void {
    const actors = this.#followed.get(partition);
    if (actors === undefined) return;
    if (scanAll) {
      this.#checkHeads.add(partition);
      for (const actor of actors.keys()) this.#markDirty(actor);
    }
    for (const { actor, inline } of notices) {
      const followed = actors.get(actor);
      if (followed === undefined) continue;
      // A follower may be ahead of the log until the heads are checked, and receives no entry before that.
      const mustRead = inline === undefined || this.#checkHeads.has(partition);
      if (mustRead || !this.#deliverInline(partition, followed, actor, inline)) this.#markDirty(actor);
    }
  }

  /** Marks an actor as having entries to read, and starts reading. */
  #markDirty(actor: ActorId): void {
    const group = this.#options.log.commitGroupOf(partitionOf(actor));
    const dirty = this.#dirty.get(group);
    if (dirty === undefined) this.#dirty.set(group, new Set([actor]));
    else dirty.add(actor);
    if (this.#reading.has(group) || this.#closed) return;
    const reading = this.#readGroup(group).finally(() => {
      this.#reading.delete(group);
    });
    this.#reading.set(group, reading);
  }

  async #readGroup(group: string): Promise<void> {
    // Waits for the other calls of this turn of the event loop, to read all their actors at once.
    await Promise.resolve();
    for (;;) {
      const dirty = this.#dirty.get(group);
      if (dirty === undefined || dirty.size === 0 || this.#closed) break;
      this.#dirty.set(group, new Set());
      try {
        for (const partition of this.#checkHeads) await this.#compareWithHeads(partition);
        await this.#read(dirty);
      } catch (error) {
        for (const actor of dirty) this.#dirty.get(group)?.add(actor);
        this.#options.logger.warn({ err: error, commitGroup: group }, "cannot read deltas; trying again");
        await sleep(this.#options.clock, RETRY_MS);
      }
    }
    this.#dirty.delete(group);
  }

  /** Stops the followers that are ahead of the log: they have received entries that a crash of the log undid. */
  async #compareWithHeads(partition: string): Promise<void> {
    const actors = [...(this.#followed.get(partition)?.keys() ?? [])];
    const heads = await this.#options.log.heads(partition, actors);
    this.#checkHeads.delete(partition);
    for (const [index, actor] of actors.entries()) {
      const seq = heads[index]?.seq ?? 0;
      this.#stopFollowers(partition, actor, ({ afterSeq }) => afterSeq > seq);
    }
  }

  #stopFollowers(partition: string, actor: ActorId, isLost: (follower: Follower) => boolean): void {
    for (const follower of this.#followed.get(partition)?.get(actor)?.followers ?? []) {
      if (!isLost(follower)) continue;
      this.#unfollow(partition, actor, follower);
      this.#callFollower(actor, follower.onGap);
    }
  }

  async #read(dirty: ReadonlySet<ActorId>): Promise<void> {
    const reads = [...dirty].flatMap((actor) => {
      const partition = partitionOf(actor);
      const followed = this.#followed.get(partition)?.get(actor);
      return followed === undefined ? [] : [{ partition, actor, afterSeq: followed.afterSeq }];
    });
    const found = await this.#options.log.readEntries(reads, PAGE_ENTRIES);
    const withEntries = new Set(found.map(({ actor }) => actor));
    await this.#findGone(reads.filter(({ actor }) => !withEntries.has(actor)));
    const readOf = new Map(reads.map((read) => [read.actor, read]));
    for (const { actor, entries: stored } of found) {
      const read = readOf.get(actor);
      if (read === undefined) continue;
      try {
        this.#deliver(read, stored);
      } catch (error) {
        if (!(error instanceof CorruptLog)) throw error;
        this.#reportUnreadable(actor, error);
        this.#stopFollowers(partitionOf(actor), actor, () => true);
        continue;
      }
      if (stored.length === PAGE_ENTRIES) this.#markDirty(actor);
    }
  }

  /**
   * Stops the followers of actors that were removed from the log since. The log has no entry of such an actor, also when
   * the actor is restored, until its next commit.
   */
  async #findGone(reads: readonly EntryRead[]): Promise<void> {
    const { log } = this.#options;
    const behind: (EntryRead & { readonly seq: number })[] = [];
    for (const partition of new Set(reads.map((read) => read.partition))) {
      const silent = reads.filter((read) => read.partition === partition);
      const heads = await log.heads(
        partition,
        silent.map(({ actor }) => actor),
      );
      for (const [index, read] of silent.entries()) {
        const { seq } = heads[index] ?? { seq: 0 };
        if (seq > read.afterSeq) behind.push({ ...read, seq });
      }
    }
    if (behind.length === 0) return;
    // Entries that were committed since the first read are read now.
    const committed = new Set((await log.readEntries(behind, 1)).map(({ actor }) => actor));
    for (const { partition, actor, afterSeq: readAfter, seq } of behind) {
      if (committed.has(actor)) this.#markDirty(actor);
      else this.#stopFollowers(partition, actor, ({ afterSeq }) => afterSeq >= readAfter && afterSeq < seq);
    }
  }

  #reportUnreadable(actor: ActorId, error: CorruptLog): void {
    if (this.#unreadable.has(actor)) return;
    this.#unreadable.set(actor, error.message);
    this.#options.logger.error(
      { err: error, actor },
      "an actor is not followed, because its entry is unreadable",
    );
  }

  /**
   * Delivers entries to the followers that they continue, and stops those that have other entries or lack some. A follower
   * from before the read came after it began, and has a read of its own.
   */
  #deliver({ partition, actor, afterSeq: readAfter }: EntryRead, stored: readonly StoredEntry[]): void {
    // The deltas are of the type that the followers of this actor expect; see `follow`.
    const entries = stored.map((entry) => parseEntry(actor, entry)) as unknown as Entry[];
    this.#unreadable.delete(actor);
    this.#stopFollowers(
      partition,
      actor,
      ({ afterSeq }) => afterSeq >= readAfter && lacksEntries(entries, afterSeq),
    );
    const last = entries.at(-1)?.seq ?? 0;
    for (const follower of this.#followed.get(partition)?.get(actor)?.followers ?? []) {
      if (follower.afterSeq < readAfter || follower.afterSeq >= last) continue;
      const unseen = entries.filter(({ seq }) => seq > follower.afterSeq);
      follower.afterSeq = last;
      this.#callFollower(actor, () => follower.onEntries(unseen));
    }
  }

  /** Calls a follower. Its error is logged, so that it does not stop the other followers. */
  #callFollower(actor: ActorId, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error(
        { err: error, actor },
        "a follower of an actor threw an error; the other followers continue",
      );
    }
  }

  /** Returns the position of an actor after its last committed entry. */
  async position(actor: ActorId): Promise<Position> {
    const [head] = await this.#options.log.heads(partitionOf(actor), [actor]);
    return head === undefined ? NOWHERE : { seq: head.seq, lineage: head.lineage };
  }

  async head(actor: ActorId): Promise<number> {
    return (await this.position(actor)).seq;
  }

  /** Follows all present and future actors, for a read model; see `EveryActorOptions`. */
  everyActor(options: EveryActorOptions): EveryActor {
    const follower = new EveryActor(this.#options, options, () => this.#everyActor.delete(follower));
    this.#everyActor.add(follower);
    return follower;
  }

  /** Records in the log that the read model has the entries up to these seqs, so that they may be trimmed. */
  async projected(cursors: Iterable<readonly [ActorId, number]>): Promise<void> {
    const byPartition = new Map<string, { actor: ActorId; seq: number }[]>();
    for (const [actor, seq] of cursors) {
      const partition = partitionOf(actor);
      const marks = byPartition.get(partition);
      if (marks === undefined) byPartition.set(partition, [{ actor, seq }]);
      else marks.push({ actor, seq });
    }
    await Promise.all(
      [...byPartition].map(([partition, marks]) => this.#options.log.markProjected(partition, marks)),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#listener.close();
    await Promise.all([...this.#everyActor].map((follower) => follower.stop()));
    await Promise.all(this.#reading.values());
  }
}

/**
 * Returns true when a follower that has the entries up to `afterSeq` has no place among these: some in between were
 * trimmed, or it has entries that the log lost before the first entry of an incarnation.
 */
function lacksEntries(entries: readonly Entry[], afterSeq: number): boolean {
  const [first] = entries;
  if (first === undefined) return false;
  if (afterSeq < first.seq) return !continues(first, afterSeq);
  return entries.some(
    ({ seq, resumed }) => resumed !== undefined && resumed.after < afterSeq && afterSeq < seq,
  );
}

/** Returns a parsed entry, or `undefined` when it is corrupt or of a newer build. */
function readableEntry(actor: ActorId, stored: StoredEntry): Entry<unknown> | undefined {
  try {
    return parseEntry(actor, stored);
  } catch (error) {
    if (error instanceof CorruptLog) return undefined;
    throw error;
  }
}
