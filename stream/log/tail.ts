/**
 * Reading the delta streams of actors as they grow: one listener per process for all that are followed, every entry
 * parsed once and handed to everybody who follows its actor.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Clock } from "./clock.js";
import { sleep } from "./clock.js";
import { EveryActor, type EveryActorOptions } from "./every-actor.js";
import type { InlineRecord, Listener, Log, Notification, StoredEntry } from "./log.js";
import type { Logger } from "./logger.js";
import { CorruptLog, parseEntry } from "./packing.js";
import { loadActor } from "../runtime/recovery.js";
import type { ActorOf } from "../runtime/instance.js";
import type { AnyDelta, Entry, Tail } from "./ports.js";

export interface TailOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly actorOf: ActorOf;
}

const PAGE = 500;
const RETRY_MS = 100;

interface Follower {
  afterSeq: number;
  readonly onEntries: (entries: readonly Entry[]) => void;
  readonly onGap: () => void;
}

/** An actor and those who follow it. */
class Followed {
  readonly followers = new Set<Follower>();

  /** What has to be read for the follower that is furthest behind. */
  get afterSeq(): number {
    return Math.min(...[...this.followers].map(({ afterSeq }) => afterSeq));
  }
}

export class LogTail implements Tail {
  readonly #options: TailOptions;
  readonly #followed = new Map<string, Map<ActorId, Followed>>();
  /** By domain, whose actors have something new. */
  readonly #dirty = new Map<string, Set<ActorId>>();
  /** Partitions whose actors may have gone back. */
  readonly #checkHeads = new Set<string>();
  /** By domain. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #everyActor = new Set<EveryActor>();
  #pendingNotifications: Notification[] = [];
  readonly #listener: Listener;
  #closed = false;

  constructor(options: TailOptions) {
    this.#options = options;
    this.#listener = options.log.listen("deltas", (notification) => this.#onNotification(notification));
  }

  follow<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    onEntries: (entries: readonly Entry<Delta>[]) => void,
    onGap: () => void,
  ): () => void {
    const partition = partitionOf(actor);
    // Whoever follows an actor knows which deltas it has.
    const follower: Follower = { afterSeq, onEntries: onEntries as Follower["onEntries"], onGap };
    let actors = this.#followed.get(partition);
    if (actors === undefined) {
      actors = new Map();
      this.#followed.set(partition, actors);
      this.#listener.watch([...this.#followed.keys()]);
    }
    let followed = actors.get(actor);
    if (followed === undefined) {
      followed = new Followed();
      actors.set(actor, followed);
    }
    followed.followers.add(follower);
    this.#markDirty(actor);
    return () => this.#unfollow(partition, actor, follower);
  }

  /** Whether the followers have an entry that came with a ring. */
  #deliverInline(
    partition: string,
    followed: Followed,
    actor: ActorId,
    { position: seq, body }: InlineRecord,
  ): boolean {
    if (seq !== followed.afterSeq + 1) return seq <= followed.afterSeq;
    try {
      this.#deliver(partition, actor, [{ seq, body }]);
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

  /** Rings wait for the loop to turn: an answer that was heard before them is on its way by then. */
  #onNotification(notification: Notification): void {
    this.#pendingNotifications.push(notification);
    if (this.#pendingNotifications.length > 1) return;
    setImmediate(() => {
      const notifications = this.#pendingNotifications;
      this.#pendingNotifications = [];
      if (this.#closed) return;
      for (const one of notifications) this.#handle(one);
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
      // Whether a follower is ahead of the log must be known before it is given more.
      const isRead = inline === undefined || this.#checkHeads.has(partition);
      if (isRead || !this.#deliverInline(partition, followed, actor, inline)) this.#markDirty(actor);
    }
  }

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
    // Everything that is followed or rings in this turn of the loop is read together.
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
        this.#options.logger.warn({ err: error, domain: group }, "cannot read deltas, trying again");
        await sleep(this.#options.clock, RETRY_MS);
      }
    }
    this.#dirty.delete(group);
  }

  /** A follower that is ahead of the log has seen what a crash of the log took back. */
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
    for (const { actor, entries: stored } of await this.#options.log.readEntries(reads, PAGE)) {
      const partition = partitionOf(actor);
      const first = stored[0]?.seq ?? 0;
      this.#stopFollowers(partition, actor, ({ afterSeq }) => afterSeq + 1 < first);
      this.#deliver(partition, actor, stored);
      if (stored.length === PAGE) this.#markDirty(actor);
    }
  }

  #deliver(partition: string, actor: ActorId, stored: readonly StoredEntry[]): void {
    // What the log gives is of this actor, whose followers know its deltas.
    const entries = stored.map((entry) => parseEntry(actor, entry)) as unknown as Entry[];
    const last = entries.at(-1)?.seq ?? 0;
    for (const follower of this.#followed.get(partition)?.get(actor)?.followers ?? []) {
      if (follower.afterSeq >= last) continue;
      const news = entries.filter(({ seq }) => seq > follower.afterSeq);
      follower.afterSeq = last;
      this.#callFollower(actor, () => follower.onEntries(news));
    }
  }

  /** A follower that throws must not keep the others from being told. */
  #callFollower(actor: ActorId, publish: () => void): void {
    try {
      publish();
    } catch (error) {
      this.#options.logger.error({ err: error, actor }, "a follower failed");
    }
  }

  async head(actor: ActorId): Promise<number> {
    const [head] = await this.#options.log.heads(partitionOf(actor), [actor]);
    return head?.seq ?? 0;
  }

  /**
   * The state of an actor as the log has it now, and the seq it is at: what `follow` can go on from. To miss
   * nothing, follow first and drop what is at or below this seq. The state belongs to the caller.
   */
  async loadState(actor: ActorId): Promise<{ readonly state: unknown; readonly seq: number }> {
    const { log, actorOf, logger } = this.#options;
    const { instance } = await loadActor(log, partitionOf(actor), actorOf(actor), actor, logger);
    return { state: instance.state, seq: instance.seq };
  }

  /** Follows every actor there is and will be, for a read model; see `EveryActorOptions`. */
  everyActor(options: EveryActorOptions): EveryActor {
    const follower = new EveryActor(this.#options, options);
    this.#everyActor.add(follower);
    return follower;
  }

  /** Tells the log that the read model has everything of these actors up to these seqs, so that it may be trimmed. */
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
