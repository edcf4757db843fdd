/** Process of the simulated deployment, with its own clock, its own connection, and methods that make it fail. */

import type { Clock } from "../../../stream/log/clock.js";
import type {
  NotificationKind,
  Commit,
  CommitOutcome,
  FeedReader,
  Listener,
  Notification,
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
  /** True when all partitions form one commit group. */
  readonly oneGroup: boolean;
  /** Change that a planted bug makes to each outgoing commit, and to the answer. */
  readonly changeCommit: (commit: Commit) => Commit;
  readonly changeOutcome: (outcome: Promise<CommitOutcome>) => Promise<CommitOutcome>;
}

/** Details of the operation that the network carries next. */
type CallDetails = Pick<Call, "partition" | "commit">;

export class Process implements Caller {
  readonly name: string;
  readonly clock: Clock;
  readonly log: MemoryLog;
  readonly #machine: Machine;
  #isAlive = true;
  #pausedUntilMs = 0;
  #details: CallDetails = NO_DETAILS;

  /** `skewMs` is the difference between the clock of the process and the clock of the log. */
  constructor(name: string, machine: Machine, skewMs: number) {
    const { scheduler } = machine;
    this.name = name;
    this.#machine = machine;
    this.clock = {
      now: () => scheduler.nowMs + skewMs,
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

  /** Pauses the process, as SIGSTOP or a long garbage collection does. */
  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#machine.scheduler.nowMs + ms);
  }

  /** Kills the process between two awaits. No call of it runs any more; only operations in flight may still arrive. */
  crash(): void {
    this.#isAlive = false;
    this.#machine.network.abandonAll(this);
    void this.log.close();
  }

  disconnect(): void {
    this.log.disconnect();
  }

  carry<T>(operation: Operation, apply: () => T): Promise<T> {
    return this.#machine.network.carry({ caller: this, operation, ...this.#details }, apply);
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

/** Connection of a process to the log. Notifications reach the process only while it runs. */
class ProcessLog extends MemoryLog {
  readonly #process: Process;
  readonly #machine: Machine;

  constructor(process: Process, machine: Machine, scheduler: Scheduler) {
    super(machine.store, {
      clock: {
        now: () => scheduler.nowMs,
        monotonic: () => scheduler.nowMs,
        after: (ms, call) => scheduler.after(ms, call),
      },
      gate: (operation, apply) => process.carry(operation, apply),
      oneGroup: machine.oneGroup,
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

  override take(partition: string, worker: string, epoch: number): Promise<TakeOutcome> {
    return this.#process.withDetails({ partition, commit: undefined }, () =>
      super.take(partition, worker, epoch),
    );
  }

  override listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener {
    return super.listen(kind, (notification) =>
      this.#machine.network.deliver(this.#process, () => onNotification(notification)),
    );
  }

  override subscribe(feed: string, reader: FeedReader): Promise<Subscription> {
    return super.subscribe(feed, {
      onBody: (body) => this.#machine.network.deliver(this.#process, () => reader.onBody(body)),
      onMissed: () => this.#process.run(() => reader.onMissed()),
    });
  }
}
