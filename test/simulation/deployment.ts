/** Runs the processes of the simulated exchange (workers, gateways and a projector) and injects their faults. */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { type Clock, type Slices, sleep } from "../../stream/log/clock.js";
import { LogExchange } from "../../stream/log/exchange.js";
import type { Logger } from "../../stream/log/logger.js";
import type { ReviewLimits } from "../../stream/runtime/removal/sources.js";
import { removeActor, restoreActor, restoreWanted } from "../../stream/runtime/removal/removal.js";
import { MemoryArchive } from "../support/log/memory-archive.js";
import { LogTail } from "../../stream/log/tail.js";
import type { Position } from "../../stream/log/lineage.js";
import { continues } from "../../stream/log/packing.js";
import type { Entry } from "../../stream/log/ports.js";
import { EngineClock } from "../../stream/services/engine-clock.js";
import { Worker } from "../../stream/runtime/worker.js";
import type { ActorOf } from "../../stream/runtime/instance.js";
import { type Build, Builds, isOld } from "./builds.js";
import { KEYS } from "./journal.js";
import { type Machine, Process } from "./machine/process.js";
import type { Random } from "./machine/random.js";
import { SnapshotDamage } from "./machine/snapshot-damage.js";
import type { SnapshotLimits } from "../../stream/runtime/snapshot-policy.js";

/** A simulation lasts seconds, so snapshots are taken after few entries, and few entries are kept for a resume. */
const SNAPSHOT_LIMITS: SnapshotLimits = {
  snapshotEntries: 12,
  snapshotBytes: Infinity,
  snapshotPause: 0,
  recoveryBytes: Infinity,
  snapshotMs: Infinity,
  snapshotMinEntries: Infinity,
  moveBytes: 2_000,
  roundActors: 1,
  resumeEntries: 10,
  resumeMs: 0,
  resumeBytes: 200_000,
  idleMs: 900_000,
};

/**
 * Share of the places in a step at which the event loop turns, or a turn of an actor ends, and the longest time that the
 * event loop then takes, in ms.
 */
const SLICE_CHANCE = 0.05;
const MAX_TURN_MS = 5;

class RandomSlices implements Slices {
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get isOver(): boolean {
    return this.#random.chance(SLICE_CHANCE);
  }

  get isLate(): boolean {
    return this.#random.chance(SLICE_CHANCE);
  }

  begin(): void {
    // Each place has the same chance.
  }

  next(): Promise<void> {
    return sleep(this.#clock, this.#random.between(0, MAX_TURN_MS));
  }
}

interface RunningWorker {
  readonly process: Process;
  readonly build: Build;
  /** Absent while the worker reads engine time. */
  worker: Worker | undefined;
  /** False while the start of the worker may still fail, which ends its process. */
  hasStarted: boolean;
}

export interface Gateway {
  readonly process: Process;
  readonly exchange: LogExchange;
  readonly formats: Formats;
}

export interface DeploymentPorts {
  readonly machine: Machine;
  readonly actors: readonly ActorId[];
  readonly actorOf: ActorOf;
  readonly random: Random;
  /** Chooses the builds of the processes. */
  readonly builds: Random;
  /** Divides the steps of the workers. */
  readonly slices: Random;
  readonly onFault: (kind: string) => void;
  /** Called when a process reports something that must never happen. */
  readonly onViolation: (error: Error) => void;
}

/** Reviews of inboxes. A repeated request arrives within 800 ms, so a source is forgotten later. */
const REVIEW_LIMITS: ReviewLimits = { minSources: 0, sources: 100, intervalMs: 900 };
const MAX_SKEW_MS = 20;
/** Interval and number of the attempts to remove an actor. */
const REMOVE_MS = 40;
const REMOVE_TRIES = 25;
/** Interval at which the jobs look for removed actors with messages, in ms. */
const RESTORE_MS = 400;
const HOUR_MS = 3_600_000;

export class Deployment {
  readonly #ports: DeploymentPorts;
  readonly #partitions: readonly string[];
  readonly #workers = new Set<RunningWorker>();
  readonly #gateways = new Set<Gateway>();
  #projector: Process | undefined;
  /** Entries the projector has written. The last entry is also its cursor, as in one transaction. */
  readonly projected = new Map<ActorId, Entry[]>();
  /** Last snapshots of removed actors, in a database that loses nothing. */
  readonly archive = new MemoryArchive();
  readonly #damage: SnapshotDamage;
  /** In half of the runs an actor has a snapshot after every entry, so that it can be removed at once. */
  readonly #snapshotLimits: SnapshotLimits;
  readonly #builds: Builds;
  readonly #logger: Logger;
  #started = 0;
  /** Worker that ran before the clock of the log stepped, and that no further fault ends. */
  #witness: RunningWorker | undefined;

