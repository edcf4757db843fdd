/** A process of the simulated deployment: its own clock, its own connection, and the ways it can fail. */

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

/** What a process runs on. */
export interface Machine {
  readonly store: MemoryStore;
  readonly scheduler: Scheduler;
  readonly network: Network;
  /** Whether all partitions are in one domain. */
  readonly together: boolean;
  /** What a planted bug makes of a commit on its way out, and of the answer to it. */
  readonly tamper: (commit: Commit) => Commit;
  readonly believe: (outcome: Promise<CommitOutcome>) => Promise<CommitOutcome>;
}

/** What is being handed to the network. */
type Handed = Pick<Call, "partition" | "commit">;

export class Process implements Caller {
  readonly name: string;
  readonly clock: Clock;
  readonly log: MemoryLog;
  readonly #machine: Machine;
  #isAlive = true;
  #pausedUntilMs = 0;
  #handed: Handed = NOTHING;

  /** `skewMs`: how far its clock is from the log's. */
  constructor(name: string, machine: Machine, skewMs: number) {
    const { scheduler } = machine;
    this.name = name;
    this.#machine = machine;
    this.clock = {
      now: () => scheduler.nowMs + skewMs,
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

  /** Stands still for a while, as a stopped process or a long collection of garbage does. */
  pause(ms: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#machine.scheduler.nowMs + ms);
  }

  /** Dies between two awaits: nothing of it runs any more, and only what it has sent may still arrive. */
  crash(): void {
    this.#isAlive = false;
    this.#machine.network.forget(this);
    void this.log.close();
  }

  disconnect(): void {
    this.log.disconnect();
  }

  carry<T>(operation: Operation, apply: () => T): Promise<T> {
    return this.#machine.network.carry({ caller: this, operation, ...this.#handed }, apply);
  }

  /** Runs `hand`, which carries an operation, so that the network is told more about it. */
  handOver<T>(handed: Handed, hand: () => T): T {
    this.#handed = handed;
    try {
      return hand();
    } finally {
      this.#handed = NOTHING;
    }
  }
}

const NOTHING: Handed = { partition: undefined, commit: undefined };

/** The process's connection. What it hears, it hears when it runs. */
class ProcessLog extends MemoryLog {
  readonly #process: Process;
  readonly #machine: Machine;

  constructor(process: Process, machine: Machine, scheduler: Scheduler) {
    super(machine.store, {
      clock: { now: () => scheduler.nowMs, after: (ms, call) => scheduler.after(ms, call) },
      gate: (operation, apply) => process.carry(operation, apply),
      oneGroup: machine.together,
    });
    this.#process = process;
    this.#machine = machine;
  }

  override commit(commit: Commit): Promise<CommitOutcome> {
    const { tamper, believe } = this.#machine;
    const sent = tamper(commit);
    const handed = { partition: undefined, commit: sent };
    return believe(this.#process.handOver(handed, () => super.commit(sent)));
  }

  override take(
    partition: string,
    worker: string,
    live: readonly string[],
    force: boolean,
  ): Promise<TakeOutcome> {
    return this.#process.handOver({ partition, commit: undefined }, () =>
      super.take(partition, worker, live, force),
    );
  }

  override listen(kind: NotificationKind, onNotification: (notification: Notification) => void): Listener {
    return super.listen(kind, (notification) =>
      this.#machine.network.bring(this.#process, () => onNotification(notification)),
    );
  }

  override subscribe(feed: string, reader: FeedReader): Promise<Subscription> {
    return super.subscribe(feed, {
      onBody: (body) => this.#machine.network.bring(this.#process, () => reader.onBody(body)),
      onMissed: () => this.#process.run(() => reader.onMissed()),
    });
  }
}
