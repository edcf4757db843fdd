/**
 * A simulation of counters, workers and a log in memory, driven by one random source. Every operation on the log waits
 * until it is chosen, and may be applied late, twice, with its answer lost, or never. Workers die and are replaced, the
 * clock jumps past leases, and the power fails. The same seed gives the same run.
 */

import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { packEnvelope, continues, parseEntry } from "../../../stream/log/packing.js";
import type { CommitGroup } from "../../../stream/runtime/commit-group.js";
import type { SnapshotLimits } from "../../../stream/runtime/snapshot-policy.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { counter, type CounterDelta, type CounterState } from "./counter.js";
import { counterInLog, ManualClock, microtasksDone } from "../log/support.js";

export const ACTORS: readonly ActorId[] = [ledgerActor(1), ledgerActor(2), ledgerActor(3)];
const PARTITIONS = ACTORS.map(partitionOf);
const LEASE_MS = 300;
const SNAPSHOT_LIMITS: SnapshotLimits = {
  snapshotEntries: 2,
  snapshotBytes: 1_000,
  snapshotPause: 1,
  recoveryBytes: 2_000,
  snapshotMs: 50,
  snapshotMinEntries: 1,
  moveBytes: 1,
  roundActors: 1,
  resumeEntries: 1,
  resumeBytes: 40_000,
  resumeMs: 20,
  idleMs: 60,
};

export interface Faults {
  /** Probabilities of the faults of one operation. */
  readonly lostAnswer: number;
  readonly lost: number;
  readonly twice: number;
  /** Probabilities of the events at one step of the run. */
  readonly crash: number;
  readonly powerCut: number;
}

const NO_FAULTS: Faults = { lostAnswer: 0, lost: 0, twice: 0, crash: 0, powerCut: 0 };
export const NETWORK: Faults = { ...NO_FAULTS, lostAnswer: 0.05, lost: 0.05, twice: 0.02 };
export const CRASHES: Faults = { ...NETWORK, crash: 0.015 };
export const POWER: Faults = { ...CRASHES, powerCut: 0.006 };

/** Returns a random generator (xorshift32) that gives the same numbers on every platform. */
function randomFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
}

/** Runs a seed with faults, and then until no work is left. */
export async function runSeed(seed: number, faults: Faults): Promise<ChaosWorld> {
  const world = new ChaosWorld(seed);
  await world.run(700, faults);
  await world.heal();
  return world;
}

/** Numbers that each actor has sent to each other one, or has received, in order. */
export type Numbers = Readonly<Record<string, readonly number[]>>;

/** Returns the numbers that were sent and those that were received. Both must be the same. */
export async function traffic(world: ChaosWorld): Promise<{ sent: Numbers; received: Numbers }> {
  const sent: Record<string, number[]> = {};
  const received: Record<string, number[]> = {};
  for (const actor of ACTORS) {
    for (const delta of await world.deltas(actor)) {
      if (delta.type === "sent") (sent[`${actor} -> ${delta.to}`] ??= []).push(delta.n);
      if (delta.type === "received") (received[`${delta.from} -> ${actor}`] ??= []).push(delta.n);
    }
  }
  return { sent, received };
}

/** An operation that waits to be chosen. */
interface Pending {
  readonly process: Process;
  run(faults: Faults): void;
}

interface Process {
  readonly worker: Worker;
  readonly log: MemoryLog;
  dead: boolean;
}

