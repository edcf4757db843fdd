/** Workers, exchanges and faults on one log: in memory, or a log that the test passes in. */

import { randomUUID } from "node:crypto";
import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { type Formats, latestFormat } from "../../../actors/format.js";
import { type Clock, systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import type { Log } from "../../../stream/log/log.js";
import { type Logger, silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog, type Operation } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { packEnvelope } from "../../../stream/log/packing.js";
import type { Partition } from "../../../stream/runtime/partition.js";
import { type AskOptions, Unavailable } from "../../../stream/log/ports.js";
import type { SnapshotLimits } from "../../../stream/runtime/snapshot-policy.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { counter, type CounterCommand, type CounterReply } from "./counter.js";

export const a = ledgerActor(1);
export const b = ledgerActor(2);
const PARTITIONS = ["l1", "l2"];

/** A gate with faults that the test sets for the next operations of a kind. */
export class FaultyGate {
  readonly #faults = new Map<Operation, ((apply: () => unknown) => Promise<unknown>)[]>();

  readonly gate: Gate = async (operation, apply) => {
    const fault = this.#faults.get(operation)?.shift();
    await Promise.resolve();
    return fault === undefined ? apply() : (fault(apply) as ReturnType<typeof apply>);
  };

  #add(operation: Operation, fault: (apply: () => unknown) => Promise<unknown>): void {
    this.#faults.set(operation, [...(this.#faults.get(operation) ?? []), fault]);
  }

  /** Returns the number of faults that no operation has met. */
  waiting(operation: Operation): number {
    return this.#faults.get(operation)?.length ?? 0;
  }

  /** Applies the next operation, and loses its answer. */
  loseAnswer(operation: Operation): void {
    this.#add(operation, (apply) => {
      apply();
      return Promise.reject(new Error("connection lost"));
    });
  }

  /** Loses the next operation. */
  lose(operation: Operation): void {
    this.#add(operation, () => Promise.reject(new Error("connection lost")));
  }

  /** Holds the next operation until the returned function is called. */
  hold(operation: Operation): () => void {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#add(operation, async (apply) => {
      await released;
      return apply();
    });
    return release;
  }
}

export class Deployment {
  readonly store = new MemoryStore();
  /** Lets the steps of new workers overlap. */
  overlaps = false;
  readonly #closing: { close(): Promise<void> }[] = [];
  readonly #workers: Worker[] = [];

  /** `oneGroup`: all partitions are in one commit group. */
  constructor(readonly oneGroup = false) {}

  connect(gate?: Gate, clock: Clock = systemClock): MemoryLog {
    const log = new MemoryLog(this.store, { gate, clock, oneGroup: this.oneGroup });
    this.#closing.push(log);
    return log;
  }

  worker(
    log: Log,
    clock: Clock = systemClock,
    actor: typeof counter = counter,
    formats: Formats = latestFormat,
    partitions: readonly string[] = PARTITIONS,
    logger: Logger = silentLogger,
    snapshotLimits?: SnapshotLimits,
  ): Worker {
    const { overlaps } = this;
    const actorOf = () => actor;
    const options = { log, clock, actorOf, logger, partitions, formats, overlaps, snapshotLimits };
    // Workers that start together get their partitions in the order of their names.
    const worker = new Worker({ ...options, id: ["first", "second"][this.#workers.length] ?? randomUUID() });
    this.#workers.push(worker);
    return worker;
  }

  async exchange(log: Log = this.connect(), capacity?: number): Promise<LogExchange> {
    const options = {
      log,
      clock: systemClock,
      logger: silentLogger,
      newId: randomUUID,
      mailboxCapacity: capacity,
    };
    const exchange = new LogExchange(options);
    this.#closing.unshift(exchange);
    await exchange.start();
    return exchange;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    for (const closable of this.#closing) await closable.close();
  }
}

export async function sendCommand(
  exchange: LogExchange,
  to: ActorId,
  command: CounterCommand,
  options?: AskOptions,
): Promise<number> {
  return ((await exchange.ask(to, command, options)) as CounterReply).value;
}

export function partitionOfWorker(worker: Worker, name: string): Partition {
  const partition = worker.held.get(name);
  if (partition === undefined) throw new Error(`${worker.id} does not hold ${name}`);
  return partition;
}

/** Steps the commit group of a partition, and steps it again when the actors it needs are loaded. */
export async function step(worker: Worker, name: string): Promise<void> {
  const group = worker.groupOf(name);
  await group.step();
  await Promise.all([...worker.held.values()].map((partition) => partition.loaded()));
  // At time 0 no deadline is due, so only unread messages count.
  if (group.hasWork(0)) await group.step();
}

/** Appends a command to a mailbox, without a feed for the answer. */
export async function post(
  log: Log,
  to: ActorId,
  command: CounterCommand,
  id: string = randomUUID(),
): Promise<void> {
  await log.append(partitionOf(to), [{ to, body: packEnvelope({ id, commands: [command] }) }]);
}

export async function unavailableMessage(result: Promise<unknown>): Promise<string> {
  try {
    await result;
  } catch (error) {
    if (error instanceof Unavailable) return error.message;
    throw error;
  }
  throw new Error("the command was not rejected");
}
