/**
 * One worker process: takes its share of the partitions, steps them, relays and answers, and hands over on the way
 * out. Everything that decides is in `domain.ts`; here is only what runs when. `beat` and the parts it makes can
 * be stepped one by one instead of being started, which is what a simulation does.
 */

import { PARTITIONS } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import { sleep } from "../log/clock.js";
import { assignedTo } from "./assignment.js";
import { CommitGroup } from "./commit-group.js";
import type { Listener, Log, Notification } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { Partition, OwnershipLost } from "./partition.js";
import { Relay } from "./relay.js";
import type { ActorOf } from "./instance.js";
import { SNAPSHOT_LIMITS, type SnapshotLimits } from "./snapshot-policy.js";

export interface WorkerOptions {
  /** Unique to this process. */
  readonly id: string;
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a worker that does not beat keeps its partitions (default 300). */
  readonly leaseMs?: number | undefined;
  /** Default 100. */
  readonly heartbeatMs?: number | undefined;
  readonly partitions?: readonly string[] | undefined;
  readonly snapshotLimits?: SnapshotLimits | undefined;
}

const FLUSH_MS = 100;
const MAINTAIN_MS = 1_000;
/** How long a hand-over waits for messages to be relayed; the next owner relays the rest. */
const HAND_OVER_MS = 1_000;
const POLL_MS = 2;
/** Timers cannot be longer than 2^31 ms. */
const MAX_TIMER_MS = 3_600_000;
/** A live owner that does not let go of another worker's partition for so many leases is overruled. */
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
  /** Since when a partition that is ours by the deal has been held by another live worker. */
  readonly #heldElsewhereSince = new Map<string, number>();
  readonly #background = new Set<Promise<void>>();
  readonly #cancelTimers = new Set<() => void>();
  #listener: Listener | undefined;
  readonly #stopWatchingConnection: () => void;
  #started = false;
  #stopping = false;
  #beating = false;

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

  /** The partitions it holds now. */
  get held(): ReadonlyMap<string, Partition> {
    return this.#held;
  }

  /** Where a partition's actors are stepped. */
  groupOf(partition: string): CommitGroup {
    const { log } = this.#options;
    const name = log.commitGroupOf(partition);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new CommitGroup({ ...this.#options, relay: this.relay });
      this.#groups.set(name, group);
      if (this.#started) this.#track(this.#run(group));
    }
    return group;
  }

  /** Begins to work; resolves after the first deal. Rejects when the log cannot be reached. */
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

  /** Runs a chore again and again, each time after the last one has ended. */
  #every(ms: number, chore: () => Promise<void>): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#cancelTimers.delete(cancel);
      void chore().then(() => {
        if (!this.#stopping) this.#every(ms, chore);
      });
    });
    this.#cancelTimers.add(cancel);
  }

  async #tryBeat(): Promise<void> {
    try {
      await this.beat();
    } catch (error) {
      this.#options.logger.warn({ err: error, worker: this.id }, "no heartbeat");
    }
  }

  notify(notification: Notification): void {
    this.#held.get(notification.partition)?.notify(notification);
  }

  /** What is in memory may be ahead of the log: every tenure ends, and begins anew at the next beat. */
  #endAll(): void {
    const reason = new OwnershipLost("the connection to the log was lost");
    for (const partition of this.#held.values()) partition.end(reason);
    for (const { partition } of this.#handingOver.values()) partition.end(reason);
  }

  /** One heartbeat: tells that it lives, hands over what is no longer its own and takes what is. */
  async beat(): Promise<void> {
    if (this.#beating || this.#stopping) return;
    this.#beating = true;
    try {
      const live = await this.#options.log.heartbeat(this.id, this.#leaseMs);
      const mine = assignedTo(this.id, live, this.#partitions);
      for (const partition of this.#held.values()) {
        if (partition.ended) this.#removeEnded(partition);
        else if (!mine.has(partition.name)) this.#handOverPartition(partition);
      }
      const missing = [...mine].filter((name) => !this.#held.has(name) && !this.#handingOver.has(name));
      await Promise.all(missing.map((name) => this.#take(name, live)));
      const taken = missing.filter((name) => this.#held.has(name));
      if (taken.length > 0)
        this.#options.logger.info({ worker: this.id, partitions: taken }, "took partitions");
      this.#listener?.watch([...this.#held.keys()]);
    } finally {
      this.#beating = false;
    }
  }

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
    const { snapshotLimits: policy = SNAPSHOT_LIMITS } = this.#options;
    const partition = new Partition(name, outcome.epoch, {
      ...this.#options,
      relay: this.relay,
      snapshotLimits: policy,
    });
    this.#held.set(name, partition);
    this.groupOf(name).add(partition);
  }

  #track(result: Promise<void>): void {
    this.#background.add(result);
    void result.finally(() => this.#background.delete(result));
  }

  /** Steps a domain for as long as the worker has anything in it. */
  async #run(group: CommitGroup): Promise<void> {
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

  /** Resolves at the next ring, deadline or end of a tenure. */
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

  /** Sets the sending of what steps have produced going, where it is not under way already. */
  #startRelays(): void {
    for (const destination of this.relay.destinations()) this.#track(this.#relayTo(destination));
  }

  async #relayTo(destination: string): Promise<void> {
    do await this.relay.step(destination);
    while (this.relay.destinations().includes(destination));
  }

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
    if (partition.endReason instanceof OwnershipLost) this.#options.logger.info(fields, "lost a partition");
    else this.#options.logger.warn(fields, "gave a partition up, to begin anew from the log");
  }

  /** Ends a tenure in good order: the step under way, then the messages, then the lease. */
  #handOverPartition(partition: Partition): void {
    const { name } = partition;
    if (this.#handingOver.has(name)) return;
    this.#held.delete(name);
    this.groupOf(name).remove(partition);
    const done = this.#handOver(partition).finally(() => this.#handingOver.delete(name));
    this.#handingOver.set(name, { partition, done });
  }

  async #handOver(partition: Partition): Promise<void> {
    const { log, clock, logger } = this.#options;
    const began = clock.now();
    try {
      await this.groupOf(partition.name).finished();
      while (!partition.ended && !this.relay.isIdle(partition) && clock.now() - began < HAND_OVER_MS) {
        this.#startRelays();
        await sleep(clock, POLL_MS);
      }
      await this.relay.flushOf(partition);
      partition.end(new OwnershipLost(`${partition.name} was handed over`));
      await log.release(partition.name, partition.epoch);
      logger.info({ worker: this.id, partition: partition.name }, "handed a partition over");
    } catch (error) {
      logger.warn(
        { err: error, partition: partition.name },
        "could not hand a partition over; its lease runs out",
      );
    }
  }

  /** Finishes what is under way, gives every partition up so that others take over at once, and stops. */
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
      logger.warn({ err: error, worker: this.id }, "could not say goodbye");
    }
    await this.#listener?.close();
  }
}
