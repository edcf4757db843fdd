/**
 * One worker process: takes its share of the partitions, steps their commit groups, and hands the partitions over when
 * it stops. `CommitGroup` processes the commands; this file schedules it. A simulation does not call `start`; it
 * calls `beat`, `CommitGroup.step` and the other parts itself.
 */

import { PARTITIONS } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { type Clock, sleep } from "../log/clock.js";
import type { Listener, Log, Notification } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { assignedTo } from "./assignment.js";
import { CommitGroup } from "./commit-group.js";
import type { ActorOf } from "./instance.js";
import { OwnershipLost, Partition } from "./partition.js";
import { Relay } from "./relay.js";
import { SNAPSHOT_LIMITS, type SnapshotLimits } from "./snapshot-policy.js";

export interface WorkerOptions {
  /** Unique to this process. */
  readonly id: string;
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time without a heartbeat after which other workers take the partitions, in ms (default 300). */
  readonly leaseMs?: number | undefined;
  /** Interval of the heartbeat, in ms (default 100). */
  readonly heartbeatMs?: number | undefined;
  /** The partitions that the workers share (default all). */
  readonly partitions?: readonly string[] | undefined;
  readonly snapshotLimits?: SnapshotLimits | undefined;
  /** Format in which the actors write (default the latest). */
  readonly formats?: Formats | undefined;
}

/** Interval of recording the relay progress. */
const FLUSH_MS = 100;
/** Interval of `Partition.maintain`. */
const MAINTAIN_MS = 1_000;
/** Longest time that a hand-over waits for the relay; the next owner relays the rest. */
const HAND_OVER_MS = 1_000;
/** Interval at which a hand-over checks the relay. */
const POLL_MS = 2;
/** Longest wait for a deadline; a JavaScript timer cannot be longer than 2^31 ms. */
const MAX_TIMER_MS = 3_600_000;
/** A worker takes an assigned partition by force when a live owner has kept it for this many leases. */
const FORCE_AFTER_LEASES = 4;

export class Worker {
  readonly id: string;
  readonly relay: Relay;
  readonly #options: WorkerOptions;
  readonly #leaseMs: number;
  readonly #heartbeatMs: number;
  readonly #partitions: readonly string[];
  readonly #held = new Map<string, Partition>();
  readonly #groups = new Map<string, CommitGroup>();
  readonly #handingOver = new Map<string, { readonly partition: Partition; readonly done: Promise<void> }>();
  /** Since when another live worker has held a partition that is assigned to this one. */
  readonly #heldElsewhereSince = new Map<string, number>();
  /** Background tasks that `stop` waits for. */
  readonly #background = new Set<Promise<void>>();
  readonly #cancelTimers = new Set<() => void>();
  #listener: Listener | undefined;
  readonly #stopWatchingConnection: () => void;
  #started = false;
  #stopping = false;
  #beating = false;
  #taken = 0;

  constructor(options: WorkerOptions) {
    const { id, log, leaseMs = 300, heartbeatMs = 100, partitions = PARTITIONS } = options;
    this.id = id;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#heartbeatMs = heartbeatMs;
    this.#partitions = partitions;
    this.relay = new Relay(log);
    this.#stopWatchingConnection = log.onLost(() => this.#endAll());
  }

  /** The partitions that this worker owns, by name. */
  get held(): ReadonlyMap<string, Partition> {
    return this.#held;
  }

  /** Number of partitions taken since the start. */
  get taken(): number {
    return this.#taken;
  }

  /** Returns the commit group of a partition. */
  groupOf(partition: string): CommitGroup {
    const { log } = this.#options;
    const name = log.commitGroupOf(partition);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new CommitGroup({ ...this.#options, relay: this.relay });
      this.#groups.set(name, group);
      if (this.#started) this.#track(this.#runSteps(group));
    }
    return group;
  }

  /** Starts the worker; resolves when it has taken its partitions. Rejects when the log cannot be reached. */
  async start(): Promise<void> {
    const { log } = this.#options;
    this.#started = true;
    this.#listener = log.listen("commands", (notification) => this.notify(notification));
    await this.beat();
    this.#every(this.#heartbeatMs, () => this.#tryBeat());
    this.#every(FLUSH_MS, () => this.relay.flush());
    this.#every(MAINTAIN_MS, async () => {
      await Promise.all([...this.#held.values()].map((partition) => partition.maintain()));
    });
  }

  /** Repeats a task until the worker stops. The interval begins when the task has ended. */
  #every(ms: number, task: () => Promise<void>): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#cancelTimers.delete(cancel);
      void task().then(() => {
        if (!this.#stopping) this.#every(ms, task);
      });
    });
    this.#cancelTimers.add(cancel);
  }

