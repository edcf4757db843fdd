/**
 * The durable log under the actors. Each actor has a mailbox, which is a stream of messages with commands, and a delta
 * stream, which is a stream of entries. The log also keeps the position of each actor in both streams, its snapshots
 * and its next deadline, and for each partition a lease.
 *
 * - Actors are in partitions. The owner of a partition is the only writer of its actors. Each ownership has an epoch,
 *   and a commit with an old epoch is rejected ("fenced").
 * - Partitions are in commit groups. One commit can write in all partitions of its group, and is written as a whole.
 * - Readers learn from notifications that a stream has grown. Notifications may be lost; the streams are the truth.
 *
 * Bodies of messages and entries are opaque strings here; `packing.ts` defines their content. `redis/redis-log.ts`
 * implements the log on Redis, `test/support/log/memory-log.ts` in memory, and one conformance suite tests both.
 *
 * A rejected promise means that the outcome is unknown: the operation may have taken effect, may still take effect, or
 * may never do so. `append` rejects with `WriteRefused` when it has certainly had no effect. The log repeats no operation by itself. Reads have no effect and are safe to repeat.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Position } from "./lineage.js";

/** A message to append to the mailbox of an actor. */
export interface Delivery {
  readonly to: ActorId;
  readonly body: string;
  /** Ownership under which a message of another actor is relayed. */
  readonly from?: Ownership | undefined;
}

/** A message in a mailbox. The ids of a mailbox are `0-1`, `0-2`, ..., without a gap for the life of the actor. */
export interface Message {
  readonly id: string;
  readonly body: string;
}

/** A mailbox to read, from the message after `after`. */
export interface MailboxRead {
  readonly partition: string;
  readonly actor: ActorId;
  readonly after: string;
}

/** A delta stream to read, from the entry after `afterSeq`. */
export interface EntryRead {
  readonly partition: string;
  readonly actor: ActorId;
  readonly afterSeq: number;
}

/** The cursor of an actor that has not applied a message. */
export const NO_CURSOR = "0-0";

/** Returns the position in a message id or cursor: the number of messages up to and including it. */
export function positionOf(id: string): number {
  return Number(id.slice(2));
}

/** Returns the message id at a position. */
export function cursorAt(position: number): string {
  return `0-${position}`;
}

/** Positions of an actor in its streams. Before its first command every number is 0 and the cursor is `0-0`. */
export interface Head {
  /** Seq of the last committed entry. */
  readonly seq: number;
  /** Id of the last applied message. */
  readonly cursor: string;
  /** Seq of the last entry whose messages to other actors have all been appended to their mailboxes. */
  readonly relayed: number;
  /** Seq of the last entry that the read model has stored. */
  readonly projected: number;
  /** Seq of the latest snapshot, 0 for none. */
  readonly snapshot: number;
  /** Seq of the snapshot before the latest, 0 for none. */
  readonly previous: number;
  /** The incarnations in which the actor has written; see `lineage.ts`. */
  readonly lineage: string;
  /** Hash of the last snapshot of a removed actor, which the log does not have any more; absent for a live actor. */
  readonly removed?: string | undefined;
}

/** The facts about an actor that a new owner of its partition needs. */
export interface ActorStatus {
  readonly actor: ActorId;
  readonly head: Head;
  /** Number of messages in the mailbox. An applied message leaves the mailbox, so all of them are still to apply. */
  readonly waiting: number;
  /** Number of entries in the delta stream that have not been trimmed. */
  readonly retained: number;
  /** Time of the next tick (Unix ms), if there is one. */
  readonly deadlineMs: number | undefined;
}

/** Size of a stream. */
export interface StreamSize {
  readonly entries: number;
  /** About the bytes that the entries take in the memory of the log. */
  readonly bytes: number;
}

/** Room that an actor takes in the log. */
export interface ActorSize {
  readonly deltas: StreamSize;
  readonly mailbox: StreamSize;
  /** About the bytes that both snapshots take, with their parts. */
  readonly snapshotBytes: number;
}

/** A partition, and the epoch under which its owner writes. */
export interface Ownership {
  readonly partition: string;
  readonly epoch: number;
}