  constructor(ports: DeploymentPorts) {
    this.#ports = ports;
    this.#damage = new SnapshotDamage(ports.machine.store, ports.random);
    this.#snapshotLimits = { ...SNAPSHOT_LIMITS, snapshotEntries: ports.random.pick([1, 12]) };
    this.#partitions = [...new Set(ports.actors.map(partitionOf))];
    this.#logger = {
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => {
        if (message.startsWith("a snapshot cannot be used")) ports.onFault("snapshot passed over");
        else if (message.startsWith("a message is in the quarantine")) ports.onFault("message quarantined");
        else if (message.startsWith("the clock of ")) ports.onFault("clock reported");
        else ports.onViolation(new Error(`${message}: ${describe(fields)}`));
      },
    };
    this.#builds = new Builds(ports.builds, ports.machine, ports.onFault);
    this.#replaceOldLater();
    this.#restoreWanted();
  }

  /** Restarts the workers of the old build once, and replaces all of its processes when their time is over. */
  #replaceOldLater(): void {
    const { machine } = this.#ports;
    const { oldForMs } = this.#builds;
    if (oldForMs === undefined) return;
    machine.scheduler.after(this.#ports.random.between(0, oldForMs), () => this.#stopOldWorkers());
    machine.scheduler.after(oldForMs, () => {
      this.#stopOldWorkers();
      for (const gateway of [...this.#gateways]) if (isOld(gateway.process)) this.#replaceGateway(gateway);
      if (this.#projector !== undefined && isOld(this.#projector)) this.#restartProjectorWithin(0);
      this.#startMissingWorkersWithin(100);
    });
  }

  #stopOldWorkers(): void {
    for (const worker of [...this.#workers]) if (isOld(worker.process)) this.#stop(worker);
  }

  get gateways(): readonly Gateway[] {
    return [...this.#gateways];
  }

  #process(kind: string): Process {
    this.#started += 1;
    const { machine, random } = this.#ports;
    return new Process(`${kind}${this.#started}`, machine, random.between(-MAX_SKEW_MS, MAX_SKEW_MS));
  }

  startWorker(): void {
    const process = this.#process("worker");
    const { log, clock } = process;
    const { actorOf } = this.#ports;
    const build = this.#builds.pick("worker", process, this.#logger);
    const { name: id, formats } = build;
    const running: RunningWorker = { process, worker: undefined, hasStarted: false, build };
    this.#workers.add(running);
    const start = async (): Promise<void> => {
      await build.start();
      const engine = await EngineClock.start({ log, clock, logger: this.#logger, name: id, sets: true });
      const options = { id, log, actorOf, clock: engine, logger: this.#logger, formats };
      const limits = {
        partitions: this.#partitions,
        snapshotLimits: this.#snapshotLimits,
        reviewLimits: REVIEW_LIMITS,
        relayMessages: this.#ports.random.pick([1, 1, 1_000]),
      };
      const slices = (): Slices => new RandomSlices(clock, this.#ports.slices);
      const overlaps = this.#ports.slices.chance(0.5);
      running.worker = new Worker({ ...options, ...limits, slices, overlaps });
      await running.worker.start();
      running.hasStarted = true;
    };
    start().catch(() => this.#killWorker(running));
  }

  #killWorker(running: RunningWorker): void {
    running.process.crash();
    this.#workers.delete(running);
  }

  startGateway(): void {
    const process = this.#process("gateway");
    const { log, clock } = process;
    const newId = (): string => this.#ports.random.uuid();
    const build = this.#builds.pick("gateway", process, this.#logger);
    const { random } = this.#ports;
    const restore = (actor: ActorId): Promise<void> =>
      random.chance(0.5) ? restoreActor(log, this.archive, actor) : Promise.reject(new Error("no database"));
    void build.start();
    const { formats } = build;
    const start = async (): Promise<void> => {
      const options = { log, logger: this.#logger };
      const engine = await EngineClock.start({ ...options, clock, name: process.name, sets: false });
      const exchange = new LogExchange({ ...options, clock: engine, newId, formats, restore });
      await exchange.start();
      this.#gateways.add({ process, exchange, formats });
    };
    start().catch(() => process.crash());
  }

  /** Starts a projector after the last entry that was projected. */
  startProjector(): void {
    const process = this.#process("projector");
    this.#projector = process;
    void this.#builds.pick("projector", process, this.#logger).start();
    const { log, clock } = process;
    const { onViolation, random, onFault } = this.#ports;
    const tail = new LogTail({ log, clock, logger: this.#logger });
    const cursors = new Map([...this.projected.keys()].map((actor) => [actor, this.#projectedUpTo(actor)]));
    tail.everyActor({
      cursors,
      partitions: this.#partitions,
      onEntries: async (entries) => {
        await new Promise<void>((resolve) => clock.after(random.between(0, 5), resolve));
        if (random.chance(0.05)) {
          onFault("projection refused");
          throw new Error("the database is busy");
        }
        for (const entry of entries) this.#project(entry);
        if (random.chance(0.1)) return;
        const projected = entries.map(({ actor, seq }) => [actor, seq] as const);
        tail.projected(projected).catch(() => undefined);
      },
      onGap: (actor, seq) =>
        onViolation(new Error(`the projector misses the entries of ${actor} after ${seq}`)),
      onUnreadable: (_actor, error) => onViolation(error),
    });
  }

  #projectedUpTo(actor: ActorId): Position {
    const rows = this.projected.get(actor) ?? [];
    const lineage = rows.findLast(({ resumed }) => resumed !== undefined)?.resumed?.lineage ?? "";
    return { seq: rows.at(-1)?.seq ?? 0, lineage };
  }

  #project(entry: Entry): void {
    const rows = this.projected.get(entry.actor) ?? [];
    this.projected.set(entry.actor, rows);
    const last = rows.at(-1)?.seq ?? 0;
    if (continues(entry, last)) rows.push(entry);
    else
      this.#ports.onViolation(
        new Error(`the projector got entry ${entry.seq} of ${entry.actor} after ${last}`),
      );
  }

  /** Injects one random fault into a process. */
  injectFault(): void {
    this.#ports.random.pick([
      () => this.#crashWorker(),
      () => this.#crashWorker(),
      () => this.#pauseWorker(),
      () => this.#pauseWorker(),
      () => this.#stopWorker(),
      () => this.#addWorker(),
      () => this.#failGateway(),
      () => this.#failProjector(),
      () => this.#damageSnapshot(),
      () => this.#removeActor(),
      () => this.#removeActor(),
      () => this.#maintain(),
      () => this.#maintain(),
      () => this.#slowDown(),
      () => this.#stallLog(),
      () => this.#stepClock(),
    ])();
  }

  #pickWorker(): RunningWorker | undefined {
    const workers = [...this.#workers].filter((worker) => worker !== this.#witness);
    return workers.length === 0 ? undefined : this.#ports.random.pick(workers);
  }

  #crashWorker(): void {
    const worker = this.#pickWorker();
    if (worker === undefined) return;
    this.#ports.onFault("worker crash");
    this.#killWorker(worker);
    this.#startMissingWorkersWithin(1_000);
  }

  #pauseWorker(): void {
    this.#ports.onFault("worker pause");
    this.#pickWorker()?.process.pause(this.#ports.random.between(50, 1_500));
  }

  #stopWorker(): void {
    const worker = this.#pickWorker();
    if (worker !== undefined) this.#stop(worker);
    this.#startMissingWorkersWithin(500);
  }

  /** Lets the workers take snapshots and review inboxes at once. */
  #maintain(): void {
    for (const { worker } of this.#workers)
      for (const partition of worker?.held.values() ?? []) void partition.maintain();
  }

  #addWorker(): void {
    if (this.#workers.size < 4) this.startWorker();
  }

  #slowDown(): void {
    const { machine, onFault } = this.#ports;
    onFault("slow messages");
    machine.network.slowUntilMs = machine.scheduler.nowMs + 1_500;
  }

  #stallLog(): void {
    const { machine, random, onFault } = this.#ports;
    onFault("log stall");
    machine.network.stall(random.between(50, 2_500));
  }

  /**
   * Steps the clock of a host by an hour, or that of the log; then one worker stays up that has seen the time before. A
   * process of the old build does not, because it ends with the upgrade.
   */
  #stepClock(): void {
    const { machine, random, onFault } = this.#ports;
    const ms = random.pick([-HOUR_MS, HOUR_MS]);
    const worker = this.#pickWorker();
    const mayWitness = worker?.hasStarted === true && !isOld(worker.process);
    if (random.chance(0.5) || !mayWitness || this.#witness !== undefined) {
      onFault("clock step of a host");
      worker?.process.stepClock(ms);
      return;
    }
    onFault("clock step of the log");
    machine.logClock.stepMs += ms;
    this.#witness = worker;
  }

  #startMissingWorkersWithin(ms: number): void {
    const { machine, random } = this.#ports;
    machine.scheduler.after(random.between(0, ms), () => this.#startMissingWorkers(2));
  }

  #startMissingWorkers(least: number): void {
    while (this.#workers.size < least) this.startWorker();
  }

  /** Ends a worker as SIGTERM does, and kills the worker if its hand-over takes too long. */
  #stop(running: RunningWorker): void {
    this.#ports.onFault("hand-over");
    const cancel = this.#ports.machine.scheduler.after(3_000, () => this.#killWorker(running));
    this.#workers.delete(running);
    const stopped = running.worker === undefined ? Promise.resolve() : running.worker.stop();
    void stopped.then(async () => {
      await running.build.stop();
      cancel();
      running.process.crash();
      // A process of the old build restarts as one, until its time is over.
      const { machine, random } = this.#ports;
      if (isOld(running.process) && this.#builds.oldForMs !== undefined)
        machine.scheduler.after(random.between(0, 200), () => this.#addWorker());
    });
  }

  #failGateway(): void {
    const { random, onFault } = this.#ports;
    if (this.#gateways.size === 0) return;
    const gateway = random.pick([...this.#gateways]);
    if (random.chance(0.5)) {
      onFault("gateway pause");
      gateway.process.pause(random.between(50, 2_000));
      return;
    }
    onFault("gateway crash");
    this.#replaceGateway(gateway);
  }

  #replaceGateway(gateway: Gateway): void {
    gateway.process.crash();
    this.#gateways.delete(gateway);
    this.startGateway();
  }

  #failProjector(): void {
    const { random, onFault } = this.#ports;
    onFault("projector crash");
    this.#restartProjectorWithin(random.pick([0, 100, 4_000]));
  }

  #restartProjectorWithin(ms: number): void {
    this.#projector?.crash();
    this.#projector = undefined;
    this.#ports.machine.scheduler.after(ms, () => this.#startMissingProjector());
  }

  #startMissingProjector(): void {
    if (this.#projector === undefined) this.startProjector();
  }

  #damageSnapshot(): void {
    const { random, actors, onFault } = this.#ports;
    if (this.#damage.damage(random.pick(actors))) onFault("snapshot damaged");
  }

  snapshotWritten(): void {
    this.#damage.snapshotWritten();
  }

  /** Removes an actor as soon as it has nothing to do, as the jobs remove a market. Old builds cannot read it. */
  #removeActor(): void {
    if (this.#builds.oldForMs !== undefined) return;
    const { machine, random, actors, onFault } = this.#ports;
    const actor = random.pick(actors);
    const { log } = this.#process("jobs");
    const attempt = (left: number): void => {
      this.#maintain();
      removeActor(log, this.archive, actor).then(
        (isRemoved) => {
          if (isRemoved) onFault("actor removed");
          else if (left > 0) machine.scheduler.after(REMOVE_MS, () => attempt(left - 1));
        },
        () => undefined,
      );
    };
    attempt(REMOVE_TRIES);
  }

  /** Restores the removed actors that have messages, again and again, as the jobs do. */
  #restoreWanted(): void {
    const { log } = this.#process("jobs");
    restoreWanted(log, this.archive).catch(() => undefined);
    this.#ports.machine.scheduler.after(RESTORE_MS, () => this.#restoreWanted());
  }

  /** Cuts the power of the log and every connection to it. Sometimes kills all workers too. */
  powerCut(): void {
    const { machine, random, onFault } = this.#ports;
    onFault("power cut");
    machine.network.powerCut();
    if (!random.chance(0.5)) return;
    for (const worker of [...this.#workers]) if (worker !== this.#witness) this.#killWorker(worker);
    this.#startMissingWorkersWithin(500);
  }

  /** Ends the faults and starts every process that is missing. */
  heal(): void {
    this.#ports.machine.network.slowUntilMs = 0;
    this.#startMissingWorkers(2);
    this.#startMissingProjector();
    if (this.#gateways.size === 0) this.startGateway();
  }

  /** True when every mailbox is empty and every entry is relayed and projected. */
  get isQuiet(): boolean {
    const { store } = this.#ports.machine;
    return this.#ports.actors.every((actor) => {
      const partition = partitionOf(actor);
      const head = (field: string): number => Number(store.get(KEYS.head(partition, actor), field) ?? 0);
      return (
        store.stream(KEYS.mailbox(partition, actor)).entries.length === 0 &&
        head("relayed") === head("seq") &&
        (this.projected.get(actor)?.at(-1)?.seq ?? 0) === head("seq")
      );
    });
  }

  /** Describes the work that is left, for an error message. */
  get backlog(): string {
    const { store } = this.#ports.machine;
    return this.#ports.actors
      .map((actor) => {
        const partition = partitionOf(actor);
        const head = KEYS.head(partition, actor);
        const mailbox = store.stream(KEYS.mailbox(partition, actor)).entries.length;
        const projected = this.projected.get(actor)?.length ?? 0;
        return `${actor}: ${mailbox} messages waiting, at ${store.get(head, "seq") ?? 0}, relayed ${store.get(head, "relayed") ?? 0}, projected ${projected}`;
      })
      .join("; ");
  }

  stopAll(): void {
    for (const { process } of [...this.#workers, ...this.#gateways]) process.crash();
    this.#projector?.crash();
  }
}

function describe(fields: object): string {
  const { err, actor } = fields as { err?: unknown; actor?: string };
  const cause = err instanceof Error && err.cause instanceof Error ? `: ${err.cause.message}` : "";
  return `${actor ?? ""} ${err instanceof Error ? err.message : String(err)}${cause}`;
}
