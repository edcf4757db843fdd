/** The processes of a simulated week: workers, gateways, a projector and the jobs, with their upgrades and their faults. */

import { marketActor } from "../../../actors/actor.js";
import { type Format, LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { announcedName, FormatAnnouncer, type RoleName } from "../../../stream/log/formats.js";
import type { Logger } from "../../../stream/log/logger.js";
import { LogTail } from "../../../stream/log/tail.js";
import { Removal } from "../../../stream/jobs/removal.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import {
  findUndoneRemovals,
  removeActor,
  restoreActor,
  restoreWanted,
} from "../../../stream/runtime/removal/removal.js";
import type { ReviewLimits } from "../../../stream/runtime/removal/sources.js";
import type { SnapshotLimits } from "../../../stream/runtime/snapshot-policy.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { EngineClock } from "../../../stream/services/engine-clock.js";
import { type Machine, Process } from "../machine/process.js";
import type { Random } from "../machine/random.js";
import type { CompressedArchive } from "./archive.js";
import { MARKET_KEEP_MS } from "./plan.js";
import type { ReadModel } from "./read-model.js";

const MAX_SKEW_MS = 20;
/** Interval of the jobs' sweep, in ms. */
const SWEEP_MS = 1_000;
/** Most markets that one sweep removes. */
const SWEEP_MARKETS = 100;
/** Time that an old process and its successor run beside each other in an upgrade, in ms. */
const OVERLAP_MS = 1_500;
/** Interval at which the end of an upgrade is checked, in ms. */
const FORMAT_POLL_MS = 500;

interface Running {
  readonly process: Process;
  readonly announcer: FormatAnnouncer;
  /** Ends the process as SIGTERM does. */
  stop(): Promise<void>;
}

interface RunningGateway extends Running {
  readonly exchange: LogExchange;
}

export interface ClusterPorts {
  readonly machine: Machine;
  readonly random: Random;
  readonly readModel: ReadModel;
  readonly archive: CompressedArchive;
  readonly limits: SnapshotLimits;
  readonly reviews: ReviewLimits;
  readonly count: (event: string) => void;
  readonly onViolation: (error: Error) => void;
}

export class Cluster {
  readonly #ports: ClusterPorts;
  readonly #logger: Logger;
  readonly #workers = new Set<Running>();
  readonly #gateways = new Set<RunningGateway>();
  #projector: Running | undefined;
  #jobs: Running | undefined;
  /** Format of the build that processes start with. */
  #format: Format = OLDEST_FORMAT;
  #started = 0;

