/** The log on Redis 7 or newer, on a single server or a cluster. Each atomic operation is a Lua file of `commands/`. */

import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { type ActorId, PARTITIONS } from "../../actors/actor.js";
import { MAX_INLINE_BYTES } from "../log/notifications.js";
import { clusterAddress, hostsOf, readAddress } from "./address.js";
import { connect, type Connection, firstReply, RedisUnreachable } from "./connection.js";
import { Keys } from "./keys.js";
import {
  type Announcements,
  type AppendOutcome,
  type NotificationKind,
  type Commit,
  type CommitOutcome,
  cursorAt,
  type Delivery,
  type Departure,
  type EntriesOf,
  type EntryRead,
  type FeedReader,
  type Head,
  type Heartbeat,
  type Lease,
  LARGER_JUMP_MS,
  type LogTime,
  type TimeReport,
  type ClockReport,
  type Listener,
  type LiveWorker,
  type Log,
  type LogCondition,
  type MailboxRead,
  type Mark,
  type Message,
  NO_CURSOR,
  positionOf,
  type Ownership,
  type Publication,
  type Notification,
  type ActorSize,
  type ActorStatus,
  type Snapshot,
  type SnapshotPart,
  type StoredActor,
  type Subscription,
  type TakeOutcome,
  QUARANTINE_MESSAGES,
  type QuarantineRecord,
  type Unprojected,
} from "../log/log.js";
import { systemClock } from "../log/clock.js";
import { isAnnounced } from "../log/formats.js";
import { type Logger, silentLogger } from "../log/logger.js";
import { NotificationListener } from "./listener.js";
import { Replication } from "./replication.js";
import { serversOf } from "./servers.js";
import { Subscriber } from "./subscriber.js";
import {
  appendOutcome,
  commitOutcome,
  nodesOf,
  HEAD_FIELDS,
  headOf,
  heartbeatCall,
  liveWorkers,
  actorSizes,
  appendError,
  conditionOf,
  logTime,
  recentDifferences,
  readAll,
  type StreamReply,
  messagesOf,
  scoresOf,
  unprojectedActors,
} from "./replies.js";
import { loadScripts, type RunScript } from "./scripts.js";

export interface RedisLogOptions {
  /** Address of Redis; see `readAddress`. One URL may be that of any node of a cluster. */
  readonly url: string;
  /** Prefix of every key (default `overround:`); braces are not allowed. */
  readonly prefix?: string | undefined;
  readonly logger?: Logger | undefined;
  /**
   * Number of replicas that have a commit before its effects leave (default 0): before it is acknowledged, and before its
   * messages go to other servers.
   */
  readonly waitReplicas?: number | undefined;
}

/** Limit of the bytes of bodies with which a notification has none, not even empty ones. */
const NO_BODIES = -1;
/** The commit group of all partitions on a single server. On a cluster, each partition is a group of its own. */
const ONE_GROUP = "all";
/** Warning about a server that may execute half of a commit after a power loss. The embedded server does not. */
const TORN_FILE =
  "after a power loss, Redis may cut its append-only file inside of a transaction, and its next start then executes the " +
  "first half, so that an actor halts: set aof-load-truncated to no, and after a crash run npm run repair-aof -- " +
  "DIRECTORY before Redis starts";
/** Warning about a server whose memory has no limit, so that the exchange cannot refuse orders before it is full. */
const UNBOUNDED =
  "Redis has no maxmemory, so nothing refuses new orders before the memory of its machine is full: set maxmemory to what " +
  "the machine can spare";
const evicts = (policy: string): string =>
  `Redis removes keys when its memory is full, which would lose orders and money: set maxmemory-policy to noeviction (it is ${policy})`;
type LostListener = Parameters<Log["onLost"]>[0];

export class RedisLog implements Log {
  /** Address of Redis: of a cluster the list of its nodes, also when the log was opened with one URL. */
  readonly url: string;
  readonly #connection: Connection;
  readonly #keys: Keys;
  readonly #run: RunScript;
  readonly #subscriber: Subscriber;
  readonly #isCluster: boolean;
  /** Number of the database. A cluster has one, with the number 0. */
  readonly #database: number;
  readonly #replication: Replication;
  readonly #logger: Logger;
  readonly #lostListeners = new Set<LostListener>();
  readonly #listeners = new Set<Listener>();
  /** Number of messages that the quarantine has dropped in commits of this process. */
  #dropped = 0;
  #closed = false;

