/**
 * The durable log under the actors: mailboxes of commands, streams of deltas, and the little that is kept beside
 * them. `redis.ts` is the real one, `memory.ts` the one of tests and simulations; one conformance suite binds both.
 * Bodies are opaque strings here; `packing.ts` knows what is in them.
 *
 * Every operation but the readers' may reject after a lost connection or a time-out. A rejection means "unknown":
 * the operation may have happened, may yet happen, or never will. Nothing here resends by itself.
 */

import type { ActorId } from "../../actors/actor.js";

/** A message for an actor's mailbox. */
export interface Delivery {
  readonly to: ActorId;
  readonly body: string;
}

/** A message in a mailbox. Ids are `0-1`, `0-2`, ...: contiguous for the life of the actor. */
export interface Message {
  readonly id: string;
  readonly body: string;
}

/** A mailbox to read on, and the last message one has of it. */
export interface MailboxRead {
  readonly partition: string;
  readonly actor: ActorId;
  readonly after: string;
}

/** A delta stream to read on, and the last entry one has of it. */
export interface EntryRead {
  readonly partition: string;
  readonly actor: ActorId;
  readonly afterSeq: number;
}

/** The cursor of an actor that has applied no command yet. */
export const NO_CURSOR = "0-0";

/** The number in a mailbox id or cursor: how many messages there have been up to it. */
export function positionOf(id: string): number {
  return Number(id.slice(2));
}

export function cursorAt(position: number): string {
  return `0-${position}`;
}

/** Where an actor stands. All zero, and `0-0`, before its first command. */
export interface Head {
  /** The last committed entry. */
  readonly seq: number;
  /** The last applied message. */
  readonly cursor: string;
  /** Up to which entry the messages to other actors have been sent. */
  readonly relayed: number;
  /** Up to which entry the read model has been written. */
  readonly projected: number;
  /** The seq of the latest snapshot and of the one before it, 0 for none. */
  readonly snapshot: number;
  readonly previous: number;
}

/** What a new or lost owner of a partition has to know of each actor in it. */
export interface ActorStatus {
  readonly actor: ActorId;
  readonly head: Head;
  /** Messages in the mailbox: exactly those not applied. */
  readonly waiting: number;
  /** Entries still in the delta stream. */
  readonly retained: number;
  readonly deadlineMs: number | undefined;
}

/** A partition and the epoch under which its owner writes. */
export interface Ownership {
  readonly partition: string;
  readonly epoch: number;
}

/** One entry of an actor in a commit, or a step of its cursor. */
export interface Change {
  readonly partition: string;
  readonly actor: ActorId;
  readonly expectedSeq: number;
  /** Everything up to here has been applied and leaves the mailbox. */
  readonly cursor: string;
  /** The packed entry `expectedSeq + 1`; absent when only the cursor moves. */
  readonly entry?: string | undefined;
  /** When the actor's next tick is due: a time, `null` for never, absent when that has not changed. */
  readonly deadlineMs?: number | null | undefined;
  /** Whether nothing that follows from the actor's entries, this one included, has yet to be sent. */
  readonly relayed?: boolean | undefined;
}

/** What is told to whoever hears a feed. */
export interface Publication {
  readonly feed: string;
  readonly body: string;
}

/** What is written as a whole, in partitions of one domain. */
export interface Commit {
  /** Every partition that is changed, at least. */
  readonly ownerships: readonly Ownership[];
  /** In the order in which they follow from each other: an actor may come again, with its next entry. */
  readonly changes: readonly Change[];
  /** Told when it is written. */
  readonly publications?: readonly Publication[] | undefined;
}

export type CommitOutcome =
  | { readonly kind: "ok" }
  /** This partition has another owner. Nothing was written. */
  | { readonly kind: "fenced"; readonly partition: string }
  /** This actor is not at the expected seq. Nothing was written. */
  | { readonly kind: "conflict"; readonly actor: ActorId };

export interface StoredEntry {
  readonly seq: number;
  readonly body: string;
}

export interface EntriesOf {
  readonly actor: ActorId;
  /** Contiguous and rising. */
  readonly entries: readonly StoredEntry[];
  /** Entries right after the asked seq have been trimmed away; `entries` begins after the hole. */
  readonly gap: boolean;
}

export interface Snapshot {
  readonly seq: number;
  readonly cursor: string;
  /** Of `body`, sha256 in hex. */
  readonly hash: string;
  readonly body: string;
}

/** A position to remember for an actor; it never goes back. */
export interface Mark {
  readonly actor: ActorId;
  readonly seq: number;
}

