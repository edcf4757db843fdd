/**
 * One worker process: takes its share of the partitions, steps their commit groups, and hands the partitions over when
 * it stops. `CommitGroup` processes the commands; this file schedules it. A simulation does not call `start`; it
 * calls `beat`, `CommitGroup.step` and the other parts itself.
 */

import { PARTITIONS } from "../../actors/actor.js";
import { type Formats, LATEST_FORMAT } from "../../actors/format.js";
import { type Clock, SharedSlices, type Slices, sleep, TimeSlices } from "../log/clock.js";
import type { HeartbeatListener, Heartbeats, StartHeartbeats } from "../log/heartbeats.js";
import type { Listener, LiveWorker, Log, Notification, Subscription } from "../log/log.js";
import type { Logger } from "../log/logger.js";
import {
  adoptedBy,
  kindOf,
  type MoveNotice,
  nextMove,
  type Owners,
  packMoveNotice,
  parseMoveNotice,
} from "./assignment.js";
import { CommitGroup } from "./commit-group.js";
import { type ActorOf, errorOf } from "./instance.js";
import { Partition } from "./partition.js";
import { OwnershipLost, Relay } from "./relay.js";
import type { ReviewLimits } from "./removal/sources.js";
import { Retention } from "./retention.js";
import { SNAPSHOT_LIMITS, type SnapshotLimits } from "./snapshot-policy.js";
import { SnapshotLanes } from "./snapshots/snapshot-lanes.js";
import type { Snapshots } from "./snapshots/snapshots.js";
import { SnapshotWriter } from "./snapshots/snapshot-writer.js";

export interface WorkerOptions {
  /** Unique to this process. */
  readonly id: string;
  readonly log: Log;
  readonly actorOf: ActorOf;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Shortest time without a heartbeat after which other workers take the partitions, in ms (default 300). */
  readonly leaseMs?: number | undefined;
  /** Starts the heartbeats; the default sends three in a lease on the connection of the log, between the steps. */
  readonly heartbeats?: StartHeartbeats | undefined;
  /** The partitions that the workers share (default all). */
  readonly partitions?: readonly string[] | undefined;
  readonly snapshotLimits?: SnapshotLimits | undefined;
  readonly reviewLimits?: ReviewLimits | undefined;
  /** Takes the snapshots (default on the event loop of the worker). */
  readonly snapshots?: Snapshots | undefined;
  /** Format in which the actors write (default the latest). */
  readonly formats?: Formats | undefined;
  /** Begins the slices of a step (default slices of time). */
  readonly slices?: (() => Slices) | undefined;
  /** Decides a step while the commit of the one before is on its way (default false). */
  readonly overlaps?: boolean | undefined;
  /** Most messages in one append of the relay (default 1,000). */
  readonly relayMessages?: number | undefined;
}

/** Interval of recording the relay progress. */
const FLUSH_MS = 100;
/** Interval at which a worker checks whether it can read what others write, in ms. */
const FORMATS_MS = 1_000;
/** Interval of `Partition.maintain`. */
const MAINTAIN_MS = 1_000;
/** Longest time for which a partition waits for its snapshots before it moves. It runs on here meanwhile. */
const PREPARE_MS = 10_000;
/** Longest time for which a partition waits for them when its worker stops, in ms. */
const PREPARE_STOP_MS = 2_000;
/** Longest time that a hand-over waits for the relay; the next owner relays the rest. */
const HAND_OVER_MS = 1_000;
/** Shortest step that a rest follows, in ms, with its waits for the log. */
const LONG_STEP_MS = 8;
/** Longest rest between two steps, in ms. */
const MAX_REST_MS = 20;
/** Fewest messages that must wait for a rest: one alone would only be late. */
const SEVERAL_MESSAGES = 2;
/** Number of waiting messages for which a step is worth its entries, so that there is no rest. */
const ENOUGH_MESSAGES = 16;
/** Interval at which a hand-over checks the relay. */
const POLL_MS = 2;
/**
 * Time of a stop in which the partitions are handed over one after the other, in ms; the rest are released at once. With
 * the last hand-overs it is below each limit at which a worker is killed, so that no lease has to expire.
 */