export class ChaosWorld {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore();
  readonly #random: () => number;
  readonly #oneGroup: boolean;
  readonly #observer = new MemoryLog(this.store, { clock: this.clock });
  #pending: Pending[] = [];
  #processes: Process[] = [];
  #started = 0;
  #posted = 0;
  /** All events in order. Two runs of a seed have the same trace. */
  readonly trace: string[] = [];
  /** The posted numbers, each with the actor that sends it and the actor that receives it. */
  readonly posts: { readonly from: ActorId; readonly to: ActorId; readonly n: number }[] = [];
  powerCuts = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    this.#oneGroup = seed % 3 > 0;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random() * from.length)];
  }

  #start(): void {
    this.#started += 1;
    const id = `worker ${this.#started}`;
    const gate: Gate = (operation, apply) =>
      new Promise((resolve, reject) => {
        const lost = (): void => reject(new Error("connection lost"));
        this.#pending.push({
          process,
          run: (faults) => {
            this.trace.push(`${id} ${operation}`);
            if (this.#chance(faults.lost)) {
              lost();
              return;
            }
            const result = apply();
            // A repeat follows at once; a late repeat is a command that the caller sends again.
            if (this.#chance(faults.twice)) apply();
            if (this.#chance(faults.lostAnswer)) {
              lost();
              return;
            }
            resolve(result);
          },
        });
      });
    const log = new MemoryLog(this.store, { clock: this.clock, gate, oneGroup: this.#oneGroup });
    // Workers of a build that relays what it does not hand over run beside the others.
    if (this.#chance(0.5)) log.reaches = () => false;
    const options = {
      log,
      clock: this.clock,
      logger: silentLogger,
      partitions: PARTITIONS,
      snapshotLimits: SNAPSHOT_LIMITS,
      relayMessages: this.#chance(0.5) ? 1 : undefined,
      overlaps: this.#chance(0.5),
    };
    const worker = new Worker({ ...options, id, actorOf: () => counter, leaseMs: LEASE_MS });
    const process: Process = { worker, log, dead: false };
    this.#processes.push(process);
  }

  /** Kills a process. Each of its pending operations may still be applied. */
  async #crash(process: Process): Promise<void> {
    this.trace.push(`${process.worker.id} dies`);
    process.dead = true;
    this.#processes = this.#processes.filter((other) => other !== process);
    this.#pending = this.#pending.filter((pending) => pending.process !== process || this.#chance(0.5));
    for (const partition of process.worker.held.values()) partition.end(new Error("crash"));
    await process.log.close();
  }

  #powerCut(): void {
    this.trace.push("power cut");
    this.powerCuts += 1;
    this.#pending = [];
    this.store.powerCut(Math.floor(this.#random() * (this.store.unsynced + 1)));
    // The pending operations are never answered, so these workers hang; others replace them.
    this.#processes = [];
  }

  /** Appends a command to a mailbox, in some cases twice with the same id. */
  async post(): Promise<void> {
    this.#posted += 1;
    const n = this.#posted;
    const from = this.#pick(ACTORS) ?? ledgerActor(1);
    const to = this.#pick(ACTORS) ?? ledgerActor(2);
    this.posts.push({ from, to, n });
    const body = packEnvelope({ id: `command ${n}`, commands: [{ kind: "send", to, numbers: [n] }] });
    const copies = this.#chance(0.3) ? 2 : 1;
    await this.#observer.append(
      partitionOf(from),
      Array.from({ length: copies }, () => ({ to: from, body })),
    );
  }

  async #act(faults: Faults): Promise<void> {
    const process = this.#pick(this.#processes);
    if (process === undefined) {
      this.#start();
      return;
    }
    const { worker } = process;
    const partition = this.#pick([...worker.held.values()]);
    const choice = this.#random();
    if (this.#chance(faults.crash)) await this.#crash(process);
    else if (this.#chance(faults.powerCut)) this.#powerCut();
    else if (this.#processes.length < 2 && choice < 0.3) this.#start();
    else if (choice < 0.15) this.#ignoreFailure(worker.beat());
    else if (choice < 0.2) this.clock.advance(Math.floor(this.#random() * 40));
    else if (choice < 0.21) this.clock.advance(LEASE_MS + 50);
    else if (choice < 0.27) this.#ignoreFailure(worker.relay.flush());
    else if (choice < 0.4 && partition !== undefined) this.#ignoreFailure(partition.maintain());
    else if (choice < 0.65)
      for (const to of worker.relay.destinations()) this.#ignoreFailure(worker.relay.step(to));
    else if (partition !== undefined) {
      partition.notify({ partition: partition.name, notices: [], scanAll: true });
      this.#step(worker.groupOf(partition.name));
    }
    for (const running of this.#processes) await this.#beatWhenEnded(running);
  }

  readonly #stepping = new Set<CommitGroup>();

  #step(group: CommitGroup): void {
    if (this.#stepping.has(group)) return;
    this.#stepping.add(group);
    this.#ignoreFailure(group.step().finally(() => this.#stepping.delete(group)));
  }

  /** Sends a heartbeat when every ownership of a worker has ended, so that it takes partitions again. */
  async #beatWhenEnded({ worker }: Process): Promise<void> {
    if ([...worker.held.values()].every(({ ended }) => ended) && worker.held.size > 0)
      this.#ignoreFailure(worker.beat());
    await microtasksDone();
  }

  /** Ignores a failure, which a fault has caused. The tests check the log. */
  #ignoreFailure(result: Promise<void>): void {
    result.catch(() => undefined);
  }

  /** Runs a number of steps with the given faults. */
  async run(steps: number, faults: Faults): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      if (this.#chance(0.1)) await this.post();
      if (this.#chance(0.1)) await this.#project();
      if (this.#pending.length > 0 && this.#chance(0.75)) {
        const index = Math.floor(this.#random() * this.#pending.length);
        const [operation] = this.#pending.splice(index, 1);
        operation?.run(faults);
      } else {
        await this.#act(faults);
      }
      await microtasksDone();
    }
  }

  /** Runs without faults and new commands until no work is left. Returns the number of rounds. */
  async heal(): Promise<number> {
    for (let round = 1; round <= 300; round += 1) {
      this.clock.advance(100);
      if (this.#processes.length === 0) this.#start();
      for (const { worker } of this.#processes) {
        this.#ignoreFailure(worker.beat());
        await this.#drain();
        for (const partition of worker.held.values()) {
          partition.notify({ partition: partition.name, notices: [], scanAll: true });
          this.#step(worker.groupOf(partition.name));
          await this.#drain();
        }
        for (const to of worker.relay.destinations()) this.#ignoreFailure(worker.relay.step(to));
        await this.#drain();
        this.#ignoreFailure(worker.relay.flush());
        await this.#drain();
      }
      if (await this.#isQuiet()) return round;
    }
    throw new Error("there is still work after 300 rounds");
  }

  async #drain(): Promise<void> {
    await microtasksDone();
    while (this.#pending.length > 0) {
      this.#pending.shift()?.run(NO_FAULTS);
      await microtasksDone();
    }
  }

  async #isQuiet(): Promise<boolean> {
    for (const partition of PARTITIONS) {
      for (const { waiting, head } of await this.#observer.scan(partition)) {
        if (waiting > 0 || head.relayed < head.seq) return false;
      }
    }
    return true;
  }

  /** The deltas of each actor in the read model. */
  readonly #projected = new Map<ActorId, { seq: number; entries: number; readonly deltas: CounterDelta[] }>();
  /** Number of trimmed entries of all actors. */
  trimmed = 0;

  /** Syncs the log, and copies all its entries into the read model, so that they may be trimmed. */
  async #project(): Promise<void> {
    this.store.sync();
    for (const actor of ACTORS) {
      const partition = partitionOf(actor);
      const projected = this.#projected.get(actor) ?? { seq: 0, entries: 0, deltas: [] };
      this.#projected.set(actor, projected);
      const reads = [{ partition, actor, afterSeq: projected.seq }];
      const [found] = await this.#observer.readEntries(reads, Infinity);
      for (const stored of found?.entries ?? []) {
        const entry = parseEntry(actor, stored);
        if (!continues(entry, projected.seq)) throw new Error(`${actor} was trimmed before it was projected`);
        for (const { deltas } of entry.batches) projected.deltas.push(...(deltas as CounterDelta[]));
        projected.seq = entry.seq;
        projected.entries += 1;
      }
      await this.#observer.markProjected(partition, [{ actor, seq: projected.seq }]);
    }
  }

  /** Returns the state of an actor, recovered from the log. */
  state(actor: ActorId): Promise<CounterState> {
    return counterInLog(this.#observer, actor);
  }

  /** Returns all deltas of an actor, in order. */
  async deltas(actor: ActorId): Promise<readonly CounterDelta[]> {
    await this.#project();
    const { entries, deltas } = this.#projected.get(actor) ?? { entries: 0, deltas: [] };
    const [status] = (await this.#observer.scan(partitionOf(actor))).filter((found) => found.actor === actor);
    this.trimmed += entries - (status?.retained ?? 0);
    return deltas;
  }
}