/** One actor's part of a commit: its next entry, or a move of its cursor alone. */
export interface Change {
  readonly partition: string;
  readonly actor: ActorId;
  /** Seq of the actor before the change; at any other seq the commit is a conflict. */
  readonly expectedSeq: number;
  /** Id of the last applied message. All messages up to this id leave the mailbox. */
  readonly cursor: string;
  /** Packed entry; absent when only the cursor moves. Its seq is `expectedSeq + 1`, unless `resumed` names another. */
  readonly entry?: string | undefined;
  /** Set on the first entry of an incarnation: the seq of the entry, and the lineage from then on. */
  readonly resumed?: Position | undefined;
  /** Time of the actor's next tick (Unix ms), `null` for no tick, absent when unchanged. */
  readonly deadlineMs?: number | null | undefined;
  /** True when no entry of the actor, up to and including this one, has messages left to relay. */
  readonly relayed?: boolean | undefined;
  /** A packed message that leaves the mailbox without an effect, to add to the quarantine of the partition. */
  readonly quarantined?: string | undefined;
}

/** Most messages that the quarantine of a partition keeps; it forgets the oldest. */
export const QUARANTINE_MESSAGES = 100;

/** A message in the quarantine of a partition. */
export interface QuarantineRecord {
  readonly partition: string;
  /** Unique within the partition. */
  readonly id: string;
  /** Packed message; see `packing.ts`. */
  readonly body: string;
}

/** A message to the present subscribers of a feed. */
export interface Publication {
  readonly feed: string;
  readonly body: string;
}

/** A message that leaves with a commit: it is appended to the mailbox if the commit is written, and only then. */
export interface Departure extends Omit<Delivery, "from"> {
  /** Partition of the receiver. */
  readonly partition: string;
}

/** Changes in partitions of one commit group, written all or none. */
export interface Commit {
  /** The ownership of at least every partition that a change is in. */
  readonly ownerships: readonly Ownership[];
  /** Ordered by cause and effect. An actor may come several times, each time with its next entry. */
  readonly changes: readonly Change[];
  /** Messages that follow from the changes, to mailboxes of the same commit group, in order. They have no capacity. */
  readonly departures?: readonly Departure[] | undefined;
  /** Published with the commit, before its notification. */
  readonly publications?: readonly Publication[] | undefined;
}

export type CommitOutcome =
  | { readonly kind: "ok" }
  /** The epoch of this partition is not the one given. Nothing was written. */
  | { readonly kind: "fenced"; readonly partition: string }
  /** This actor is not at the expected seq. Nothing was written. */
  | { readonly kind: "conflict"; readonly actor: ActorId }
  /** This actor is removed. Nothing was written. */
  | { readonly kind: "removed"; readonly actor: ActorId };

export interface StoredEntry {
  readonly seq: number;
  readonly body: string;
}

export interface EntriesOf {
  readonly actor: ActorId;
  /** In order and without a gap. */
  readonly entries: readonly StoredEntry[];
  /**
   * True when the seq of the first entry is not `afterSeq + 1`: the entries before it have been trimmed, or it is the
   * first of an incarnation (`continues` in `packing.ts`).
   */
  readonly gap: boolean;
}

/** The saved state of an actor after entry `seq`. */
export interface Snapshot {
  readonly seq: number;
  readonly cursor: string;
  /** SHA-256 of `body`, in hex. */
  readonly hash: string;
  readonly body: string;
}

/** A part of a snapshot. Snapshots name their parts by hash, so that several of them can share a part. */
export interface SnapshotPart {
  readonly hash: string;
  readonly body: string;
}

/** The latest snapshot of an actor with its parts: all that it takes to restore the actor. */
export interface StoredActor {
  readonly snapshot: Snapshot;
  readonly parts: readonly SnapshotPart[];
}

/**
 * Outcome of appending a message. `removed`: it is appended, and the actor must be restored to receive it; `fenced`: it is
 * not appended, because its sender's ownership is an earlier one than the mailbox takes.
 */
export type AppendOutcome = "appended" | "full" | "removed" | "fenced";

/** A position of an actor to record. A recorded position never goes back. */
export interface Mark {
  readonly actor: ActorId;
  readonly seq: number;
}

/** An actor of which the read model lacks entries. */
export interface Unprojected extends Mark {
  /** Seq of the last entry that the read model has stored. */
  readonly projected: number;
}

/** Announcements of all roles; see `formats.ts`. */
export interface Announcements {
  /** Time of the log (Unix ms). */
  readonly nowMs: number;
  /** Names of the live roles. A worker or a gateway that has announced nothing has a name without a format. */
  readonly roles: readonly string[];
  /** Record of the active format, "" before the first. */
  readonly record: string;
}