  constructor(ports: ClusterPorts) {
    this.#ports = ports;
    this.#logger = {
      info: () => undefined,
      warn: () => undefined,
      error: (fields, message) => {
        if (message.startsWith("the clock of ")) ports.count("clock reported");
        else ports.onViolation(new Error(`${message}: ${textOf(fields)}`));
      },
    };
  }

  get exchanges(): readonly LogExchange[] {
    return [...this.#gateways].map(({ exchange }) => exchange);
  }

  get workers(): number {
    return this.#workers.size;
  }

  #process(kind: string): Process {
    this.#started += 1;
    const { machine, random } = this.#ports;
    return new Process(`${kind}${this.#started}`, machine, random.between(-MAX_SKEW_MS, MAX_SKEW_MS));
  }

  async #announcer(role: RoleName, { log, clock, name: id }: Process): Promise<FormatAnnouncer> {
    const options = { log, clock, role, id, format: this.#format, logger: this.#logger };
    const announcer = new FormatAnnouncer(options);
    await announcer.start();
    return announcer;
  }

  async start(): Promise<void> {
    await Promise.all([this.startWorker(), this.#startGateway(), this.#startGateway()]);
    await Promise.all([this.#startProjector(), this.#startJobs()]);
  }

  async startWorker(): Promise<void> {
    const process = this.#process("worker");
    const { log, clock } = process;
    const logger = this.#logger;
    const announcer = await this.#announcer("worker", process);
    const id = announcedName(this.#format, "worker", process.name);
    const engine = await EngineClock.start({ log, clock, logger, name: id, sets: true });
    const worker = new Worker({
      ...{ id, log, actorOf, clock: engine, logger, formats: announcer },
      snapshotLimits: this.#ports.limits,
      reviewLimits: this.#ports.reviews,
    });
    this.#workers.add({ process, announcer, stop: () => worker.stop() });
    await worker.start();
  }

  async #startGateway(): Promise<void> {
    const process = this.#process("gateway");
    const { log, clock } = process;
    const logger = this.#logger;
    const { archive, random } = this.#ports;
    const announcer = await this.#announcer("gateway", process);
    const engine = await EngineClock.start({ log, clock, logger, name: process.name, sets: false });
    const exchange = new LogExchange({
      ...{ log, logger, clock: engine, formats: announcer },
      newId: () => random.uuid(),
      restore: (actor) => restoreActor(log, archive, actor),
    });
    await exchange.start();
    this.#gateways.add({ process, announcer, exchange, stop: () => exchange.close() });
  }

  async #startProjector(): Promise<void> {
    const process = this.#process("projector");
    const { log, clock } = process;
    const { readModel, onViolation } = this.#ports;
    const announcer = await this.#announcer("projector", process);
    const tail = new LogTail({ log, clock, logger: this.#logger });
    tail.everyActor({
      cursors: new Map(readModel.cursors),
      onEntries: (entries) => {
        try {
          readModel.write(entries);
        } catch (error) {
          onViolation(error instanceof Error ? error : new Error(String(error)));
        }
        const marks = new Map(entries.map(({ actor, seq }) => [actor, seq]));
        tail.projected([...marks]).catch(() => undefined);
        return Promise.resolve();
      },
      onGap: (actor, seq) => onViolation(new Error(`the log has no entry of ${actor} after ${seq}`)),
      onUnreadable: (_actor, error) => onViolation(error),
    });
    this.#projector = { process, announcer, stop: () => tail.close() };
  }

  async #startJobs(): Promise<void> {
    const process = this.#process("jobs");
    const { log, clock } = process;
    const logger = this.#logger;
    const { archive, readModel, random, count } = this.#ports;
    const announcer = await this.#announcer("jobs", process);
    const engine = await EngineClock.start({ log, clock, logger, name: process.name, sets: false });
    const exchange = new LogExchange({
      ...{ log, logger, clock: engine, formats: announcer },
      newId: () => random.uuid(),
    });
    await exchange.start();
    const removal = new Removal(
      {
        exchange,
        removable: (list, after, beforeTs) =>
          Promise.resolve(readModel.removable(list, after, beforeTs, SWEEP_MARKETS)),
        findUndone: () => findUndoneRemovals(log, archive),
        remove: async (marketId) => {
          const isRemoved = await removeActor(log, archive, marketActor(marketId));
          if (isRemoved) count("market removed");
          return isRemoved;
        },
        mayRemove: () => announcer.active() > OLDEST_FORMAT,
      },
      MARKET_KEEP_MS,
    );
    let stopped = false;
    const sweep = async (): Promise<void> => {
      // A sweep fails when the log does not answer; the next one goes on.
      await Promise.allSettled([restoreWanted(log, archive), removal.run(engine.now())]);
      if (!stopped) clock.after(SWEEP_MS, () => void sweep());
    };
    void sweep();
    const stop = (): Promise<void> => {
      stopped = true;
      return exchange.close();
    };
    this.#jobs = { process, announcer, stop };
  }

  async #end(running: Running): Promise<void> {
    await running.stop();
    await running.announcer.stop();
    running.process.crash();
  }

  /** Replaces every process by one that writes up to `format`, one role after the other, until it is active. */
  async roll(format: Format): Promise<void> {
    const { count } = this.#ports;
    count(format === LATEST_FORMAT ? "upgrade" : "roll-back");
    this.#format = format;
    for (const worker of [...this.#workers]) {
      await this.startWorker();
      await this.sleep(OVERLAP_MS);
      this.#workers.delete(worker);
      await this.#end(worker);
    }
    for (const gateway of [...this.#gateways]) {
      await this.#startGateway();
      this.#gateways.delete(gateway);
      // The requests of the old gateway get their answers.
      await this.sleep(OVERLAP_MS);
      await this.#end(gateway);
    }
    for (const last of [this.#projector, this.#jobs]) if (last !== undefined) await this.#end(last);
    await Promise.all([this.#startProjector(), this.#startJobs()]);
    while (this.#jobs?.announcer.active() !== format) await this.sleep(FORMAT_POLL_MS);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#ports.machine.scheduler.after(ms, resolve));
  }

  /** Kills the projector, and starts another one. */
  async restartProjector(): Promise<void> {
    this.#projector?.process.crash();
    await this.#startProjector();
  }

  async crashGateway(): Promise<void> {
    const [gateway] = this.#gateways;
    if (gateway === undefined) return;
    this.#gateways.delete(gateway);
    gateway.process.crash();
    await this.#startGateway();
  }

  /** Kills a worker, and starts another one after a while. */
  async crashWorker(): Promise<void> {
    const [worker] = this.#workers;
    if (worker === undefined) return;
    this.#workers.delete(worker);
    worker.process.crash();
    await this.sleep(500);
    await this.startWorker();
  }

  pauseWorker(ms: number): void {
    for (const { process } of this.#workers) process.pause(ms);
  }

  stepClock(ms: number): void {
    for (const { process } of [...this.#workers, ...this.#gateways]) process.stepClock(ms);
  }

  /** Ends one worker of several. */
  async removeWorker(): Promise<void> {
    const [worker] = this.#workers;
    if (worker === undefined || this.#workers.size < 2) return;
    this.#workers.delete(worker);
    await this.#end(worker);
  }

  /** Lets engine time follow a clock of the log that has jumped, as an operator does. */
  async confirmTime(): Promise<void> {
    await this.#jobs?.process.log.confirmTime();
  }

  crashAll(): void {
    for (const { process } of [...this.#workers, ...this.#gateways]) process.crash();
    this.#projector?.process.crash();
    this.#jobs?.process.crash();
  }
}

function textOf(fields: object): string {
  const { err, actor = "" } = fields as { readonly err?: unknown; readonly actor?: string };
  if (!(err instanceof Error)) return `${actor} ${String(err)}`;
  return `${actor} ${err.message}${err.cause instanceof Error ? `: ${err.cause.message}` : ""}`;
}
