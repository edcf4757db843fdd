/**
 * A small world of counters, workers and a log in memory, driven by one random source: every operation on the log
 * waits until it is chosen, and may be applied late, twice, with its answer lost, or never. Workers die and are
 * replaced, the clock jumps past leases, the power fails. The same seed gives the same run.
 */

import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { packEnvelope, parseEntry } from "../../../stream/log/packing.js";
import type { CommitGroup } from "../../../stream/runtime/commit-group.js";
import type { SnapshotLimits } from "../../../stream/runtime/snapshot-policy.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { counter, type CounterDelta, type CounterState } from "./counter.js";
import { counterInLog, ManualClock, settled } from "../log/support.js";

export const ACTORS: readonly ActorId[] = [ledgerActor(1), ledgerActor(2), ledgerActor(3)];
const PARTITIONS = ACTORS.map(partitionOf);
const LEASE_MS = 300;
const SNAPSHOT_LIMITS: SnapshotLimits = {
  snapshotEntries: 2,
  snapshotMs: 50,
  snapshotMinEntries: 1,
  resumeEntries: 1,
  resumeMs: 20,
  idleMs: 60,
};

export interface Faults {
  /** How likely each fault is for one operation, 0 to 1. */
  readonly lostAnswer: number;
  readonly lost: number;
  readonly twice: number;
  /** How likely each event is at one step of the run. */
  readonly crash: number;
  readonly powerCut: number;
}

const NO_FAULTS: Faults = { lostAnswer: 0, lost: 0, twice: 0, crash: 0, powerCut: 0 };