const STOP_MS = 4_000;
/** Interval at which a stop checks whether a partition is taken. */
const TAKEN_POLL_MS = 10;
/** Longest time for which a stop waits until another worker has taken a partition, in ms. */
const TAKEN_MS = 2_000;
/** Longest wait for a deadline, in ms: engine time jumps when an operator confirms the clock of the log. */
const MAX_WAIT_MS = 1_000;
/** Longest interval of looking at the leases, in ms. Changes of the live workers cause a look at once. */
const LOOK_MS = 1_000;
/** Longest time for which the move of a partition holds up other moves while its new owner loads its actors, in ms. */
const AWAY_MS = 1_000;
/** Time for which loads block the event loop between two steps, in ms. Orders wait for them, so they get about as much of it. */
const LOAD_SLICE_MS = 10;
/** Feed of the notices about partitions that move. It lets others take them at once. */
const MOVES = "workers";

/**
 * Returns the rest after a step, in ms: for as long as the step took, up to a limit, when it was long and several messages
 * wait for the next one, but not enough. An actor writes one entry for all messages of a turn, so the more messages a step
 * has, the less each of them costs everybody who reads entries.
 */
export function restAfter(tookMs: number, waiting: () => number): number {
  if (tookMs < LONG_STEP_MS) return 0;
  const messages = waiting();
  return messages >= SEVERAL_MESSAGES && messages < ENOUGH_MESSAGES ? Math.min(MAX_REST_MS, tookMs) : 0;
}

export class Worker {
  readonly id: string;
  readonly relay: Relay;
  readonly retention: Retention;
  readonly #options: WorkerOptions;
  readonly #leaseMs: number;
  readonly #partitions: readonly string[];
  readonly #held = new Map<string, Partition>();
  readonly #groups = new Map<string, CommitGroup>();
  readonly #handingOver = new Map<string, { readonly partition: Partition; readonly done: Promise<void> }>();
  /** The partition whose move is being prepared, or is prepared. */
  #moving: { readonly partition: Partition; isPrepared: boolean } | undefined;
  /** Background tasks that `stop` waits for. */
  readonly #background = new Set<Promise<void>>();
  readonly #cancelTimers = new Set<() => void>();
  #listener: Listener | undefined;
  readonly #snapshots: Snapshots;
  /** Slices of the loads of actors. */
  readonly #loads: SharedSlices;
  readonly #stopWatchingConnection: () => void;
  #heartbeats: Heartbeats | undefined;
  #moves: Subscription | undefined;
  #started = false;
  #stopping = false;
  /** True while this worker leaves the partitions to those that read a later format. */
  #declines = false;
  #taken = 0;
  /** The live workers at the last heartbeat. */
  #live: readonly LiveWorker[] = [];
  /** Live workers that stop. The log may not have the heartbeat that says so yet. */
  readonly #leaving = new Set<string>();
  /** Partitions that are released and not known to be served, with the times until which they hold up other moves. */
  readonly #away = new Map<string, number>();
  /** The look in progress. */
  #looking: Promise<void> | undefined;
  /** True when partitions may be missing or may have to move. */
  #mustLook = true;
  #lookedMs = 0;

  constructor(options: WorkerOptions) {
    const { id, log, leaseMs = 300, partitions = PARTITIONS } = options;
    this.id = id;
    this.#options = options;
    this.#leaseMs = leaseMs;
    this.#partitions = partitions;
    this.relay = new Relay(log, options.relayMessages);
    this.#snapshots =
      options.snapshots ?? new SnapshotLanes(new SnapshotWriter(options), new SnapshotWriter(options));
    this.#loads = new SharedSlices(options.slices?.() ?? new TimeSlices(options.clock, LOAD_SLICE_MS));
    this.retention = new Retention(options.snapshotLimits ?? SNAPSHOT_LIMITS, options.clock);
    this.#stopWatchingConnection = log.onLost((isLost) => this.#endLost(isLost));
  }

  /** The partitions that this worker owns, by name. */
  get held(): ReadonlyMap<string, Partition> {
    return this.#held;
  }

  /** Number of partitions taken since the start. */
  get taken(): number {
    return this.#taken;
  }