/** Knowledge of a process about engine time and about the clock of its host. */
export interface TimeReport {
  /** Unique to the process. */
  readonly name: string;
  /** Engine time of a worker (Unix ms). */
  readonly engineMs?: number | undefined;
  /** Number of confirmations that the process has seen. */
  readonly confirmed: number;
  /** Clock of the host less the clock of the log, in ms; absent when they agree. */
  readonly hostDifferenceMs?: number | undefined;
}

/** Clock of the log, and the record of engine time; see `../services/engine-clock.ts`. */
export interface LogTime {
  /** Time of the log's clock (Unix ms). */
  readonly logMs: number;
  /** Engine time less the time of the log's clock, in ms, while a jump is held; else 0. */
  readonly heldMs: number;
  /** Number of jumps that operators have confirmed. */
  readonly confirmed: number;
  /** Engine time that a worker has recorded last (Unix ms). */
  readonly engineMs: number | undefined;
  /** The last confirmation; a build before this one records none. */
  readonly lastJump: ConfirmedJump | undefined;
}

/** Time in ms for which a confirmed jump stays on record when a smaller one is confirmed. */
export const LARGER_JUMP_MS = 65_000;

/** Confirmation of a jump by an operator. */
export interface ConfirmedJump {
  /** Time of the log's clock at the confirmation (Unix ms). */
  readonly atMs: number;
  /** The difference that was held until then, in ms. */
  readonly heldMs: number;
}

/** State of the clocks, for operators. */
export interface ClockReport {
  readonly heldMs: number;
  /** Clocks of hosts less the clock of the log, in ms, of the processes for which they differ. */
  readonly hosts: Readonly<Record<string, number>>;
}

/** Lease of a partition. */
export interface Lease {
  /** Worker that owns the partition, if one does. */
  readonly owner: string | undefined;
  /** Number of the ownership; 0 before the first. */
  readonly epoch: number;
}

/** One heartbeat of a worker. */
export interface Heartbeat {
  readonly worker: string;
  /** Shortest lease, in ms. A worker whose heartbeats come late gets a longer lease, of at most ten times this. */
  readonly leaseMs: number;
  /** False while the worker hands all of its partitions over. */
  readonly takes: boolean;
}

/** A worker whose lease has not expired. */
export interface LiveWorker {
  readonly name: string;
  /** Time for which the worker has been live without a break, in ms. */
  readonly liveMs: number;
  /** True for a worker that takes partitions; false for one that is stopping, and for one of an earlier build. */
  readonly takes: boolean;
}

/** The room that the log has left. */
export interface LogCondition {
  /** Used share of the memory limit, from 0 to 1, of the server with the highest; 0 without a limit. */
  readonly memoryUse: number;
  /** True while some server does not answer: the other values are those of the others. */
  readonly isPartial?: boolean | undefined;
  /** Used memory of all servers together, in bytes. */
  readonly memoryBytes: number;
  /** Memory limit of all servers together, in bytes; 0 without a limit. */
  readonly memoryLimitBytes: number;
  /** Why the log cannot write at all; absent while it can. */
  readonly fault?: string | undefined;
  /** Report of `reportDisk`; absent while the disk has room. */
  readonly disk?: string | undefined;
}

/** Rejection of an append by the log itself: nothing was written. The message says why. */
export class WriteRefused extends Error {
  override readonly name = "WriteRefused";
}

export type TakeOutcome =
  /** `incarnation` names the present one of the log, `""` before the first change of its server that was noticed. */
  | { readonly kind: "taken"; readonly epoch: number; readonly incarnation: string }
  /** The lease has another epoch. */
  | { readonly kind: "changed" };

/** Stream that a notification is about: mailboxes (`commands`) or delta streams (`deltas`). */
export type NotificationKind = "commands" | "deltas";

/** A message or an entry that a notification contains. */
export interface InlineRecord {
  /** Position in the mailbox, or seq in the delta stream. */
  readonly position: number;
  readonly body: string;
}

/** Growth of one stream. */
export interface ActorNotice {
  readonly actor: ActorId;
  /** The record that was appended; absent when the record is too long and must be read from the stream. */
  readonly inline?: InlineRecord | undefined;
}

/** Growth of the streams in one partition. */
export interface Notification {
  readonly partition: string;
  /** In order; an actor may come several times. */
  readonly notices: readonly ActorNotice[];
  /** True when the subscription has just begun or notifications were lost: any stream may have grown. */
  readonly scanAll: boolean;
}