/** A small generator of its own, so that runs are the same everywhere (xorshift32). */
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
  readonly #together: boolean;
  readonly #observer = new MemoryLog(this.store, { clock: this.clock });
  #pending: Pending[] = [];
  #processes: Process[] = [];
  #started = 0;
  #posted = 0;
  /** Everything that happened, in order; two runs of a seed have the same. */
  readonly trace: string[] = [];
  /** Numbers that were posted to be sent on, with the sender, the receiver and whether the posting is sure. */
  readonly posts: { readonly from: ActorId; readonly to: ActorId; readonly n: number }[] = [];
  powerCuts = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    this.#together = seed % 3 > 0;
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
            // A network repeats only what is safe to repeat at once; the rest arrives late on its own.
            if (this.#chance(faults.twice)) apply();
            if (this.#chance(faults.lostAnswer)) {
              lost();
              return;
            }
            resolve(result);
          },
        });
      });
    const log = new MemoryLog(this.store, { clock: this.clock, gate, oneGroup: this.#together });
    const options = {
      log,
      clock: this.clock,
      logger: silentLogger,
      partitions: PARTITIONS,
      snapshotLimits: SNAPSHOT_LIMITS,
    };
    const worker = new Worker({ ...options, id, actorOf: () => counter, leaseMs: LEASE_MS });
    const process: Process = { worker, log, dead: false };
    this.#processes.push(process);
  }

  /** The process ends; of what it had sent some arrives. */
  async #crash(process: Process): Promise<void> {
    this.trace.push(`${process.worker.id} dies`);
    process.dead = true;
    this.#processes = this.#processes.filter((other) => other !== process);
    this.#pending = this.#pending.filter((one) => one.process !== process || this.#chance(0.5));
    for (const partition of process.worker.held.values()) partition.end(new Error("crash"));
    await process.log.close();
  }

  #powerCut(): void {
    this.trace.push("power cut");
    this.powerCuts += 1;
    this.#pending = [];
    this.store.powerCut(Math.floor(this.#random() * (this.store.unsynced + 1)));
    // What was under way is never answered, so these workers hang for ever; others take their place.
    this.#processes = [];
  }

  /** Posts a command straight into a mailbox, maybe twice with the same id. */
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
    else if (choice < 0.15) this.#own(worker.beat());
    else if (choice < 0.2) this.clock.advance(Math.floor(this.#random() * 40));
    else if (choice < 0.21) this.clock.advance(LEASE_MS + 50);
    else if (choice < 0.27) this.#own(worker.relay.flush());
    else if (choice < 0.4 && partition !== undefined) this.#own(partition.maintain());
    else if (choice < 0.65) for (const to of worker.relay.destinations()) this.#own(worker.relay.step(to));
    else if (partition !== undefined) {
      partition.notify({ partition: partition.name, notices: [], scanAll: true });
      this.#step(worker.groupOf(partition.name));
    }
    for (const one of this.#processes) await this.#bury(one);
  }

  readonly #stepping = new Set<CommitGroup>();

  #step(group: CommitGroup): void {
    if (this.#stepping.has(group)) return;
    this.#stepping.add(group);
    this.#own(group.step().finally(() => this.#stepping.delete(group)));
  }

  /** A dropped partition is given up at the next beat. */
  async #bury({ worker }: Process): Promise<void> {
    if ([...worker.held.values()].every(({ ended }) => ended) && worker.held.size > 0)
      this.#own(worker.beat());
    await settled();
  }

  /** What fails here fails because of a fault; what matters is what is in the log. */
  #own(result: Promise<void>): void {
    result.catch(() => undefined);
  }

  /** Runs for so many steps with these faults. */
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
      await settled();
    }
  }

  /** Faults off, and no more commands: everything must come to an end. Gives the number of rounds it took. */
  async heal(): Promise<number> {
    for (let round = 1; round <= 300; round += 1) {
      this.clock.advance(100);
      if (this.#processes.length === 0) this.#start();
      for (const { worker } of this.#processes) {
        this.#own(worker.beat());
        await this.#drain();
        for (const partition of worker.held.values()) {
          partition.notify({ partition: partition.name, notices: [], scanAll: true });
          this.#step(worker.groupOf(partition.name));
          await this.#drain();
        }
        for (const to of worker.relay.destinations()) this.#own(worker.relay.step(to));
        await this.#drain();
        this.#own(worker.relay.flush());
        await this.#drain();
      }
      if (await this.#isQuiet()) return round;
    }
    throw new Error("it never came to rest");
  }

  async #drain(): Promise<void> {
    await settled();
    while (this.#pending.length > 0) {
      this.#pending.shift()?.run(NO_FAULTS);
      await settled();
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

  /** What the read model has of each actor. */
  readonly #projected = new Map<ActorId, { seq: number; readonly deltas: CounterDelta[] }>();
  /** How many entries of all actors have been trimmed away. */
  trimmed = 0;

  /** A sync, and a read model that takes over what is safe from then on, so that it may be trimmed. */
  async #project(): Promise<void> {
    this.store.sync();
    for (const actor of ACTORS) {
      const partition = partitionOf(actor);
      const projected = this.#projected.get(actor) ?? { seq: 0, deltas: [] };
      this.#projected.set(actor, projected);
      const reads = [{ partition, actor, afterSeq: projected.seq }];
      const [found] = await this.#observer.readEntries(reads, Infinity);
      if (found?.gap === true) throw new Error(`${actor} was trimmed before it was projected`);
      for (const entry of found?.entries ?? []) {
        for (const { deltas } of parseEntry(actor, entry).batches)
          projected.deltas.push(...(deltas as CounterDelta[]));
        projected.seq = entry.seq;
      }
      await this.#observer.markProjected(partition, [{ actor, seq: projected.seq }]);
    }
  }

  /** An actor as the log would bring it back. */
  state(actor: ActorId): Promise<CounterState> {
    return counterInLog(this.#observer, actor);
  }

  /** Every delta of an actor, in order. */
  async deltas(actor: ActorId): Promise<readonly CounterDelta[]> {
    await this.#project();
    const { seq, deltas } = this.#projected.get(actor) ?? { seq: 0, deltas: [] };
    const [status] = (await this.#observer.scan(partitionOf(actor))).filter((one) => one.actor === actor);
    this.trimmed += seq - (status?.retained ?? 0);
    return deltas;
  }
}