  /** Bytes of the entries since its last snapshot, of the actor that has most. */
  get unsnapshottedBytes(): number {
    return Math.max(0, ...[...this.#held.values()].map(({ unsnapshottedBytes }) => unsnapshottedBytes));
  }

  /** Returns the figures of the filters of ids, by the names of `FIGURES` in `stream/services/process-reports.ts`. */
  filterFigures() {
    const all = [...this.#held.values()].flatMap((partition) => partition.filterBytes());
    return {
      id_filter_bytes: all.reduce((sum, { memory }) => sum + memory, 0),
      id_filter_snapshot_bytes: all.reduce((sum, { snapshots }) => sum + snapshots, 0),
    };
  }

  /** Returns the commit group of a partition. */
  groupOf(partition: string): CommitGroup {
    const { log } = this.#options;
    const name = log.commitGroupOf(partition);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new CommitGroup({ ...this.#options, relay: this.relay });
      this.#groups.set(name, group);
      if (this.#started) {
        group.onStepEnded = () => this.#startRelays();
        this.#track(this.#runSteps(group));
      }
    }
    return group;
  }

  /**
   * Starts the worker; resolves when it has looked at the leases, or when it takes no partitions. Rejects when the log
   * cannot be reached.
   */
  async start(): Promise<void> {
    const { log } = this.#options;
    this.#started = true;
    this.#listener = log.listen("commands", (notification) => this.notify(notification));
    this.#moves = await log.subscribe(MOVES, {
      onBody: (body) => this.#onMoveNotice(parseMoveNotice(body)),
      onMissed: () => {
        this.#mustLook = true;
      },
    });
    this.#declines = this.#mustDecline();
    if (!this.#declines) await this.#beginHeartbeats();
    this.#every(FORMATS_MS, () => this.#followFormats());
    this.#every(FLUSH_MS, () => this.relay.flush());
    this.#every(MAINTAIN_MS, async () => {
      await this.#fitRetention();
      // A snapshot of a large actor takes seconds, in which the other partitions are maintained.
      for (const partition of this.#held.values()) this.#track(partition.maintain());
    });
  }

  /** Begins the heartbeats; resolves when the worker has looked at the leases. Rejects when the first one fails. */
  #beginHeartbeats(): Promise<void> {
    const { logger, heartbeats = (listener: HeartbeatListener) => this.#beatInLoop(listener) } =
      this.#options;
    return new Promise((resolve, reject) => {
      this.#heartbeats = heartbeats({
        onBeat: (live, ageMs) => void this.#onBeat(live, ageMs).then(resolve),
        onError: (error) => {
          logger.warn({ err: error, worker: this.id }, "the heartbeat failed");
          reject(errorOf(error));
        },
      });
    });
  }