  async #tryBeat(): Promise<void> {
    try {
      await this.beat();
    } catch (error) {
      this.#options.logger.warn({ err: error, worker: this.id }, "the heartbeat failed");
    }
  }

  /** Receives a notification of new messages. */
  notify(notification: Notification): void {
    this.#held.get(notification.partition)?.notify(notification);
  }

  /** Ends every ownership, because the actors may be ahead of the log. The next beat takes the partitions again. */
  #endAll(): void {
    const reason = new OwnershipLost("the connection to the log was lost");
    for (const partition of this.#held.values()) partition.end(reason);
    for (const { partition } of this.#handingOver.values()) partition.end(reason);
  }

  /** Sends one heartbeat, then hands over and takes partitions as the live workers require. */
  async beat(): Promise<void> {
    if (this.#beating || this.#stopping) return;
    this.#beating = true;
    try {
      const live = await this.#options.log.heartbeat(this.id, this.#leaseMs);
      const assigned = assignedTo(this.id, live, this.#partitions);
      for (const partition of this.#held.values()) {
        if (partition.ended) this.#removeEnded(partition);
        else if (!assigned.has(partition.name)) this.#handOverPartition(partition);
      }
      const missing = [...assigned].filter((name) => !this.#held.has(name) && !this.#handingOver.has(name));
      await Promise.all(missing.map((name) => this.#take(name, live)));
      const taken = missing.filter((name) => this.#held.has(name));
      if (taken.length > 0)
        this.#options.logger.info({ worker: this.id, partitions: taken }, "took partitions");
      this.#listener?.watch([...this.#held.keys()]);
    } finally {
      this.#beating = false;
    }
  }

  /** Takes a partition, unless a live worker holds it and still has time to release it. */
  async #take(name: string, live: readonly string[]): Promise<void> {
    const { log, clock } = this.#options;
    const since = this.#heldElsewhereSince.get(name) ?? clock.now();
    const force = clock.now() - since > FORCE_AFTER_LEASES * this.#leaseMs;
    const outcome = await log.take(name, this.id, live, force);
    if (outcome.kind === "held") {
      this.#heldElsewhereSince.set(name, since);
      return;
    }
    this.#heldElsewhereSince.delete(name);
    if (this.#stopping) return log.release(name, outcome.epoch);
    const { snapshotLimits = SNAPSHOT_LIMITS } = this.#options;
    const ports = { ...this.#options, relay: this.relay, snapshotLimits };
    const partition = new Partition(name, outcome.epoch, ports);
    this.#held.set(name, partition);
    this.#taken += 1;
    this.groupOf(name).add(partition);
  }

  #track(task: Promise<void>): void {
    this.#background.add(task);
    void task.finally(() => this.#background.delete(task));
  }

  /** Steps a commit group until the worker stops and has no partition left in it. */
  async #runSteps(group: CommitGroup): Promise<void> {
    while (!this.#stopping || !group.isEmpty) {
      if (group.hasWork(this.#options.clock.now())) {
        await group.step();
        this.#startRelays();
      } else {
        await this.#untilChange(group);
      }
      for (const partition of this.#held.values()) if (partition.ended) this.#removeEnded(partition);
    }
  }

  /** Resolves at the next notification, deadline or end of an ownership. */
  #untilChange(group: CommitGroup): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const deadline = group.nextDeadline();
      const wait = Math.min(MAX_TIMER_MS, Math.max(0, (deadline ?? Infinity) - clock.now()));
      const cancel = deadline === undefined ? () => undefined : clock.after(wait, () => group.onChange());
      group.onChange = () => {
        group.onChange = () => undefined;
        cancel();
        resolve();
      };
    });
  }

  /** Starts relaying to every destination that has messages and to which no append is in progress. */
  #startRelays(): void {
    for (const destination of this.relay.destinations()) this.#track(this.#relayTo(destination));
  }

  async #relayTo(destination: string): Promise<void> {
    do await this.relay.step(destination);
    while (this.relay.destinations().includes(destination));
  }

  /** Removes a partition whose ownership has ended. */
  #removeEnded(partition: Partition): void {
    if (this.#held.get(partition.name) !== partition) return;
    this.#held.delete(partition.name);
    this.groupOf(partition.name).remove(partition);
    const fields = {
      worker: this.id,
      partition: partition.name,
      epoch: partition.epoch,
      err: partition.endReason,
    };
    const { logger } = this.#options;
    if (partition.endReason instanceof OwnershipLost) logger.info(fields, "lost a partition");
    else logger.warn(fields, "released a partition after a failure; it is recovered from the log");
  }

  #handOverPartition(partition: Partition): void {
    const { name } = partition;
    if (this.#handingOver.has(name)) return;
    this.#held.delete(name);
    this.groupOf(name).remove(partition);
    const done = this.#handOver(partition).finally(() => this.#handingOver.delete(name));
    this.#handingOver.set(name, { partition, done });
  }

  /** Waits for the current step and then for the relay, and releases the partition. */
  async #handOver(partition: Partition): Promise<void> {
    const { log, clock, logger } = this.#options;
    const startMs = clock.now();
    try {
      await this.groupOf(partition.name).finished();
      while (!partition.ended && !this.relay.isIdle(partition) && clock.now() - startMs < HAND_OVER_MS) {
        this.#startRelays();
        await sleep(clock, POLL_MS);
      }
      await this.relay.flushOf(partition);
      partition.end(new OwnershipLost(`${partition.name} was handed over`));
      await log.release(partition.name, partition.epoch);
      logger.info({ worker: this.id, partition: partition.name }, "handed over a partition");
    } catch (error) {
      logger.warn(
        { err: error, partition: partition.name },
        "a partition was not handed over; another worker takes it when this one is no longer live",
      );
    }
  }

  /** Stops the worker. Finishes the current steps and releases every partition, so that others take over at once. */
  async stop(): Promise<void> {
    const { log, logger } = this.#options;
    if (this.#stopping) return;
    this.#stopping = true;
    for (const cancel of this.#cancelTimers) cancel();
    this.#stopWatchingConnection();
    for (const partition of [...this.#held.values()]) this.#handOverPartition(partition);
    await Promise.all([...this.#handingOver.values()].map(({ done }) => done));
    for (const group of this.#groups.values()) group.onChange();
    await Promise.all(this.#background);
    try {
      await log.leave(this.id);
    } catch (error) {
      const message = "the worker is still in the list of live workers, until its lease expires";
      logger.warn({ err: error, worker: this.id }, message);
    }
    await this.#listener?.close();
  }
}
