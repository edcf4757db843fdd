/**
 * The log in memory, for tests and simulations. Each `MemoryLog` is the connection of one process to a shared
 * `MemoryStore`. The gate simulates the faults of a network and of crashes.
 */

import { type ActorId, PARTITIONS } from "../../../actors/actor.js";
import { type Clock, systemClock } from "../../../stream/log/clock.js";
import { isAnnounced } from "../../../stream/log/formats.js";
import { type Appended, isShort, packNotification } from "../../../stream/log/notifications.js";
import { Keys } from "../../../stream/redis/keys.js";
import { NotificationListener } from "../../../stream/redis/listener.js";
import { confirmedJump, recentDifferences } from "../../../stream/redis/replies.js";
import {
  type Announcements,
  type AppendOutcome,
  type NotificationKind,
  type Change,
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
  type StreamSize,
  type Subscription,
  type TakeOutcome,
  QUARANTINE_MESSAGES,
  type QuarantineRecord,
  type Unprojected,
} from "../../../stream/log/log.js";
import { recordHeartbeat } from "./memory-heartbeat.js";
import { MemoryChannel, type MemoryChannelPorts, MemoryFeed } from "./memory-listener.js";
import type { MemoryStore } from "./memory-store.js";

export type Operation =
  Exclude<keyof Log, "commitGroupOf" | "reaches" | "listen" | "onLost" | "close"> | "countsOf";

/**
 * Carries an operation to the store, and its result back. The default gate calls `apply` once and resolves with its
 * result. A simulated gate may call `apply` later, twice or never, and in each case may resolve, reject or stay
 * pending.
 */
export type Gate = <T>(operation: Operation, apply: () => T) => Promise<T>;

export interface MemoryLogOptions {
  readonly clock?: Clock | undefined;
  readonly gate?: Gate | undefined;
  /** True (default) for one commit group, as on a single server; false for one group per partition, as on a cluster. */
  readonly oneGroup?: boolean | undefined;
  /** Returns true for a notification that is lost on its way to this process (default none is). */
  readonly losesNotification?: (() => boolean) | undefined;
}

const KEYS = new Keys("");
/** Number of the only database. */
const DATABASE = 0;

export class MemoryLog implements Log {
  readonly #store: MemoryStore;
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #oneGroup: boolean;
  readonly #losesNotification: () => boolean;
  readonly #lostListeners = new Set<Parameters<Log["onLost"]>[0]>();
  readonly #open = new Set<{ close(): Promise<void> }>();
  readonly #stopWatchingPowerCuts: () => void;

  constructor(store: MemoryStore, options: MemoryLogOptions = {}) {
    this.#store = store;
    this.#clock = options.clock ?? systemClock;
    this.#gate = options.gate ?? ((_operation, apply) => new Promise((resolve) => resolve(apply())));
    this.#oneGroup = options.oneGroup ?? true;
    this.#losesNotification = options.losesNotification ?? (() => false);
    this.#stopWatchingPowerCuts = store.onPowerCut(() => this.disconnect());
  }

  /** Cuts the connection, and reconnects at once. */
  disconnect(): void {
    for (const listener of this.#lostListeners) listener(() => true);
  }

  #perform<T>(operation: Operation, apply: () => T): Promise<T> {
    return this.#gate(operation, () => this.#store.operate(apply));
  }

  commitGroupOf(partition: string): string {
    return this.#oneGroup ? "all" : partition;
  }

  reaches(from: string, to: string): boolean {
    return this.commitGroupOf(from) === this.commitGroupOf(to);
  }

