/** Process of the simulated deployment, with its own clock, its own connection, and methods that make it fail. */

import type { ActorId } from "../../../actors/actor.js";
import { type Format, LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import type { Clock } from "../../../stream/log/clock.js";
import type {
  Commit,
  CommitOutcome,
  EntriesOf,
  EntryRead,
  FeedReader,
  Listener,
  MailboxRead,
  Message,
  Notification,
  NotificationKind,
  Snapshot,
  Subscription,
  TakeOutcome,
} from "../../../stream/log/log.js";
import { MemoryLog, type Operation } from "../../support/log/memory-log.js";
import type { MemoryStore } from "../../support/log/memory-store.js";
import type { Call, Caller, Network } from "./network.js";
import type { Scheduler } from "./scheduler.js";

/** Store, time and network that the processes run on. */
export interface Machine {
  readonly store: MemoryStore;
  readonly scheduler: Scheduler;
  readonly network: Network;
  /** Step of the clock of the log, in ms. */
  readonly logClock: { stepMs: number };
  /** True when all partitions form one commit group. */
  readonly oneGroup: boolean;
  /** Change that a planted bug makes to each outgoing commit, and to the answer. */
  readonly changeCommit: (commit: Commit) => Commit;
  readonly changeOutcome: (outcome: Promise<CommitOutcome>) => Promise<CommitOutcome>;
  /** Called when a process reads data that it must never meet. */
  readonly onViolation: (error: Error) => void;
}

/** Details of the operation that the network carries next. */
type CallDetails = Pick<Call, "partition" | "commit">;

export class Process implements Caller {
  readonly name: string;
  readonly clock: Clock;
  readonly log: MemoryLog;
  /** Latest format that the build of the process reads. Its machine fails when it reads anything later. */
  readsUpTo: Format = LATEST_FORMAT;
  /** Time of the end of the process; undefined while it runs. */
  endedMs: number | undefined;
  #isKnown = false;
  readonly #machine: Machine;
  #isAlive = true;
  #pausedUntilMs = 0;
  /** Difference of the wall clock of the process from the time that really passed, in ms. */
  #wallMs: number;
  #details: CallDetails = NO_DETAILS;

  /** `skewMs` is the difference between the clock of the process and the clock of the log. */
  constructor(name: string, machine: Machine, skewMs: number) {
    const { scheduler } = machine;
    this.name = name;
    this.#machine = machine;
    this.#wallMs = skewMs;
    this.clock = {
      now: () => scheduler.nowMs + this.#wallMs,
      monotonic: () => scheduler.nowMs,
      after: (ms, call) => {
        let canceled = false;
        const cancel = scheduler.after(ms, () =>
          this.run(() => {
            if (!canceled) call();
          }),
        );
        return () => {
          canceled = true;
          cancel();
        };
      },
    };
    this.log = new ProcessLog(this, machine, scheduler);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** True as soon as the log has a record of the process, in which others see it. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  get relays(): boolean {
    return this.name.startsWith("worker");
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  run(call: () => void): void {
    const { scheduler } = this.#machine;
    if (!this.#isAlive) return;
    if (this.#pausedUntilMs > scheduler.nowMs) scheduler.at(this.#pausedUntilMs, () => this.run(call));
    else call();
  }

  /** Steps the wall clock of the process. */
  stepClock(ms: number): void {
    this.#wallMs += ms;
  }

  /** Pauses the process, as SIGSTOP or a long garbage collection does. */
  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#machine.scheduler.nowMs + ms);
  }

  /** Kills the process between two awaits. No call of it runs any more; only operations in flight may still arrive. */
  crash(): void {
    this.#isAlive = false;
    this.endedMs ??= this.#machine.scheduler.nowMs;
    this.#machine.network.abandonAll(this);
    void this.log.close();
  }

  disconnect(): void {
    this.log.disconnect();
  }

  carry<T>(operation: Operation, apply: () => T): Promise<T> {
    return this.#machine.network.carry({ caller: this, operation, ...this.#details }, () => {
      if (operation === "heartbeat" || operation === "announce") this.#isKnown = true;
      return apply();
    });
  }

  /** Runs `call`, which carries an operation, and attaches the details to that operation. */
  withDetails<T>(details: CallDetails, call: () => T): T {
    this.#details = details;
    try {
      return call();
    } finally {
      this.#details = NO_DETAILS;
    }
  }
}

const NO_DETAILS: CallDetails = { partition: undefined, commit: undefined };

/** Returns the format of an entry, a snapshot, or a message between actors. Every build takes every other message. */
function formatOf(body: string): number {
  const packed = JSON.parse(body) as unknown;
  if (Array.isArray(packed)) return Number(packed[4] ?? OLDEST_FORMAT);
  const { format = OLDEST_FORMAT, id } = packed as { readonly format?: number; readonly id?: string };
  return id === undefined ? format : OLDEST_FORMAT;
}

/** Connection of a process to the log. Notifications reach the process only while it runs. */
class ProcessLog extends MemoryLog {
  readonly #process: Process;
  readonly #machine: Machine;

  constructor(process: Process, machine: Machine, scheduler: Scheduler) {
    super(machine.store, {
      clock: {
        now: () => scheduler.nowMs + machine.logClock.stepMs,
        monotonic: () => scheduler.nowMs,
        after: (ms, call) => scheduler.after(ms, call),
      },
      gate: (operation, apply) => process.carry(operation, apply),
      oneGroup: machine.oneGroup,
      losesNotification: () => machine.network.losesNotification(),
    });
    this.#process = process;
    this.#machine = machine;
  }

  override commit(commit: Commit): Promise<CommitOutcome> {
    const { changeCommit, changeOutcome } = this.#machine;
    const sent = changeCommit(commit);
    const details = { partition: undefined, commit: sent };
    return changeOutcome(this.#process.withDetails(details, () => super.commit(sent)));
  }

  /** The build before formats relays every message that it does not hand over. */
  override reaches(from: string, to: string): boolean {
    return this.#process.readsUpTo !== OLDEST_FORMAT && super.reaches(from, to);
  }

  override take(partition: string, worker: string, epoch: number): Promise<TakeOutcome> {
    return this.#process.withDetails({ partition, commit: undefined }, () =>
      super.take(partition, worker, epoch),
    );
  }

  override listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener {
    return super.listen(kind, (notification) =>
      this.#machine.network.deliver(this.#process, () => {
        for (const { actor, inline } of notification.notices)
          if (inline !== undefined) this.#check(actor, inline.body);
        onNotification(notification);
      }),
    );
  }

  /** Fails when a process of an old build reads a body of a later format. */
  #check(actor: ActorId, body: string): void {
    const { isAlive, readsUpTo } = this.#process;
    if (!isAlive || readsUpTo === LATEST_FORMAT || formatOf(body) <= readsUpTo) return;
    this.#machine.onViolation(
      new Error(`${this.#process.name} has read ${actor} in a later format: ${body}`),
    );
  }

  override async readMailboxes(
    reads: readonly MailboxRead[],
    limit: number,
  ): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    const found = await super.readMailboxes(reads, limit);
    for (const [actor, messages] of found) for (const { body } of messages) this.#check(actor, body);
    return found;
  }

  override async readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]> {
    const found = await super.readEntries(reads, limit);
    for (const { actor, entries } of found) for (const { body } of entries) this.#check(actor, body);
    return found;
  }

  override async readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined> {
    const snapshot = await super.readSnapshot(partition, actor, which);
    if (snapshot !== undefined) this.#check(actor, snapshot.body);
    return snapshot;
  }

  override subscribe(feed: string, reader: FeedReader): Promise<Subscription> {
    return super.subscribe(feed, {
      onBody: (body) => this.#machine.network.deliver(this.#process, () => reader.onBody(body)),
      onMissed: () => this.#process.run(() => reader.onMissed()),
    });
  }
}