/** A subscription to notifications. */
export interface Listener {
  /** Sets the partitions to watch. A partition that is new gets a notification with `scanAll` once it is watched. */
  watch(partitions: readonly string[]): void;
  close(): Promise<void>;
}

/** Receives the messages of a feed; on a single server, in order. */
export interface FeedReader {
  onBody(body: string): void;
  /** Called when messages may have been lost. */
  onMissed(): void;
}

export interface Subscription {
  close(): Promise<void>;
}

export interface Log {
  /** Returns the commit group of a partition. */
  commitGroupOf(partition: string): string;
  /** Returns true when messages to the second partition can leave with a commit in the first. */
  reaches(from: string, to: string): boolean;

  /**
   * Appends messages to mailboxes of one partition, and publishes one notification. A mailbox that already has
   * `capacity` messages rejects further ones; 0, the default, is no limit. From then on the partition takes no relayed
   * message of an ownership before one of `fences`. Returns the outcome of each message.
   */
  append(
    partition: string,
    deliveries: readonly Delivery[],
    capacity?: number,
    fences?: readonly Ownership[],
  ): Promise<readonly AppendOutcome[]>;
  /** Reads mailboxes of one commit group, at most `limit` messages of each. An empty mailbox is absent. */
  readMailboxes(
    reads: readonly MailboxRead[],
    limit: number,
  ): Promise<ReadonlyMap<ActorId, readonly Message[]>>;
  /** Returns the actors of a partition that have received a message and are not removed; removed ones with messages too. */
  actors(partition: string): Promise<readonly ActorId[]>;
  /** Returns the status of every such actor of a partition. */
  scan(partition: string): Promise<readonly ActorStatus[]>;
  heads(partition: string, actors: readonly ActorId[]): Promise<readonly Head[]>;