  /** Returns true when others can read data that this worker cannot, and says so when it is new. */
  #mustDecline(): boolean {
    const { formats, logger } = this.#options;
    const format = formats?.unreadable?.();
    if (format !== undefined && !this.#declines) {
      const message =
        "the log may have data of a format that this build does not read, and other workers do: " +
        "this worker takes no partitions; run a build that reads the format";
      logger.error({ worker: this.id, format, reads: LATEST_FORMAT }, message);
    }
    return format !== undefined;
  }

  /**
   * Hands all partitions over and leaves the live workers when others can read data that this worker cannot. Joins them
   * again when this worker can read everything, or nobody else can.
   */
  async #followFormats(): Promise<void> {
    const declines = this.#mustDecline();
    if (this.#stopping || declines === this.#declines) return;
    this.#declines = declines;
    if (declines) {
      this.#heartbeats?.stopping();
      await this.#looking;
      await this.#handOverAll(this.#options.clock.monotonic() + STOP_MS);
      await this.#leaveLive();
      return;
    }
    this.#options.logger.info({ worker: this.id }, "this worker takes partitions again");
    // A failure is logged, and the next heartbeat tries again.
    if (this.#started) void this.#beginHeartbeats().catch(() => undefined);
  }

  /** Ends the heartbeats, so that no lease of this worker has to expire. */
  async #leaveLive(): Promise<void> {
    const { log, logger } = this.#options;
    await this.#heartbeats?.stop();
    try {
      await log.leave(this.id);
    } catch (error) {
      const message = "the worker is still in the list of live workers, until its lease expires";
      logger.warn({ err: error, worker: this.id }, message);
    }
  }

  /** True while this worker takes partitions. */
  get #takes(): boolean {
    return !this.#stopping && !this.#declines;
  }

  /** Fits the retention to the memory of the log, whose limit an operator may change at any time. */
  async #fitRetention(): Promise<void> {
    try {
      const { isPartial, memoryLimitBytes } = await this.#options.log.condition();
      if (isPartial !== true) this.retention.fit(memoryLimitBytes);
    } catch (error) {
      this.#options.logger.warn(
        { err: error },
        "cannot read the memory limit of the log; the last one stays",
      );
    }
  }

  /** Repeats a task until the worker stops. The interval begins when the task has ended. */
  #every(ms: number, task: () => Promise<void>): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#cancelTimers.delete(cancel);
      const repeated = task().then(() => {
        if (!this.#stopping) this.#every(ms, task);
      });
      this.#track(repeated);
    });
    this.#cancelTimers.add(cancel);
  }

  /** Sends heartbeats on the connection of the log, one after the other. */
  #beatInLoop(listener: HeartbeatListener): Heartbeats {
    const { clock } = this.#options;
    let cancel: () => void = () => undefined;
    let ended = false;
    const beat = async (): Promise<void> => {
      const sentMs = clock.monotonic();
      try {
        const live = await this.#sendHeartbeat();
        listener.onBeat(live, clock.monotonic() - sentMs);
      } catch (error) {
        listener.onError(error);
      }
      if (!ended) cancel = clock.after(this.#leaseMs / 3, () => void beat());
    };
    void beat();
    return {
      stopping: () => undefined,
      stop: () => {
        ended = true;
        cancel();
        return Promise.resolve();
      },
    };
  }

  #sendHeartbeat(): Promise<readonly LiveWorker[]> {
    const heartbeat = { worker: this.id, leaseMs: this.#leaseMs, takes: this.#takes };
    return this.#options.log.heartbeat(heartbeat);
  }

  /** Receives a notification of new messages. */
  notify(notification: Notification): void {
    this.#held.get(notification.partition)?.notify(notification);
  }

  /** Ends the ownerships whose actors may be ahead of the log. The next beat takes the partitions again. */
  #endLost(isLost: (partition: string) => boolean): void {
    const reason = new OwnershipLost("the connection to the log was lost");
    const handingOver = [...this.#handingOver.values()].map(({ partition }) => partition);
    for (const partition of [...this.#held.values(), ...handingOver])
      if (isLost(partition.name)) partition.end(reason);
  }

  /** Sends one heartbeat, then hands over and takes partitions as the live workers require. */
  async beat(): Promise<void> {
    await this.#followFormats();
    if (this.#declines) return;
    await this.#onBeat(await this.#sendHeartbeat(), 0);
  }

  /** Ignores an old reply: a worker that was dead then may be live now. */
  async #onBeat(live: readonly LiveWorker[], ageMs: number): Promise<void> {
    if (ageMs > this.#leaseMs) return;
    const names = (workers: readonly LiveWorker[]): string => workers.map(({ name }) => name).join();
    if (names(live) !== names(this.#live)) this.#mustLook = true;
    if ([...this.#held.values()].some(({ ended }) => ended)) this.#mustLook = true;
    this.#setLive(live);
    await this.#lookAt();
  }

  #onMoveNotice(notice: MoveNotice): void {
    const { partition } = notice;
    if (notice.kind === "served") this.#away.delete(partition);
    else this.#released(partition);
    if (notice.kind === "released" && notice.stopping !== undefined) {
      this.#leaving.add(notice.stopping);
      this.#setLive(this.#live);
    }
    this.#track(this.#lookSoon());
  }

  #released(partition: string): void {
    this.#away.set(partition, this.#options.clock.monotonic() + AWAY_MS);
  }

  /** Returns true while a partition that was released holds up other moves. */
  #isAway(partition: string): boolean {
    return (this.#away.get(partition) ?? -Infinity) > this.#options.clock.monotonic();
  }

  /** Sets the live workers, of which those that stop take no partition. */
  #setLive(live: readonly LiveWorker[]): void {
    for (const name of this.#leaving)
      if (!live.some((worker) => worker.name === name)) this.#leaving.delete(name);
    this.#live = live.map((worker) =>
      this.#leaving.has(worker.name) ? { ...worker, takes: false } : worker,
    );
  }

  /** Looks at the leases at once, or after the look in progress, which may have read them before. */
  async #lookSoon(): Promise<void> {
    this.#mustLook = true;
    await this.#looking;
    await this.#lookAt();
  }

  /** Looks at the leases, if there is a reason to. Never rejects. One look runs at a time. */
  async #lookAt(): Promise<void> {
    const { clock, logger } = this.#options;
    if (!this.#takes) return;
    if (this.#looking !== undefined) return this.#looking;
    if (!this.#mustLook && clock.monotonic() - this.#lookedMs < LOOK_MS) return;
    this.#mustLook = false;
    this.#lookedMs = clock.monotonic();
    this.#looking = this.#look(this.#live)
      .catch((error: unknown) => {
        this.#mustLook = true;
        logger.warn({ err: error, worker: this.id }, "the leases cannot be read or taken; trying again");
      })
      .finally(() => {
        this.#looking = undefined;
      });
    await this.#looking;
  }

  /**
   * Brings the partitions of this worker in line with the leases: ends ownerships that others have taken over, takes
   * the partitions that are this worker's to take, and begins to hand one over if another worker has too few.
   */
  async #look(live: readonly LiveWorker[]): Promise<void> {
    const { log } = this.#options;
    const leases = await log.leases(this.#partitions);
    for (const partition of this.#held.values()) {
      const lease = leases.get(partition.name);
      if (lease !== undefined && lease.epoch !== partition.epoch)
        partition.end(new OwnershipLost(`${partition.name} has another owner`));
      if (partition.ended) this.#removeEnded(partition);
    }
    const liveNames = new Set(live.map(({ name }) => name));
    const owners: Owners = new Map(
      [...leases].map(([name, { owner }]) => [
        name,
        owner !== undefined && liveNames.has(owner) ? owner : undefined,
      ]),
    );
    const isMissing = (name: string): boolean => !this.#held.has(name) && !this.#handingOver.has(name);
    const lost = [...owners].filter(([name, owner]) => owner === this.id && isMissing(name));
    const wanted = [...lost.map(([name]) => name), ...adoptedBy(this.id, owners, live)].filter(isMissing);
    const takes = await Promise.allSettled(
      wanted.map((name) => this.#take(name, leases.get(name)?.epoch ?? 0)),
    );
    const taken = wanted.filter((name) => this.#held.has(name));
    if (taken.length > 0)
      this.#options.logger.info({ worker: this.id, partitions: taken }, "took partitions");
    // The partitions that were taken are watched, whatever became of the others, and those that have left no longer.
    this.#listener?.watch([...this.#held.keys()]);
    for (const take of takes) if (take.status === "rejected") throw take.reason;
    const isComplete = leases.size === this.#partitions.length;
    if (!isComplete || [...owners.values()].includes(undefined)) this.#mustLook = true;
    // The shares of the workers are unknown without the leases of all partitions.
    if (isComplete) this.#beginMove(owners, live);
  }

  /**
   * Begins to hand over the partition that this worker has had for the longest time, if a hand-over is due. A partition
   * that is slow to move runs on here while its move is prepared.
   */
  #beginMove(owners: Owners, live: readonly LiveWorker[]): void {
    if (this.#handingOver.size > 0) return;
    const move = nextMove(owners, live);
    if (move?.from !== this.id) {
      // Later, its partition would have more to prepare again.
      if (this.#moving?.isPrepared === true) this.#moving = undefined;
      return;
    }
    this.#mustLook = true;
    if ([...this.#away.keys()].some((name) => this.#isAway(name))) return;
    for (const partition of this.#held.values()) {
      if (kindOf(partition.name) !== move.kind) continue;
      const { partition: prepared, isPrepared } = this.#moving ?? {};
      if (partition === prepared ? isPrepared === true : !partition.isSlowToMove)
        this.#handOverPartition(partition);
      else if (partition !== prepared) this.#track(this.#beginPreparing(partition));
      return;
    }
  }

  /** Prepares the move of a partition, and looks again, because the live workers may have changed meanwhile. */
  async #beginPreparing(partition: Partition): Promise<void> {
    const moving = { partition, isPrepared: false };
    this.#moving = moving;
    await this.#prepareMove(partition, { isUrgent: false, maxMs: PREPARE_MS });
    moving.isPrepared = true;
    await this.#lookSoon();
  }

  /** Resolves when the move of a partition is prepared, or after a time. */
  async #prepareMove(
    partition: Partition,
    { isUrgent, maxMs }: { readonly isUrgent: boolean; readonly maxMs: number },
  ): Promise<void> {
    const preparing = partition.prepareMove(isUrgent);
    this.#track(preparing);
    await this.#within(preparing, maxMs);
  }

  /** Resolves with a task, or after a time. */
  async #within(task: Promise<void>, maxMs: number): Promise<void> {
    let cancel: () => void = () => undefined;
    const timeIsOver = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(Math.max(0, maxMs), resolve);
    });
    await Promise.race([task, timeIsOver]).finally(cancel);
  }

  async #take(name: string, epoch: number): Promise<void> {
    const { log } = this.#options;
    const outcome = await log.take(name, this.id, epoch);
    if (outcome.kind === "changed") return;
    if (!this.#takes) return log.release(name, outcome.epoch);
    const { snapshotLimits = SNAPSHOT_LIMITS } = this.#options;
    const ports = {
      ...this.#options,
      relay: this.relay,
      snapshotLimits,
      snapshots: this.#snapshots,
      retention: this.retention,
      rest: () => this.#loads.turn(),
    };
    const partition = new Partition({ name, ...outcome }, ports);
    this.#held.set(name, partition);
    this.#taken += 1;
    this.groupOf(name).add(partition);
    this.#track(this.#serve(partition));
  }

  /** Publishes that a partition is served, when the actors that have work are loaded. The next move waits for that. */
  async #serve(partition: Partition): Promise<void> {
    await partition.scanned;
    await this.groupOf(partition.name).finished();
    await partition.loaded();
    if (partition.ended) return;
    await this.#publish({ kind: "served", partition: partition.name }).catch(() => undefined);
  }

  #publish(notice: MoveNotice): Promise<void> {
    return this.#options.log.publish({ feed: MOVES, body: packMoveNotice(notice) });
  }

  #track(task: Promise<void>): void {
    this.#background.add(task);
    void task.finally(() => this.#background.delete(task));
  }

  /** Steps a commit group until the worker stops and has no partition left in it. */
  async #runSteps(group: CommitGroup): Promise<void> {
    while (!this.#stopping || !group.isEmpty) {
      if (group.hasWork(this.#options.clock.now())) await this.#step(group);
      else await this.#untilChange(group);
      for (const partition of this.#held.values()) if (partition.ended) this.#removeEnded(partition);
    }
    await group.finished();
  }

  /** Runs one step, and rests after a long one while few messages wait. */
  async #step(group: CommitGroup): Promise<void> {
    const { clock } = this.#options;
    const beganMs = clock.monotonic();
    await group.step();
    const restMs = restAfter(clock.monotonic() - beganMs, () => group.waiting);
    if (restMs > 0) await sleep(clock, restMs);
  }

  /** Resolves at the next notification, deadline or end of an ownership. */
  #untilChange(group: CommitGroup): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const deadline = group.nextDeadline();
      const wait = Math.min(MAX_WAIT_MS, Math.max(0, (deadline ?? Infinity) - clock.now()));
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
    this.#forget(partition);
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

  #forget(partition: Partition): void {
    this.#held.delete(partition.name);
    this.groupOf(partition.name).remove(partition);
    if (this.#moving?.partition === partition) this.#moving = undefined;
  }

  #handOverPartition(partition: Partition): void {
    const { name } = partition;
    if (this.#handingOver.has(name)) return;
    this.#forget(partition);
    const done = this.#handOver(partition).finally(() => this.#handingOver.delete(name));
    this.#handingOver.set(name, { partition, done });
  }

  /** Waits for the current step and then for the relay, and releases the partition. */
  async #handOver(partition: Partition): Promise<void> {
    const { log, clock, logger } = this.#options;
    const startMs = clock.monotonic();
    try {
      await this.groupOf(partition.name).finished();
      while (
        !partition.ended &&
        !this.relay.isIdle(partition) &&
        clock.monotonic() - startMs < HAND_OVER_MS
      ) {
        this.#startRelays();
        await sleep(clock, POLL_MS);
      }
      await this.relay.flushOf(partition);
      partition.end(new OwnershipLost(`${partition.name} was handed over`));
      this.#released(partition.name);
      await log.release(partition.name, partition.epoch);
      const stopping = this.#takes ? undefined : this.id;
      await this.#publish({ kind: "released", partition: partition.name, stopping });
      logger.info({ worker: this.id, partition: partition.name }, "handed over a partition");
    } catch (error) {
      logger.warn(
        { err: error, partition: partition.name },
        "a partition was not handed over; another worker takes it when this one is no longer live",
      );
    }
  }

  /**
   * Hands every partition over. Other live workers get those in use one after the other, each when the one before is
   * taken, so that few actors are away at a time; those that are slow to move come first, the slowest before the others,
   * because they need the time. The rest are released at once when one is not taken or the time is over, and so are those
   * that nobody uses.
   */
  async #handOverAll(untilMs: number): Promise<void> {
    const { clock } = this.#options;
    const held = [...this.#held.values()];
    const inUse = held.filter(({ isInUse }) => isInUse);
    const slow = inUse
      .filter(({ isSlowToMove }) => isSlowToMove)
      .toSorted((a, b) => b.unsnapshottedBytes - a.unsnapshottedBytes);
    const inOrder = [...slow, ...inUse.filter((one) => !slow.includes(one))];
    let isTaken = true;
    const prepare = async (partition: Partition | undefined): Promise<void> => {
      const maxMs = Math.min(PREPARE_STOP_MS, untilMs - clock.monotonic());
      if (isTaken && maxMs > 0 && this.#hasTakers && partition?.isSlowToMove === true)
        await this.#prepareMove(partition, { isUrgent: true, maxMs });
    };
    let prepared = prepare(inOrder[0]);
    for (const [index, partition] of inOrder.entries()) {
      if (isTaken) await prepared;
      this.#handOverPartition(partition);
      // The next one is prepared while the new owner loads the actors of this one.
      prepared = prepare(inOrder[index + 1]);
      if (isTaken && this.#hasTakers) isTaken = await this.#isTaken(partition.name, untilMs);
    }
    for (const partition of held) if (!inUse.includes(partition)) this.#handOverPartition(partition);
    await Promise.all([...this.#handingOver.values()].map(({ done }) => done));
  }

  /** True when another live worker takes partitions. */
  get #hasTakers(): boolean {
    return this.#live.some(({ name, takes }) => takes && name !== this.id);
  }

  /**
   * Resolves with true when another worker has taken a partition and serves it, with false when none takes it or the time
   * of the stop is over.
   */
  async #isTaken(name: string, untilMs: number): Promise<boolean> {
    const { log, clock } = this.#options;
    const { done } = this.#handingOver.get(name) ?? {};
    if (done !== undefined) await this.#within(done, untilMs - clock.monotonic());
    const lastMs = Math.min(untilMs, clock.monotonic() + TAKEN_MS);
    try {
      while (this.#hasTakers && clock.monotonic() < lastMs) {
        const isTaken = (await log.leases([name])).get(name)?.owner !== undefined;
        if (isTaken && !this.#isAway(name)) return true;
        await sleep(clock, TAKEN_POLL_MS);
      }
    } catch {
      // Another worker takes the partition when the log answers again.
    }
    return false;
  }

  /** Stops the worker. Finishes the current steps and releases every partition, so that others take over at once. */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    if (this.#stopping) return;
    this.#stopping = true;
    const untilMs = clock.monotonic() + STOP_MS;
    this.#heartbeats?.stopping();
    for (const cancel of this.#cancelTimers) cancel();
    await this.#looking;
    this.#stopWatchingConnection();
    await this.#handOverAll(untilMs);
    for (const group of this.#groups.values()) group.onChange();
    await this.#snapshots.close();
    await Promise.all(this.#background);
    await this.#leaveLive();
    await this.#moves?.close();
    await this.#listener?.close();
  }
}