  private constructor(options: RedisLogOptions) {
    this.#connection = connect(options.url);
    this.#keys = new Keys(options.prefix);
    this.#run = loadScripts(this.#connection);
    this.url = options.url;
    this.#isCluster = readAddress(options.url).kind === "cluster";
    this.#database = this.#connection instanceof Redis ? (this.#connection.options.db ?? 0) : 0;
    const servers = serversOf(this.#connection, PARTITIONS, (partition) => this.#keys.lease(partition));
    servers.onLost((isLost) => {
      if (!this.#closed) for (const listener of this.#lostListeners) listener(isLost);
    });
    this.#replication = new Replication(servers, options.waitReplicas ?? 0);
    this.#logger = options.logger ?? silentLogger;
    this.#subscriber = new Subscriber(options.url, this.#logger);
  }

  /**
   * Connects, and logs that the server cannot write its data to disk, if that is so.
   * @throws RedisUnreachable when no server answers, when it refuses the password, when its version is too old, or when it
   *   evicts keys.
   */
  static async open(options: RedisLogOptions): Promise<RedisLog> {
    const log = new RedisLog(options);
    try {
      const info = await firstReply(options.url, log.#connection, () => log.#connection.info());
      const version = /redis_version:(\d+)\.(\d+)/.exec(info);
      if (version !== null && Number(version[1]) < 7) {
        throw new RedisUnreachable(
          `Redis ${version[1] ?? ""}.${version[2] ?? ""} is too old; use 7.0 or newer`,
        );
      }
      await log.#requireDatabase();
      if (!log.#isCluster && /^redis_mode:cluster/m.test(info)) {
        const nodes = nodesOf(await log.#connection.cluster("SLOTS"));
        await log.close();
        return await RedisLog.open({ ...options, url: clusterAddress(options.url, nodes) });
      }
      const [, policy = "noeviction"] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
      const isUnbounded = /^maxmemory:0\s/m.test(info);
      if (!isUnbounded && policy !== "noeviction") throw new RedisUnreachable(evicts(policy));
      if (isUnbounded) options.logger?.warn({ redis: hostsOf(options.url) }, UNBOUNDED);
      if (/^aof_last_write_status:(?!ok)/m.test(info)) {
        options.logger?.error(
          {},
          "Redis cannot write its append-only file: free space on its disk; it refuses every command until then",
        );
      }
      if (/^aof_enabled:1/m.test(info) && !(await log.#refusesTornFile()))
        options.logger?.warn({ redis: hostsOf(options.url) }, TORN_FILE);
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Returns false when the server repairs a torn append-only file by itself, or does not say. */
  async #refusesTornFile(): Promise<boolean> {
    try {
      const reply = await this.#connection.config("GET", "aof-load-truncated");
      return Array.isArray(reply) && reply[1] === "no";
    } catch {
      return false;
    }
  }

  /** Throws `RedisUnreachable` when the server has not selected the database of the address, and so uses number 0. */
  async #requireDatabase(): Promise<void> {
    if (this.#database === 0) return;
    const client = await this.#connection.client("INFO");
    if (/ db=(\d+)/.exec(client)?.[1] === String(this.#database)) return;
    throw new RedisUnreachable(
      `Redis at ${hostsOf(this.url)} has no database ${this.#database}; name one that its setting \`databases\` allows`,
    );
  }

  commitGroupOf(partition: string): string {
    return this.#isCluster ? partition : ONE_GROUP;
  }

  reaches(from: string, to: string): boolean {
    return this.commitGroupOf(from) === this.commitGroupOf(to);
  }

  /** Returns the options of notifications, as `notifications.lua` reads them. */
  #notificationOptions(maxBytes = MAX_INLINE_BYTES): string {
    return `${maxBytes} ${this.#database}`;
  }

  /** Returns the channel of a commit group and that of one of its partitions, which are one on a cluster. */
  #notifications(partition: string, kind: NotificationKind): readonly [group: string, partition: string] {
    return [
      this.#keys.notifications(this.commitGroupOf(partition), kind),
      this.#keys.notifications(partition, kind),
    ];
  }

  async append(
    partition: string,
    deliveries: readonly Delivery[],
    capacity = 0,
    fences: readonly Ownership[] = [],
  ): Promise<readonly AppendOutcome[]> {
    if (deliveries.length === 0) return [];
    /** Numbers the actors from 1, in the order of the mailbox keys. */
    const indexes = new Map<ActorId, number>();
    /** Numbers the senders from 1; 0 stands for none. */
    const senders = new Map<string, number>();
    const messages: (string | number)[] = [];
    for (const { to, body, from } of deliveries) {
      let index = indexes.get(to);
      if (index === undefined) {
        index = indexes.size + 1;
        indexes.set(to, index);
      }
      const sender = from === undefined ? "" : `${from.partition} ${from.epoch}`;
      if (from !== undefined && !senders.has(sender)) senders.set(sender, senders.size + 1);
      messages.push(index, body, senders.get(sender) ?? 0);
    }
    const actors = [...indexes.keys()];
    const keys = [
      ...this.#notifications(partition, "commands"),
      this.#keys.actors(partition),
      this.#keys.wanted(partition),
      this.#keys.fences(partition),
    ];
    for (const actor of actors)
      keys.push(this.#keys.mailbox(partition, actor), this.#keys.head(partition, actor));
    const isRelayed = deliveries.every(({ from }) => from !== undefined);
    const args = [
      this.#notificationOptions(),
      capacity,
      partition,
      actors.length,
      ...actors,
      fences.length,
      ...fences.flatMap((fence) => [fence.partition, fence.epoch]),
      senders.size,
      ...[...senders.keys()].flatMap((sender) => sender.split(" ")),
      ...messages,
    ];
    // The sender of a relayed message forgets it after the append. The sender of a command waits for the answer.
    const append = (): Promise<unknown> => this.#run(isRelayed ? "relay" : "append", keys, args);
    const channel = this.#keys.notifications(partition, "commands");
    const appended =
      isRelayed || fences.length > 0 ? this.#replication.written(partition, channel, append) : append();
    const reply = await appended.catch((error: unknown) => {
      throw appendError(error);
    });
    return deliveries.map((_, index) => appendOutcome((reply as string)[index]));
  }

  async readMailboxes(
    reads: readonly MailboxRead[],
    limit: number,
  ): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    const found = new Map<ActorId, readonly Message[]>();
    if (reads.length === 0) return found;
    const byKey = new Map(reads.map(({ partition, actor }) => [this.#keys.mailbox(partition, actor), actor]));
    const ids = reads.map(({ after }) => after);
    const reply = await this.#readStreams(limit, [...byKey.keys(), ...ids]);
    for (const [key, messages] of reply ?? []) {
      const actor = byKey.get(key);
      if (actor === undefined) continue;
      found.set(actor, messagesOf(messages));
    }
    return found;
  }

  async actors(partition: string): Promise<readonly ActorId[]> {
    return (await this.#connection.smembers(this.#keys.actors(partition))) as ActorId[];
  }

  async scan(partition: string): Promise<readonly ActorStatus[]> {
    const [members, due] = await Promise.all([
      this.actors(partition),
      this.#connection.zrange(this.#keys.deadlines(partition), 0, -1, "WITHSCORES"),
    ]);
    const deadlines = scoresOf(due);
    const actors = [...members].sort();
    const replies = await readAll(
      this.#connection,
      actors.flatMap((actor) => [
        ["hmget", this.#keys.head(partition, actor), ...HEAD_FIELDS],
        ["xlen", this.#keys.mailbox(partition, actor)],
        ["xlen", this.#keys.deltas(partition, actor)],
      ]),
    );
    return actors.map((actor, index) => ({
      actor,
      head: headOf(replies[3 * index] as (string | null)[]),
      waiting: replies[3 * index + 1] as number,
      retained: replies[3 * index + 2] as number,
      deadlineMs: deadlines.get(actor),
    }));
  }

  async heads(partition: string, actors: readonly ActorId[]): Promise<readonly Head[]> {
    const replies = await readAll(
      this.#connection,
      actors.map((actor) => ["hmget", this.#keys.head(partition, actor), ...HEAD_FIELDS]),
    );
    return replies.map((fields) => headOf(fields as (string | null)[]));
  }

  /** Reads streams of one commit group. `streams` has all keys and then, for each key, the id to read after. */
  #readStreams(limit: number, streams: readonly string[]): Promise<StreamReply> {
    return this.#connection.xread("COUNT", limit, "STREAMS", ...streams);
  }

  async commit({ ownerships, changes, departures = [], publications = [] }: Commit): Promise<CommitOutcome> {
    const [first] = ownerships;
    if (first === undefined) throw new Error("a commit needs an ownership");
    const group = this.commitGroupOf(first.partition);
    const keys = [this.#keys.notifications(group, "deltas"), this.#keys.notifications(group, "commands")];
    const args: (string | number)[] = [this.#notificationOptions(), ownerships.length];
    for (const { partition, epoch } of ownerships) {
      keys.push(
        this.#keys.lease(partition),
        this.#keys.deadlines(partition),
        this.#keys.notifications(partition, "deltas"),
      );
      args.push(partition, epoch);
    }
    const ownershipIndexes = new Map(ownerships.map(({ partition }, index) => [partition, index + 1]));
    const actorIndexes = new Map<ActorId, number>();
    const actors: (string | number)[] = [];
    const changeArgs: (string | number)[] = [];
    for (const change of changes) {
      const { partition, actor, expectedSeq, cursor, entry, deadlineMs, relayed, resumed } = change;
      let index = actorIndexes.get(actor);
      if (index === undefined) {
        index = actorIndexes.size + 1;
        actorIndexes.set(actor, index);
        actors.push(ownershipIndexes.get(partition) ?? "", actor);
        keys.push(
          this.#keys.head(partition, actor),
          this.#keys.deltas(partition, actor),
          this.#keys.mailbox(partition, actor),
          this.#keys.quarantine(partition),
        );
      }
      const deadline = deadlineMs === undefined ? "" : (deadlineMs ?? "-");
      const firstKept = cursorAt(positionOf(cursor) + 1);
      const isRelayed = relayed === true ? 1 : 0;
      const lineage = resumed === undefined ? "" : `${resumed.seq} ${resumed.lineage}`;
      changeArgs.push(index, expectedSeq, cursor, firstKept, entry ?? "", deadline, isRelayed, lineage);
      changeArgs.push(change.quarantined ?? "", QUARANTINE_MESSAGES);
    }
    const mustWait = this.#replication.isOn;
    const withCommit = mustWait ? [] : publications;
    args.push(actorIndexes.size, ...actors, withCommit.length);
    for (const { feed, body } of withCommit) args.push(this.#keys.feed(feed), body);
    args.push(...this.#departureArgs(departures, keys), ...changeArgs);
    const commit = (): Promise<unknown> => this.#run("commit", keys, args);
    const lease = this.#keys.lease(first.partition);
    const reply = (await this.#replication.written(first.partition, lease, commit)) as string | string[];
    const [result = "", ...dropped] = typeof reply === "string" ? [reply] : reply;
    this.#reportDropped(dropped);
    const outcome = commitOutcome(result);
    if (mustWait && outcome.kind === "ok")
      for (const publication of publications) this.#publishLate(publication);
    return outcome;
  }

  /** Logs the messages that the quarantine has dropped; the log is the only place that has them still. */
  #reportDropped(messages: readonly string[]): void {
    for (const dropped of messages) {
      this.#dropped += 1;
      this.#logger.error(
        { dropped, total: this.#dropped },
        "the quarantine of a partition is full and has dropped its oldest message: dismiss those that are dealt with",
      );
    }
  }

  /** Publishes an answer after its commit. The sender of a command whose answer is lost sends the command again. */
  #publishLate(publication: Publication): void {
    this.publish(publication).catch((error: unknown) => {
      this.#logger.warn({ err: error }, "an answer was not published; the command is sent again");
    });
  }

  /** Returns the arguments of a commit for the messages that leave with it, and adds their keys. */
  #departureArgs(departures: readonly Departure[], keys: string[]): readonly (string | number)[] {
    const indexes = new Map<ActorId, number>();
    const receivers: string[] = [];
    const messages: (string | number)[] = [];
    for (const { partition, to, body } of departures) {
      let index = indexes.get(to);
      if (index === undefined) {
        index = indexes.size + 1;
        indexes.set(to, index);
        receivers.push(partition, to);
        keys.push(
          this.#keys.mailbox(partition, to),
          this.#keys.head(partition, to),
          this.#keys.actors(partition),
          this.#keys.wanted(partition),
          this.#keys.notifications(partition, "commands"),
        );
      }
      messages.push(index, body);
    }
    return [indexes.size, ...receivers, departures.length, ...messages];
  }

  async readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]> {
    if (reads.length === 0) return [];
    const byKey = new Map(reads.map((read) => [this.#keys.deltas(read.partition, read.actor), read]));
    const ids = reads.map(({ afterSeq }) => `${afterSeq}-0`);
    const reply = await this.#readStreams(limit, [...byKey.keys(), ...ids]);
    const found: EntriesOf[] = [];
    for (const [key, messages] of reply ?? []) {
      const read = byKey.get(key);
      if (read === undefined) continue;
      const entries = messages.map(([id, fields]) => ({
        seq: Number.parseInt(id, 10),
        body: fields[1] ?? "",
      }));
      found.push({ actor: read.actor, entries, gap: entries[0]?.seq !== read.afterSeq + 1 });
    }
    return found;
  }

  async markRelayed(partition: string, epoch: number, marks: readonly Mark[]): Promise<boolean> {
    return this.#mark("relayed", partition, marks, epoch);
  }

  async markProjected(partition: string, marks: readonly Mark[]): Promise<void> {
    await this.#mark("projected", partition, marks);
  }

  async unprojected(partition: string): Promise<readonly Unprojected[]> {
    const prefix = this.#keys.headPrefix(partition);
    return unprojectedActors(await this.#run("unprojected", [this.#keys.actors(partition)], [prefix]));
  }

  async #mark(
    field: "relayed" | "projected" | "window",
    partition: string,
    marks: readonly Mark[],
    epoch?: number,
  ): Promise<boolean> {
    if (marks.length === 0) return true;
    const keys = [this.#keys.lease(partition)];
    for (const { actor } of marks)
      keys.push(this.#keys.head(partition, actor), this.#keys.deltas(partition, actor));
    return (await this.#run("mark", keys, [field, epoch ?? "", ...marks.map(({ seq }) => seq)])) === 1;
  }

  async sizes(partition: string, actors: readonly ActorId[]): Promise<readonly ActorSize[]> {
    const reads = actors.flatMap((actor) => {
      const streams = [this.#keys.deltas(partition, actor), this.#keys.mailbox(partition, actor)];
      const snapshots = (["latest", "previous"] as const).map((which) =>
        this.#keys.snapshot(partition, actor, which),
      );
      return [
        ...streams.map((key) => ["xlen", key] as const),
        ...[...streams, ...snapshots, this.#keys.parts(partition, actor)].map(
          (key) => ["memory", "USAGE", key] as const,
        ),
      ];
    });
    return actorSizes((await readAll(this.#connection, reads)) as (number | null)[]);
  }

  async trim(partition: string, windows: readonly Mark[]): Promise<void> {
    await this.#mark("window", partition, windows);
  }

  async writeParts(
    partition: string,
    epoch: number,
    actor: ActorId,
    parts: readonly SnapshotPart[],
  ): Promise<boolean> {
    const keys = [this.#keys.lease(partition), this.#keys.parts(partition, actor)];
    const bodies = parts.flatMap(({ hash, body }) => [hash, body]);
    return (await this.#run("write-parts", keys, [epoch, ...bodies])) === "ok";
  }

  async readParts(
    partition: string,
    actor: ActorId,
    hashes: readonly string[],
  ): Promise<readonly (string | undefined)[]> {
    if (hashes.length === 0) return [];
    const bodies = await this.#connection.hmget(this.#keys.parts(partition, actor), ...hashes);
    return bodies.map((body) => body ?? undefined);
  }

  async removeParts(partition: string, epoch: number, actor: ActorId, limit: number): Promise<number> {
    const keys = [
      this.#keys.lease(partition),
      this.#keys.snapshot(partition, actor, "latest"),
      this.#keys.snapshot(partition, actor, "previous"),
      this.#keys.parts(partition, actor),
    ];
    return Math.max(0, Number(await this.#run("remove-parts", keys, [epoch, limit])));
  }

  async writeSnapshot(
    partition: string,
    epoch: number,
    actor: ActorId,
    snapshot: Snapshot,
    parts: readonly string[] = [],
  ): Promise<boolean> {
    const keys = [
      this.#keys.lease(partition),
      this.#keys.head(partition, actor),
      this.#keys.snapshot(partition, actor, "latest"),
      this.#keys.snapshot(partition, actor, "previous"),
      this.#keys.parts(partition, actor),
    ];
    const { seq, cursor, hash, body } = snapshot;
    const named = parts.map((part) => `${part} `).join("");
    return (await this.#run("snapshot", keys, [epoch, seq, cursor, hash, body, named])) === "ok";
  }

  async readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined> {
    const key = this.#keys.snapshot(partition, actor, which);
    const [seq, cursor, hash, body] = await this.#connection.hmget(key, "seq", "cursor", "hash", "body");
    if (typeof seq !== "string") return undefined;
    return { seq: Number(seq), cursor: cursor ?? NO_CURSOR, hash: hash ?? "", body: body ?? "" };
  }

  async readStored(partition: string, actor: ActorId): Promise<StoredActor | undefined> {
    const key = this.#keys.snapshot(partition, actor, "latest");
    const fields = await this.#connection.hmget(key, "seq", "cursor", "hash", "body", "parts");
    const [seq, cursor, hash, body, named] = fields;
    if (typeof seq !== "string") return undefined;
    const hashes = (named ?? "").split(" ").filter((part) => part !== "");
    const bodies = await this.readParts(partition, actor, hashes);
    const parts = hashes.flatMap((part, index) => {
      const stored = bodies[index];
      return stored === undefined ? [] : [{ hash: part, body: stored }];
    });
    if (parts.length < hashes.length) return undefined;
    const snapshot = { seq: Number(seq), cursor: cursor ?? NO_CURSOR, hash: hash ?? "", body: body ?? "" };
    return { snapshot, parts };
  }

  async removeActor(partition: string, actor: ActorId, hash: string): Promise<boolean> {
    const keys = [
      this.#keys.head(partition, actor),
      this.#keys.mailbox(partition, actor),
      this.#keys.deltas(partition, actor),
      this.#keys.snapshot(partition, actor, "latest"),
      this.#keys.snapshot(partition, actor, "previous"),
      this.#keys.parts(partition, actor),
      this.#keys.actors(partition),
      this.#keys.deadlines(partition),
    ];
    return (await this.#run("remove-actor", keys, [actor, hash])) === "ok";
  }

  async restoreActor(partition: string, actor: ActorId, { snapshot, parts }: StoredActor): Promise<boolean> {
    const keys = [
      this.#keys.head(partition, actor),
      this.#keys.snapshot(partition, actor, "latest"),
      this.#keys.snapshot(partition, actor, "previous"),
      this.#keys.parts(partition, actor),
      this.#keys.actors(partition),
      this.#keys.wanted(partition),
      ...this.#notifications(partition, "commands"),
    ];
    const { seq, cursor, hash, body } = snapshot;
    const named = parts.map((part) => `${part.hash} `).join("");
    const stored = parts.flatMap((part) => [part.hash, part.body]);
    const options = this.#notificationOptions(NO_BODIES);
    const args = [options, partition, actor, seq, cursor, hash, body, named, ...stored];
    return (await this.#run("restore-actor", keys, args)) === 1;
  }

  async wanted(partitions: readonly string[]): Promise<readonly ActorId[]> {
    const sets = await Promise.all(
      partitions.map((partition) => this.#connection.smembers(this.#keys.wanted(partition))),
    );
    return sets.flat() as ActorId[];
  }

  async heartbeat(heartbeat: Heartbeat): Promise<readonly LiveWorker[]> {
    const { keys, args } = heartbeatCall(this.#keys, heartbeat);
    return liveWorkers((await this.#run("heartbeat", keys, args)) as string[]);
  }

  async leave(worker: string): Promise<void> {
    await this.#connection.hdel(this.#keys.workerRecords(), worker);
    await this.#connection.zrem(this.#keys.workers(), worker);
  }

  async time({ name, engineMs, confirmed, hostDifferenceMs }: TimeReport): Promise<LogTime> {
    const keys = [this.#keys.engineTime(), this.#keys.hostClocks()];
    return logTime(await this.#run("time", keys, [name, engineMs ?? "", confirmed, hostDifferenceMs ?? ""]));
  }

  async holdTime({ heldMs, confirmed }: LogTime, newHeldMs: number): Promise<boolean> {
    return (await this.#run("hold-time", [this.#keys.engineTime()], [heldMs, confirmed, newHeldMs])) === 1;
  }

  async confirmTime(): Promise<void> {
    await this.#run("confirm-time", [this.#keys.engineTime()], [LARGER_JUMP_MS]);
  }

  async clockReport(): Promise<ClockReport> {
    const [held, hosts, time] = await Promise.all([
      this.#connection.hget(this.#keys.engineTime(), "held"),
      this.#connection.hgetall(this.#keys.hostClocks()),
      this.#connection.time(),
    ]);
    return { heldMs: Number(held ?? 0), hosts: recentDifferences(hosts, Number(time[0]) * 1_000) };
  }

  async leases(partitions: readonly string[]): Promise<ReadonlyMap<string, Lease>> {
    const read = async (partition: string): Promise<readonly [string, Lease]> => {
      const [owner, epoch] = await this.#connection.hmget(this.#keys.lease(partition), "owner", "epoch");
      return [
        partition,
        { owner: owner === null || owner === "" ? undefined : owner, epoch: Number(epoch ?? 0) },
      ];
    };
    const reads = await Promise.allSettled(partitions.map(read));
    const leases = reads.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = reads.find((result) => result.status === "rejected");
    // A node of a cluster that is away does not hide the leases on the others.
    if (failed !== undefined && (leases.length === 0 || !this.#isCluster)) throw failed.reason;
    return new Map(leases);
  }

  async take(partition: string, worker: string, epoch: number): Promise<TakeOutcome> {
    const args = [worker, epoch, randomUUID().slice(0, 8)];
    const lease = this.#keys.lease(partition);
    // The replicas then have everything that the owner before has written.
    const reply = await this.#replication.written(partition, lease, () => this.#run("take", [lease], args));
    const [taken, incarnation = ""] = reply as [number, string?];
    return taken === 0 ? { kind: "changed" } : { kind: "taken", epoch: taken, incarnation };
  }

  async release(partition: string, epoch: number): Promise<void> {
    await this.#run("release", [this.#keys.lease(partition)], [epoch]);
  }

  listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener {
    const listener: NotificationListener = new NotificationListener({
      clock: systemClock,
      database: this.#database,
      subscribe: (channel, reader) => this.#subscriber.listen(channel, reader),
      channelsOf: (partition) => {
        const [group, own] = this.#notifications(partition, kind);
        // Found by a pattern, because the scripts publish there only if a process has subscribed to it by its name.
        return group === own ? [{ name: own }] : [{ name: own }, { name: group, byPattern: true }];
      },
      countsOf: (channels) => this.#countsOf(channels),
      onNotification,
      onClosed: () => this.#listeners.delete(listener),
    });
    this.#listeners.add(listener);
    return listener;
  }

  /** Reads counters. On a cluster, one on a node that does not answer is `undefined`. */
  async #countsOf(keys: readonly string[]): Promise<readonly (number | undefined)[]> {
    if (!this.#isCluster) return (await this.#connection.mget(...keys)).map((count) => Number(count ?? 0));
    const reads = await Promise.allSettled(keys.map((key) => this.#connection.get(key)));
    return reads.map((read) => (read.status === "fulfilled" ? Number(read.value ?? 0) : undefined));
  }

  async subscribe(feed: string, reader: FeedReader): Promise<Subscription> {
    return this.#subscriber.subscribe(this.#keys.feed(feed), reader);
  }

  async publish({ feed, body }: Publication): Promise<void> {
    await this.#anyNode().publish(this.#keys.feed(feed), body);
  }

  /** Returns the server, or a node of the cluster that is connected. */
  #anyNode(): Connection {
    if (this.#connection instanceof Redis) return this.#connection;
    return this.#connection.nodes("master").find(({ status }) => status === "ready") ?? this.#connection;
  }

  async announce(role: string, aliveMs: number): Promise<Announcements> {
    const keys = [this.#keys.roles(), this.#keys.workers(), this.#keys.format()];
    const [reply, gateways] = await Promise.all([
      this.#run("announce", keys, [role, aliveMs]),
      this.#connection.zrange(this.#keys.gateways(), 0, -1, "WITHSCORES"),
    ]);
    const [nowMs, record, ...roles] = reply as [number, string, ...string[]];
    // On a cluster the gateways are on another server than the roles, so no script can read both.
    const silent = [...scoresOf(gateways)].filter(
      ([name, ms]) => !isAnnounced(name) && ms >= nowMs - aliveMs,
    );
    return { nowMs, record, roles: [...roles, ...silent.map(([name]) => name)] };
  }

  async withdraw(role: string): Promise<void> {
    await this.#connection.zrem(this.#keys.roles(), role);
  }

  async recordFormat(expected: string, record: string): Promise<void> {
    await this.#run("record-format", [this.#keys.format()], [expected, record]);
  }

  async markHalted(actor: ActorId, reason: string | undefined): Promise<void> {
    if (reason === undefined) await this.#connection.hdel(this.#keys.halted(), actor);
    else await this.#connection.hset(this.#keys.halted(), actor, reason);
  }

  async halted(): Promise<ReadonlyMap<ActorId, string>> {
    const fields = await this.#connection.hgetall(this.#keys.halted());
    return new Map(Object.entries(fields) as [ActorId, string][]);
  }

  async quarantine(): Promise<readonly QuarantineRecord[]> {
    const streams = await Promise.all(
      PARTITIONS.map(async (partition) => {
        const messages = await this.#connection.xrange(this.#keys.quarantine(partition), "-", "+");
        return messages.map(([id, fields]) => ({ partition, id, body: fields[1] ?? "" }));
      }),
    );
    return streams.flat();
  }

  async dismiss({ partition, id }: Pick<QuarantineRecord, "partition" | "id">): Promise<boolean> {
    return (await this.#connection.xdel(this.#keys.quarantine(partition), id)) === 1;
  }

  async quarantineSize(): Promise<number> {
    const keys = PARTITIONS.map((partition) => this.#keys.quarantine(partition));
    const sizes = await Promise.all(keys.map((key) => this.#connection.xlen(key)));
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  async installation(facts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const key = this.#keys.installation();
    for (const [name, value] of Object.entries(facts)) await this.#connection.hsetnx(key, name, value);
    return this.#connection.hgetall(key);
  }

  async condition(): Promise<LogCondition> {
    const nodes = "nodes" in this.#connection ? this.#connection.nodes("master") : [this.#connection];
    const [disk, reads] = await Promise.all([
      this.#connection.get(this.#keys.disk()).catch((error: unknown) => {
        if (this.#isCluster) return null;
        throw error;
      }),
      Promise.allSettled(
        nodes.map(async (node) =>
          conditionOf((await node.info("memory")) + (await node.info("persistence"))),
        ),
      ),
    ]);
    const servers = reads.flatMap((read) => (read.status === "fulfilled" ? [read.value] : []));
    const failed = reads.find((read) => read.status === "rejected");
    // A node of a cluster that is away refuses what is meant for it, and does not hide that another one is full.
    if (servers.length === 0) throw failed?.reason ?? new Error("no primary of the cluster is connected");
    return {
      isPartial: failed !== undefined,
      memoryUse: Math.max(0, ...servers.map(({ memoryUse }) => memoryUse)),
      memoryBytes: servers.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
      memoryLimitBytes: servers.reduce((sum, { memoryLimitBytes }) => sum + memoryLimitBytes, 0),
      fault: servers.find(({ fault }) => fault !== undefined)?.fault,
      disk: disk ?? undefined,
    };
  }

  async reportDisk(reason: string | undefined, ttlMs: number): Promise<void> {
    if (reason === undefined) await this.#connection.del(this.#keys.disk());
    else await this.#connection.set(this.#keys.disk(), reason, "PX", ttlMs);
  }

  onLost(listener: LostListener): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#listeners].map((listener) => listener.close()));
    this.#subscriber.close();
    this.#connection.disconnect();
  }
}