export type TakeOutcome =
  | { readonly kind: "taken"; readonly epoch: number }
  /** A live worker still holds it. */
  | { readonly kind: "held"; readonly owner: string };

/** Which of a domain's two bells: one rings on new commands, one on new deltas. */
export type NotificationKind = "commands" | "deltas";

/** What a ring says of one actor: what it got, when that is short; otherwise only that it got something. */
export interface ActorNotice {
  readonly actor: ActorId;
  /** The message or entry, at its position in the mailbox or the delta stream. */
  readonly inline?: InlineRecord | undefined;
}

export interface InlineRecord {
  readonly position: number;
  readonly body: string;
}

export interface Notification {
  readonly partition: string;
  /** In order; an actor may come several times. */
  readonly notices: readonly ActorNotice[];
  /** The listener has just begun, or has missed rings: anything in the partition may have changed. */
  readonly scanAll: boolean;
}

export interface Listener {
  /** The partitions to hear from now on. A new one is reported with `lookAtAll` once it is heard. */
  watch(partitions: readonly string[]): void;
  close(): Promise<void>;
}

/** What a feed gives: messages, in order where there is one server, and a word when some may have been missed. */
export interface FeedReader {
  onBody(body: string): void;
  onMissed(): void;
}

export interface Subscription {
  close(): Promise<void>;
}

export interface Log {
  /** The domain of a partition: what is in one domain can be read and committed together. */
  commitGroupOf(partition: string): string;

  /**
   * Appends messages to mailboxes of one partition and rings its command bell once. With a `capacity`, messages for
   * a mailbox that holds as many are refused; the answer says of each message whether it was taken.
   */
  append(partition: string, deliveries: readonly Delivery[], capacity?: number): Promise<readonly boolean[]>;
  /** The next messages of several mailboxes of a domain after their cursors, at most `limit` of each. */
  readMailboxes(
    reads: readonly MailboxRead[],
    limit: number,
  ): Promise<ReadonlyMap<ActorId, readonly Message[]>>;
  /** Every actor of the partition that ever got a message. */
  scan(partition: string): Promise<readonly ActorStatus[]>;
  heads(partition: string, actors: readonly ActorId[]): Promise<readonly Head[]>;

  /** Writes all changes or none, and rings the delta bell once. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /**
   * The next entries of several actors of a domain after a seq, at most `limit` of each. Actors without new ones are
   * absent.
   */
  readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]>;
  markRelayed(partition: string, marks: readonly Mark[]): Promise<void>;
  markProjected(partition: string, marks: readonly Mark[]): Promise<void>;
  /**
   * Forgets entries below `seq`, but never one that the previous snapshot, the relay or the projector still needs,
   * and never the last one.
   */
  trim(partition: string, actor: ActorId, seq: number): Promise<void>;

  /** Keeps a snapshot, and the one before it. False, and nothing is kept, when fenced or older than the latest. */
  writeSnapshot(partition: string, epoch: number, actor: ActorId, snapshot: Snapshot): Promise<boolean>;
  readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined>;

  /** Tells that a worker lives, by the log's own clock, and gives all that did within `leaseMs`. */
  heartbeat(worker: string, leaseMs: number): Promise<readonly string[]>;
  leave(worker: string): Promise<void>;
  /** Takes a partition from nobody, from itself, or from a worker that is not in `live`; with `force` from anyone. */
  take(partition: string, worker: string, live: readonly string[], force: boolean): Promise<TakeOutcome>;
  /** Gives the partition up, if it is still held with this epoch; the epoch is spent. */
  release(partition: string, epoch: number): Promise<void>;

  listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener;
  /** Hears a feed from now on; resolves once it does. Nothing is kept for those who do not hear it. */
  subscribe(feed: string, reader: FeedReader): Promise<Subscription>;
  /** Tells those who hear a feed. One that is too slow, or loses its connection, misses messages and is told so. */
  publish(publication: Publication): Promise<void>;

  /** Remembers why an actor was stopped; `undefined` forgets it. */
  markHalted(actor: ActorId, reason: string | undefined): Promise<void>;
  halted(): Promise<ReadonlyMap<ActorId, string>>;
  /** Sets facts of the installation that are not set yet, and gives all that are. */
  installation(facts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  /** How much of the memory it may use is used, 0 to 1; 0 when there is no limit. */
  memoryUse(): Promise<number>;

  /** Calls whenever the connection was lost: what one remembers of the log may be ahead of it. */
  onLost(listener: () => void): () => void;
  close(): Promise<void>;
}