  /** Writes all changes and appends all departures, or does nothing; and publishes a notification of each kind. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** Reads delta streams of one commit group, at most `limit` entries of each. An actor without entries is absent. */
  readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]>;
  /**
   * Records up to which entries the messages to other actors have been relayed. Returns false, and records nothing, when
   * the epoch is fenced.
   */
  markRelayed(partition: string, epoch: number, marks: readonly Mark[]): Promise<boolean>;
  /** Records up to which entries the read model has been written. */
  markProjected(partition: string, marks: readonly Mark[]): Promise<void>;
  /** Returns the actors of a partition of which the read model lacks entries, with the seqs of their last ones. */
  unprojected(partition: string): Promise<readonly Unprojected[]>;
  /** Returns the room that actors take. */
  sizes(partition: string, actors: readonly ActorId[]): Promise<readonly ActorSize[]>;
  /**
   * Records the first seq of the resume windows of actors, and removes the entries before it. Keeps every entry that the
   * previous snapshot, the relay or the read model still needs, and always the last one. The kept entries before the
   * window go as soon as the relay and the read model have passed them.
   */
  trim(partition: string, windows: readonly Mark[]): Promise<void>;

  /**
   * Stores parts of a snapshot that will be written. Returns false, and stores nothing, when the epoch is fenced.
   */
  writeParts(
    partition: string,
    epoch: number,
    actor: ActorId,
    parts: readonly SnapshotPart[],
  ): Promise<boolean>;
  /** Returns the bodies of the parts with these hashes, `undefined` for a part that is not stored. */
  readParts(
    partition: string,
    actor: ActorId,
    hashes: readonly string[],
  ): Promise<readonly (string | undefined)[]>;
  /**
   * Removes at most `limit` of the parts that neither the latest nor the previous snapshot names. Returns the number of
   * such parts that are left; 0 when the epoch is fenced.
   */
  removeParts(partition: string, epoch: number, actor: ActorId, limit: number): Promise<number>;
  /**
   * Stores a snapshot, which names the parts with the hashes `parts`; the one that was the latest becomes the previous
   * one. Returns false, and stores nothing, when the epoch is fenced, when the snapshot is older than the latest, or when
   * a part is not stored.
   */
  writeSnapshot(
    partition: string,
    epoch: number,
    actor: ActorId,
    snapshot: Snapshot,
    parts?: readonly string[],
  ): Promise<boolean>;
  readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined>;

  /** Returns the latest snapshot of an actor with its parts; `undefined` when there is none, or while it is written. */
  readStored(partition: string, actor: ActorId): Promise<StoredActor | undefined>;
  /**
   * Removes an actor that has nothing left to do: no message, no deadline, no entry to relay or to project, and a latest
   * snapshot of its last entry, with this hash, which the caller has stored elsewhere. Its head stays, so that its
   * positions go on when it is restored. Returns false, and removes nothing, for any other actor.
   */
  removeActor(partition: string, actor: ActorId, hash: string): Promise<boolean>;
  /** Puts a removed actor back. Returns false for one that is not removed, or was removed with another snapshot. */
  restoreActor(partition: string, actor: ActorId, stored: StoredActor): Promise<boolean>;
  /** Returns the removed actors that have received messages. */
  wanted(partitions: readonly string[]): Promise<readonly ActorId[]>;

  /**
   * Records that a worker is alive, and returns all live workers. A worker is live while its heartbeats come within its
   * lease. Only the time in which the log answers heartbeats counts: a stall of the log lets no lease expire.
   */
  heartbeat(heartbeat: Heartbeat): Promise<readonly LiveWorker[]>;
  /** Removes a worker from the live workers. */
  leave(worker: string): Promise<void>;
  /** Returns the time of the log, and records a report. */
  time(report: TimeReport): Promise<LogTime>;
  /** Holds engine time at this difference from the log's clock. Returns false when the record is not as it was read. */
  holdTime(read: LogTime, heldMs: number): Promise<boolean>;
  /** Confirms the log's clock: engine time follows it. */
  confirmTime(): Promise<void>;
  clockReport(): Promise<ClockReport>;

  /** Returns the leases of partitions. On a cluster those of a node that does not answer are left out. */
  leases(partitions: readonly string[]): Promise<ReadonlyMap<string, Lease>>;
  /**
   * Takes the ownership of a partition whose lease has this epoch. The partition gets a higher epoch; and a new
   * incarnation when the server of the log is not the one of the previous take, because entries may have been lost with
   * the change.
   */
  take(partition: string, worker: string, epoch: number): Promise<TakeOutcome>;
  /** Ends the ownership of a partition, if it still has this epoch. No later commit with this epoch succeeds. */
  release(partition: string, epoch: number): Promise<void>;

  listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener;
  /** Subscribes to a feed; resolves when the subscription is active. A feed keeps nothing for later subscribers. */
  subscribe(feed: string, reader: FeedReader): Promise<Subscription>;
  /** Publishes to a feed. A subscriber that is too slow or loses its connection misses messages; see `FeedReader`. */
  publish(publication: Publication): Promise<void>;

  /**
   * Announces a role, by the clock of the log. A role that is silent for `aliveMs` counts as dead, unless all seem silent, as
   * after a jump of the clock: then each has `aliveMs` again.
   */
  announce(role: string, aliveMs: number): Promise<Announcements>;
  /** Withdraws the announcement of a role. */
  withdraw(role: string): Promise<void>;
  /** Replaces the record of the active format, unless another process has replaced it since it was `expected`. */
  recordFormat(expected: string, record: string): Promise<void>;

  /** Records why an actor was halted; `undefined` removes the record. */
  markHalted(actor: ActorId, reason: string | undefined): Promise<void>;
  /** Returns the reasons of all halted actors. */
  halted(): Promise<ReadonlyMap<ActorId, string>>;
  /** Returns the messages in the quarantine of every partition, oldest first within a partition. */
  quarantine(): Promise<readonly QuarantineRecord[]>;
  /** Removes a message from the quarantine; returns false when it is not there. */
  dismiss(record: Pick<QuarantineRecord, "partition" | "id">): Promise<boolean>;
  /** Returns the number of messages in quarantine. */
  quarantineSize(): Promise<number>;
  /** Records those facts of the installation that have no value yet. Returns the recorded value of every fact. */
  installation(facts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>;
  condition(): Promise<LogCondition>;
  /** Records for `ttlMs` that the disk of the log or of the read model is nearly full; `undefined` removes the record. */
  reportDisk(reason: string | undefined, ttlMs: number): Promise<void>;

  /**
   * Calls the listener after each loss of a connection. A state in memory may then be ahead of the log, in the partitions
   * for which `isLost` returns true: all of them, or on a cluster those of one node.
   */
  onLost(listener: (isLost: (partition: string) => boolean) => void): () => void;
  close(): Promise<void>;
}