  #notify(kind: NotificationKind, appended: readonly Appended[]): void {
    const isInline = isShort(appended);
    for (const partition of new Set(appended.map((record) => record.partition))) {
      const records = appended.filter((record) => record.partition === partition);
      const channel = KEYS.notifications(partition, kind);
      const number = this.#number(channel, "count") + 1;
      this.#store.set(channel, "count", String(number));
      this.#store.publish(channel, packNotification(number, DATABASE, records, isInline));
    }
  }

  append(
    partition: string,
    deliveries: readonly Delivery[],
    capacity = 0,
    fences: readonly Ownership[] = [],
  ): Promise<readonly AppendOutcome[]> {
    return this.#perform("append", () => {
      const fenced = KEYS.fences(partition);
      for (const fence of fences)
        if (fence.epoch > this.#number(fenced, fence.partition))
          this.#store.set(fenced, fence.partition, String(fence.epoch));
      const appended: Appended[] = [];
      const results = deliveries.map(({ from, ...delivery }): AppendOutcome => {
        if (from !== undefined && from.epoch < this.#number(fenced, from.partition)) return "fenced";
        const { entries } = this.#store.stream(KEYS.mailbox(partition, delivery.to));
        if (capacity > 0 && entries.length >= capacity) return "full";
        return this.#append({ partition, ...delivery }, appended);
      });
      this.#notify("commands", appended);
      return results;
    });
  }

  #append({ partition, to, body }: Departure, appended: Appended[]): AppendOutcome {
    const mailbox = KEYS.mailbox(partition, to);
    const isFirst = this.#store.stream(mailbox).entries.length === 0;
    const position = this.#store.append(mailbox, body);
    if (this.#store.get(KEYS.actors(partition), to) === undefined)
      this.#store.set(KEYS.actors(partition), to, "");
    appended.push({ partition, actor: to, position, body });
    if (!isFirst || this.#head(partition, to).removed === undefined) return "appended";
    this.#store.set(KEYS.wanted(partition), to, "");
    return "removed";
  }

  readMailboxes(
    reads: readonly MailboxRead[],
    limit: number,
  ): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    return this.#perform("readMailboxes", () => {
      const found = new Map<ActorId, readonly Message[]>();
      for (const { partition, actor, after } of reads) {
        const messages = this.#store.after(KEYS.mailbox(partition, actor), positionOf(after), limit);
        if (messages.length === 0) continue;
        found.set(
          actor,
          messages.map(({ id, body }) => ({ id: cursorAt(id), body })),
        );
      }
      return found;
    });
  }

  #number(key: string, field: string): number {
    return Number(this.#store.get(key, field) ?? 0);
  }

  #head(partition: string, actor: ActorId): Head {
    const key = KEYS.head(partition, actor);
    const removed = this.#store.get(key, "removed");
    return {
      seq: this.#number(key, "seq"),
      cursor: this.#store.get(key, "cursor") ?? NO_CURSOR,
      relayed: this.#number(key, "relayed"),
      projected: this.#number(key, "projected"),
      snapshot: this.#number(key, "snapshot"),
      previous: this.#number(key, "previous"),
      lineage: this.#store.get(key, "lineage") ?? "",
      ...(removed === undefined ? {} : { removed }),
    };
  }

  actors(partition: string): Promise<readonly ActorId[]> {
    return this.#perform("actors", () => [...this.#store.fields(KEYS.actors(partition)).keys()] as ActorId[]);
  }

  scan(partition: string): Promise<readonly ActorStatus[]> {
    return this.#perform("scan", () => {
      const actors = [...this.#store.fields(KEYS.actors(partition)).keys()].sort() as ActorId[];
      return actors.map((actor) => {
        const deadline = this.#store.get(KEYS.deadlines(partition), actor);
        return {
          actor,
          head: this.#head(partition, actor),
          waiting: this.#store.stream(KEYS.mailbox(partition, actor)).entries.length,
          retained: this.#store.stream(KEYS.deltas(partition, actor)).entries.length,
          deadlineMs: deadline === undefined ? undefined : Number(deadline),
        };
      });
    });
  }

  unprojected(partition: string): Promise<readonly Unprojected[]> {
    return this.#perform("unprojected", () => {
      const actors = [...this.#store.fields(KEYS.actors(partition)).keys()] as ActorId[];
      return actors
        .map((actor) => ({ actor, head: this.#head(partition, actor) }))
        .filter(({ head }) => head.seq > head.projected)
        .map(({ actor, head }) => ({ actor, seq: head.seq, projected: head.projected }));
    });
  }

  heads(partition: string, actors: readonly ActorId[]): Promise<readonly Head[]> {
    return this.#perform("heads", () => actors.map((actor) => this.#head(partition, actor)));
  }

  commit({ ownerships, changes, departures = [], publications = [] }: Commit): Promise<CommitOutcome> {
    return this.#perform("commit", (): CommitOutcome => {
      for (const { partition, epoch } of ownerships) {
        if (this.#number(KEYS.lease(partition), "epoch") !== epoch) return { kind: "fenced", partition };
      }
      const seqs = new Map<ActorId, number>();
      for (const { partition, actor, expectedSeq, entry, resumed } of changes) {
        const head = this.#head(partition, actor);
        const seq = seqs.get(actor) ?? head.seq;
        if (head.removed !== undefined) return { kind: "removed", actor };
        if (seq !== expectedSeq) return { kind: "conflict", actor };
        seqs.set(actor, entry === undefined ? seq : (resumed?.seq ?? seq + 1));
      }
      const appended: Appended[] = [];
      for (const change of changes) {
        this.#apply(change);
        const { partition, actor, expectedSeq, entry, resumed } = change;
        if (entry === undefined) continue;
        appended.push({ partition, actor, position: resumed?.seq ?? expectedSeq + 1, body: entry });
      }
      const messages: Appended[] = [];
      for (const departure of departures) this.#append(departure, messages);
      this.#notify("commands", messages);
      for (const { feed, body } of publications) this.#store.publish(KEYS.feed(feed), body);
      this.#notify("deltas", appended);
      return { kind: "ok" };
    });
  }

  #apply(change: Change): void {
    const { partition, actor, expectedSeq, cursor, entry, deadlineMs, relayed, resumed, quarantined } =
      change;
    const head = KEYS.head(partition, actor);
    const seq = entry === undefined ? expectedSeq : (resumed?.seq ?? expectedSeq + 1);
    if (entry !== undefined) {
      this.#store.append(KEYS.deltas(partition, actor), entry, seq);
      this.#store.set(head, "seq", String(seq));
      if (resumed !== undefined) this.#store.set(head, "lineage", resumed.lineage);
    }
    if (relayed === true) this.#store.set(head, "relayed", String(seq));
    this.#store.set(head, "cursor", cursor);
    this.#store.trim(KEYS.mailbox(partition, actor), positionOf(cursor) + 1);
    if (quarantined !== undefined) this.#quarantine(partition, quarantined);
    if (deadlineMs === undefined) return;
    this.#store.set(KEYS.deadlines(partition), actor, deadlineMs === null ? undefined : String(deadlineMs));
  }

  readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]> {
    return this.#perform("readEntries", () =>
      reads.flatMap(({ partition, actor, afterSeq }) => {
        const entries = this.#store
          .after(KEYS.deltas(partition, actor), afterSeq, limit)
          .map(({ id, body }) => ({ seq: id, body }));
        return entries.length === 0 ? [] : [{ actor, entries, gap: entries[0]?.seq !== afterSeq + 1 }];
      }),
    );
  }

  markRelayed(partition: string, epoch: number, marks: readonly Mark[]): Promise<boolean> {
    return this.#perform("markRelayed", () => {
      if (this.#number(KEYS.lease(partition), "epoch") !== epoch) return false;
      this.#mark("relayed", partition, marks);
      return true;
    });
  }

  markProjected(partition: string, marks: readonly Mark[]): Promise<void> {
    return this.#perform("markProjected", () => this.#mark("projected", partition, marks));
  }

  #mark(field: "relayed" | "projected" | "window", partition: string, marks: readonly Mark[]): void {
    for (const { actor, seq } of marks) {
      const key = KEYS.head(partition, actor);
      if (seq > this.#number(key, field)) this.#store.set(key, field, String(seq));
      const head = this.#head(partition, actor);
      const window = this.#number(key, "window");
      const keep = Math.min(head.seq, window, head.previous + 1, head.relayed + 1, head.projected + 1);
      this.#store.trim(KEYS.deltas(partition, actor), keep);
    }
  }

  sizes(partition: string, actors: readonly ActorId[]): Promise<readonly ActorSize[]> {
    return this.#perform("sizes", () =>
      actors.map((actor) => {
        const sizeOf = (key: string): StreamSize => {
          const { entries } = this.#store.stream(key);
          return { entries: entries.length, bytes: entries.reduce((sum, { body }) => sum + body.length, 0) };
        };
        const fields = [
          KEYS.snapshot(partition, actor, "latest"),
          KEYS.snapshot(partition, actor, "previous"),
          KEYS.parts(partition, actor),
        ].flatMap((key) => [...this.#store.fields(key).values()]);
        return {
          deltas: sizeOf(KEYS.deltas(partition, actor)),
          mailbox: sizeOf(KEYS.mailbox(partition, actor)),
          snapshotBytes: fields.reduce((sum, { length }) => sum + length, 0),
        };
      }),
    );
  }

  trim(partition: string, windows: readonly Mark[]): Promise<void> {
    return this.#perform("trim", () => this.#mark("window", partition, windows));
  }

  writeParts(
    partition: string,
    epoch: number,
    actor: ActorId,
    parts: readonly SnapshotPart[],
  ): Promise<boolean> {
    return this.#perform("writeParts", () => {
      if (this.#number(KEYS.lease(partition), "epoch") !== epoch) return false;
      for (const { hash, body } of parts) this.#store.set(KEYS.parts(partition, actor), hash, body);
      return true;
    });
  }

  readParts(
    partition: string,
    actor: ActorId,
    hashes: readonly string[],
  ): Promise<readonly (string | undefined)[]> {
    return this.#perform("readParts", () =>
      hashes.map((hash) => this.#store.get(KEYS.parts(partition, actor), hash)),
    );
  }

  removeParts(partition: string, epoch: number, actor: ActorId, limit: number): Promise<number> {
    return this.#perform("removeParts", () => {
      if (this.#number(KEYS.lease(partition), "epoch") !== epoch) return 0;
      const named = (["latest", "previous"] as const).flatMap((which) =>
        (this.#store.get(KEYS.snapshot(partition, actor, which), "parts") ?? "").split(" "),
      );
      const key = KEYS.parts(partition, actor);
      const unnamed = [...this.#store.fields(key).keys()].filter((hash) => !named.includes(hash));
      for (const hash of unnamed.slice(0, limit)) this.#store.set(key, hash, undefined);
      return Math.max(0, unnamed.length - limit);
    });
  }

  writeSnapshot(
    partition: string,
    epoch: number,
    actor: ActorId,
    snapshot: Snapshot,
    parts: readonly string[] = [],
  ): Promise<boolean> {
    return this.#perform("writeSnapshot", () => {
      const head = this.#head(partition, actor);
      if (this.#number(KEYS.lease(partition), "epoch") !== epoch) return false;
      if (snapshot.seq < head.snapshot || snapshot.seq > head.seq || head.removed !== undefined) return false;
      const isStored = (hash: string): boolean =>
        this.#store.get(KEYS.parts(partition, actor), hash) !== undefined;
      if (!parts.every(isStored)) return false;
      const latest = KEYS.snapshot(partition, actor, "latest");
      if (head.snapshot > 0) {
        const previous = KEYS.snapshot(partition, actor, "previous");
        for (const [field, value] of this.#store.fields(latest)) this.#store.set(previous, field, value);
        this.#store.set(KEYS.head(partition, actor), "previous", String(head.snapshot));
      }
      const fields = { ...snapshot, parts: parts.join(" ") };
      for (const [field, value] of Object.entries(fields)) this.#store.set(latest, field, String(value));
      this.#store.set(KEYS.head(partition, actor), "snapshot", String(snapshot.seq));
      return true;
    });
  }

  readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined> {
    return this.#perform("readSnapshot", () => {
      const kept = this.#store.fields(KEYS.snapshot(partition, actor, which));
      const seq = kept.get("seq");
      if (seq === undefined) return undefined;
      const [cursor = NO_CURSOR, hash = "", body = ""] = [
        kept.get("cursor"),
        kept.get("hash"),
        kept.get("body"),
      ];
      return { seq: Number(seq), cursor, hash, body };
    });
  }

  readStored(partition: string, actor: ActorId): Promise<StoredActor | undefined> {
    return this.#perform("readStored", () => {
      const kept = this.#store.fields(KEYS.snapshot(partition, actor, "latest"));
      const [seq, cursor = NO_CURSOR] = [kept.get("seq"), kept.get("cursor")];
      if (seq === undefined) return undefined;
      const named = (kept.get("parts") ?? "").split(" ").filter((hash) => hash !== "");
      const parts = named.map((hash) => ({
        hash,
        body: this.#store.get(KEYS.parts(partition, actor), hash) ?? "",
      }));
      const snapshot = {
        seq: Number(seq),
        cursor,
        hash: kept.get("hash") ?? "",
        body: kept.get("body") ?? "",
      };
      return { snapshot, parts };
    });
  }

  removeActor(partition: string, actor: ActorId, hash: string): Promise<boolean> {
    return this.#perform("removeActor", () => {
      const head = this.#head(partition, actor);
      if (head.removed !== undefined) return head.removed === hash;
      const latest = KEYS.snapshot(partition, actor, "latest");
      const isIdle =
        head.seq > 0 &&
        Math.min(head.relayed, head.projected) >= head.seq &&
        head.snapshot === head.seq &&
        this.#store.stream(KEYS.mailbox(partition, actor)).entries.length === 0 &&
        this.#store.get(KEYS.deadlines(partition), actor) === undefined &&
        this.#store.get(latest, "hash") === hash;
      if (!isIdle) return false;
      this.#store.trim(KEYS.deltas(partition, actor), Infinity);
      const previous = KEYS.snapshot(partition, actor, "previous");
      for (const key of [latest, previous, KEYS.parts(partition, actor)]) this.#clear(key);
      const key = KEYS.head(partition, actor);
      for (const field of ["snapshot", "previous", "window"]) this.#store.set(key, field, undefined);
      this.#store.set(key, "removed", hash);
      this.#store.set(KEYS.actors(partition), actor, undefined);
      return true;
    });
  }

  #clear(key: string): void {
    for (const field of [...this.#store.fields(key).keys()]) this.#store.set(key, field, undefined);
  }

  restoreActor(partition: string, actor: ActorId, { snapshot, parts }: StoredActor): Promise<boolean> {
    return this.#perform("restoreActor", () => {
      const key = KEYS.head(partition, actor);
      if (this.#store.get(key, "removed") !== snapshot.hash) return false;
      const latest = KEYS.snapshot(partition, actor, "latest");
      const fields = { ...snapshot, parts: parts.map(({ hash }) => hash).join(" ") };
      for (const [field, value] of Object.entries(fields)) this.#store.set(latest, field, String(value));
      for (const { hash, body } of parts) this.#store.set(KEYS.parts(partition, actor), hash, body);
      this.#store.set(key, "removed", undefined);
      this.#store.set(key, "snapshot", String(snapshot.seq));
      this.#store.set(KEYS.actors(partition), actor, "");
      this.#store.set(KEYS.wanted(partition), actor, undefined);
      this.#notify("commands", [{ partition, actor, position: 0, body: "\n" }]);
      return true;
    });
  }

  wanted(partitions: readonly string[]): Promise<readonly ActorId[]> {
    return this.#perform("wanted", () =>
      partitions.flatMap((partition) => [...this.#store.fields(KEYS.wanted(partition)).keys()] as ActorId[]),
    );
  }

  heartbeat(heartbeat: Heartbeat): Promise<readonly LiveWorker[]> {
    return this.#perform("heartbeat", () => {
      const nowMs = this.#clock.now();
      this.#store.set(KEYS.workers(), heartbeat.worker, String(nowMs));
      return recordHeartbeat(this.#store, nowMs, heartbeat);
    });
  }

  leave(worker: string): Promise<void> {
    return this.#perform("leave", () => {
      this.#store.set(KEYS.workerRecords(), worker, undefined);
      this.#store.set(KEYS.workers(), worker, undefined);
    });
  }

  time({ name, engineMs, confirmed: seen, hostDifferenceMs }: TimeReport): Promise<LogTime> {
    return this.#perform("time", () => {
      const key = KEYS.engineTime();
      const logMs = this.#clock.now();
      const confirmed = this.#number(key, "confirmed");
      const recorded = this.#store.get(key, "engine");
      if (engineMs !== undefined && seen === confirmed) this.#store.set(key, "engine", String(engineMs));
      const record = hostDifferenceMs === undefined ? undefined : `${hostDifferenceMs} ${logMs}`;
      this.#store.set(KEYS.hostClocks(), name, record);
      const heldMs = this.#number(key, "held");
      const lastJump = confirmedJump(this.#store.get(key, "last") ?? "");
      return {
        logMs,
        heldMs,
        confirmed,
        engineMs: recorded === undefined ? undefined : Number(recorded),
        lastJump,
      };
    });
  }

  holdTime({ heldMs, confirmed }: LogTime, newHeldMs: number): Promise<boolean> {
    return this.#perform("holdTime", () => {
      const key = KEYS.engineTime();
      if (this.#number(key, "held") !== heldMs || this.#number(key, "confirmed") !== confirmed) return false;
      this.#store.set(key, "held", String(newHeldMs));
      return true;
    });
  }

  confirmTime(): Promise<void> {
    return this.#perform("confirmTime", () => {
      const key = KEYS.engineTime();
      const [atMs, heldMs] = [this.#clock.now(), this.#number(key, "held")];
      if (heldMs === 0) return;
      const last = confirmedJump(this.#store.get(key, "last") ?? "");
      const isLarger =
        last !== undefined && atMs - last.atMs < LARGER_JUMP_MS && Math.abs(last.heldMs) > Math.abs(heldMs);
      if (!isLarger) this.#store.set(key, "last", `${atMs} ${heldMs}`);
      for (const field of ["held", "engine"]) this.#store.set(key, field, undefined);
      this.#store.set(key, "confirmed", String(this.#number(key, "confirmed") + 1));
    });
  }

  clockReport(): Promise<ClockReport> {
    return this.#perform("clockReport", () => {
      const hosts = Object.fromEntries(this.#store.fields(KEYS.hostClocks()));
      const heldMs = this.#number(KEYS.engineTime(), "held");
      return { heldMs, hosts: recentDifferences(hosts, this.#clock.now()) };
    });
  }

  leases(partitions: readonly string[]): Promise<ReadonlyMap<string, Lease>> {
    return this.#perform(
      "leases",
      () =>
        new Map(
          partitions.map((partition) => {
            const owner = this.#store.get(KEYS.lease(partition), "owner") ?? "";
            const epoch = this.#number(KEYS.lease(partition), "epoch");
            return [partition, { owner: owner === "" ? undefined : owner, epoch }];
          }),
        ),
    );
  }

  take(partition: string, worker: string, epoch: number): Promise<TakeOutcome> {
    return this.#perform("take", (): TakeOutcome => {
      const key = KEYS.lease(partition);
      if (this.#number(key, "epoch") !== epoch) return { kind: "changed" };
      const known = this.#store.get(key, "server");
      const { server } = this.#store;
      const isNewServer = known !== undefined && known !== server;
      if (known !== server) this.#store.set(key, "server", server);
      if (isNewServer) this.#store.set(key, "incarnation", `s${server}`);
      const next = epoch + (isNewServer ? 1_000_000 : 1);
      this.#store.set(key, "owner", worker);
      this.#store.set(key, "epoch", String(next));
      return { kind: "taken", epoch: next, incarnation: this.#store.get(key, "incarnation") ?? "" };
    });
  }

  release(partition: string, epoch: number): Promise<void> {
    return this.#perform("release", () => {
      const key = KEYS.lease(partition);
      if (this.#number(key, "epoch") !== epoch) return;
      this.#store.set(key, "owner", "");
      this.#store.set(key, "epoch", String(epoch + 1));
    });
  }

  listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener {
    const ports: MemoryChannelPorts = {
      store: this.#store,
      onLost: (lost) => this.onLost(lost),
      subscribe: (begin) => this.#perform("subscribe", begin),
      loses: this.#losesNotification,
    };
    const listener: NotificationListener = new NotificationListener({
      clock: this.#clock,
      database: DATABASE,
      subscribe: ({ name }, reader) => {
        const channel = new MemoryChannel(ports, name, reader);
        return () => channel.close();
      },
      channelsOf: (partition) => [{ name: KEYS.notifications(partition, kind) }],
      countsOf: (channels) => this.countsOf(channels),
      onNotification,
      onClosed: () => this.#open.delete(listener),
    });
    this.#open.add(listener);
    return listener;
  }

  /** Returns the number of notifications that were published on each channel. */
  countsOf(channels: readonly string[]): Promise<readonly number[]> {
    return this.#perform("countsOf", () => channels.map((channel) => this.#number(channel, "count")));
  }

  subscribe(feed: string, reader: FeedReader): Promise<Subscription> {
    return this.#perform("subscribe", () => {
      const ports = { store: this.#store, onLost: (lost: () => void) => this.onLost(lost) };
      const subscription = new MemoryFeed(ports, KEYS.feed(feed), reader);
      this.#open.add(subscription);
      return subscription;
    });
  }

  publish({ feed, body }: Publication): Promise<void> {
    return this.#perform("publish", () => this.#store.publish(KEYS.feed(feed), body));
  }

  announce(role: string, aliveMs: number): Promise<Announcements> {
    return this.#perform("announce", () => {
      const nowMs = this.#clock.now();
      const announced = this.#store.fields(KEYS.roles());
      const newestMs = announced.size === 0 ? nowMs : Math.max(...[...announced.values()].map(Number));
      if (Math.abs(nowMs - newestMs) > aliveMs / 6)
        for (const name of announced.keys()) this.#store.set(KEYS.roles(), name, String(nowMs));
      this.#store.set(KEYS.roles(), role, String(nowMs));
      const alive = (key: string): readonly string[] =>
        [...this.#store.fields(key)].filter(([, ms]) => Number(ms) >= nowMs - aliveMs).map(([name]) => name);
      for (const name of this.#store.fields(KEYS.roles()).keys())
        if (!alive(KEYS.roles()).includes(name)) this.#store.set(KEYS.roles(), name, undefined);
      const silent = [...alive(KEYS.workers()), ...alive(KEYS.gateways())].filter(
        (name) => !isAnnounced(name),
      );
      const record = this.#store.get(KEYS.format(), "record") ?? "";
      return { nowMs, record, roles: [...alive(KEYS.roles()), ...silent] };
    });
  }

  withdraw(role: string): Promise<void> {
    return this.#perform("withdraw", () => this.#store.set(KEYS.roles(), role, undefined));
  }

  recordFormat(expected: string, record: string): Promise<void> {
    return this.#perform("recordFormat", () => {
      if ((this.#store.get(KEYS.format(), "record") ?? "") !== expected) return;
      this.#store.set(KEYS.format(), "record", record);
    });
  }

  markHalted(actor: ActorId, reason: string | undefined): Promise<void> {
    return this.#perform("markHalted", () => this.#store.set(KEYS.halted(), actor, reason));
  }

  #quarantine(partition: string, message: string): void {
    const key = KEYS.quarantine(partition);
    const position = this.#store.append(key, message);
    this.#store.trim(key, position - QUARANTINE_MESSAGES + 1);
  }

  quarantine(): Promise<readonly QuarantineRecord[]> {
    return this.#perform("quarantine", () => this.#quarantined());
  }

  dismiss({ partition, id }: Pick<QuarantineRecord, "partition" | "id">): Promise<boolean> {
    return this.#perform("dismiss", () => this.#store.remove(KEYS.quarantine(partition), Number(id)));
  }

  quarantineSize(): Promise<number> {
    return this.#perform("quarantine", () => this.#quarantined().length);
  }

  #quarantined(): readonly QuarantineRecord[] {
    return PARTITIONS.flatMap((partition) =>
      this.#store
        .stream(KEYS.quarantine(partition))
        .entries.map(({ id, body }) => ({ partition, id: String(id), body })),
    );
  }

  halted(): Promise<ReadonlyMap<ActorId, string>> {
    return this.#perform(
      "halted",
      () => new Map(this.#store.fields(KEYS.halted()) as ReadonlyMap<ActorId, string>),
    );
  }

  installation(facts: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    return this.#perform("installation", () => {
      const key = KEYS.installation();
      for (const [name, value] of Object.entries(facts)) {
        if (this.#store.get(key, name) === undefined) this.#store.set(key, name, value);
      }
      return Object.fromEntries(this.#store.fields(key));
    });
  }

  condition(): Promise<LogCondition> {
    return this.#perform("condition", () => {
      const disk = this.#store.get(KEYS.disk(), "report");
      return { memoryUse: 0, memoryBytes: 0, memoryLimitBytes: 0, disk };
    });
  }

  reportDisk(reason: string | undefined): Promise<void> {
    return this.#perform("reportDisk", () => this.#store.set(KEYS.disk(), "report", reason));
  }

  onLost(listener: Parameters<Log["onLost"]>[0]): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#stopWatchingPowerCuts();
    await Promise.all([...this.#open].map((reader) => reader.close()));
  }
}
