/**
 * Between the processes and the log: everything takes time, may get lost on the way there or back, may arrive twice,
 * and may arrive long after whoever sent it has been paused, has given up or is dead. The log answers only what has
 * reached its disk; a power cut takes the rest, and every connection.
 */

import type { Commit } from "../../../stream/log/log.js";
import type { Operation } from "../../support/log/memory-log.js";
import type { MemoryStore } from "../../support/log/memory-store.js";
import type { Random } from "./random.js";
import type { Scheduler } from "./scheduler.js";

/** Probabilities per operation, and nothing at all once healed. */
export interface Faults {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly repeated: number;
  /** An operation that takes longer than a lease. */
  readonly late: number;
  readonly disconnected: number;
}

export const NO_FAULTS: Faults = { lostRequest: 0, lostAnswer: 0, repeated: 0, late: 0, disconnected: 0 };

/** The end of a connection that the network sees. */
export interface Caller {
  readonly name: string;
  readonly isAlive: boolean;
  readonly pausedUntilMs: number;
  /** Whether it carries messages between actors. */
  readonly relays: boolean;
  /** Runs something in the process, once it is not paused; never when it is dead. */
  run(call: () => void): void;
  disconnect(): void;
}

/** An operation on its way; of a take also the partition, of a commit what it is to write. */
export interface Call {
  readonly caller: Caller;
  readonly operation: Operation;
  readonly partition: string | undefined;
  readonly commit: Commit | undefined;
}

/** Who watches the operations as they reach the log. */
export interface Wire {
  onArrival(call: Call): void;
  onResult(call: Call, result: unknown, repeated: boolean): void;
  onFault(kind: string): void;
}

interface UnderWay {
  readonly caller: Caller;
  /** The caller does not learn what became of it. */
  readonly fail: (error: Error) => void;
  /** It has not arrived at the log and never will. */
  dropped: boolean;
}

/** Operations of a process that only begins; without them there is nothing to simulate. */
const SPARED: ReadonlySet<Operation> = new Set<Operation>(["subscribe", "installation", "memoryUse"]);

export class Network {
  faults: Faults = NO_FAULTS;
  /** Until then, messages between actors take seconds. */
  slowUntilMs = 0;
  /** A planted bug: answers before what was written is on the disk. */
  answersEarly = false;
  readonly #store: MemoryStore;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #wire: Wire;
  readonly #underWay = new Set<UnderWay>();
  #unsynced: (() => void)[] = [];
  #syncing = false;

  constructor(store: MemoryStore, scheduler: Scheduler, random: Random, wire: Wire) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#wire = wire;
  }

  /** Carries one operation of a process to the log and its answer back. */
  carry<T>(call: Call, apply: () => T): Promise<T> {
    const { caller, operation } = call;
    const random = this.#random;
    const faults = SPARED.has(operation) ? NO_FAULTS : this.faults;
    return new Promise<T>((resolve, reject) => {
      let settled = false;
      const settle = (how: () => void): void => {
        if (settled) return;
        settled = true;
        this.#underWay.delete(underWay);
        caller.run(how);
      };
      const fail = (error: Error): void => settle(() => reject(error));
      const underWay: UnderWay = { caller, dropped: false, fail };
      this.#underWay.add(underWay);

      if (random.chance(faults.disconnected)) {
        this.#wire.onFault("disconnect");
        this.#scheduler.after(random.between(0, 3), () => this.disconnect(caller));
      }
      if (random.chance(faults.lostRequest)) {
        this.#wire.onFault("lost request");
        this.#scheduler.after(random.between(1, 300), () => fail(new Error("time-out")));
        return;
      }
      const losesAnswer = random.chance(faults.lostAnswer);
      const arrive = (): void => {
        if (underWay.dropped) return;
        // What a paused process has not sent yet waits with it, and may come when it is no longer wanted.
        if (caller.isAlive && caller.pausedUntilMs > this.#scheduler.nowMs) {
          this.#scheduler.at(caller.pausedUntilMs + random.between(0, 2), arrive);
          return;
        }
        const answer = this.#apply(call, apply, false);
        this.#whenSynced(() => {
          if (losesAnswer) {
            this.#wire.onFault("lost answer");
            this.#scheduler.after(random.between(1, 300), () => fail(new Error("time-out")));
            return;
          }
          this.#scheduler.after(random.between(0, 2), () => {
            settle(() => ("error" in answer ? reject(answer.error) : resolve(answer.result)));
          });
        });
      };
      const isLate = random.chance(faults.late);
      if (isLate) this.#wire.onFault("late request");
      const isSlow = operation === "append" && caller.relays && this.slowUntilMs > this.#scheduler.nowMs;
      const [least, most] = isSlow ? [500, 2_500] : isLate ? [200, 1_500] : [0, 2];
      this.#scheduler.after(random.between(least, most), arrive);
      if (random.chance(faults.repeated)) {
        this.#wire.onFault("repeated request");
        this.#scheduler.after(random.between(1, 800), () => {
          if (!underWay.dropped) this.#apply(call, apply, true);
        });
      }
    });
  }

  #apply<T>(
    call: Call,
    apply: () => T,
    repeated: boolean,
  ): { readonly result: T } | { readonly error: Error } {
    this.#wire.onArrival(call);
    let result: T;
    try {
      result = apply();
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
    this.#wire.onResult(call, result, repeated);
    return { result };
  }

  /** Brings what the log tells of itself to whoever hears it, when it is on the disk. */
  bring(caller: Caller, hear: () => void): void {
    this.#whenSynced(() => caller.run(hear));
  }

  #whenSynced(answer: () => void): void {
    if (this.answersEarly || this.#store.unsynced === 0) {
      answer();
      if (this.#store.unsynced === 0) return;
    } else this.#unsynced.push(answer);
    if (this.#syncing) return;
    this.#syncing = true;
    this.#scheduler.after(this.#random.between(0, this.answersEarly ? 20 : 2), () => {
      this.#syncing = false;
      this.#store.sync();
      const answers = this.#unsynced;
      this.#unsynced = [];
      for (const one of answers) one();
    });
  }

  /** The connection of a process is cut: what was under way may or may not happen, and it does not learn which. */
  disconnect(caller: Caller): void {
    for (const one of [...this.#underWay]) if (one.caller === caller) this.#abandon(one);
    caller.run(() => caller.disconnect());
  }

  /** A process is gone: some of what it had sent still arrives. */
  forget(caller: Caller): void {
    for (const one of [...this.#underWay]) if (one.caller === caller) this.#abandon(one);
  }

  #abandon(one: UnderWay): void {
    if (this.#random.chance(0.5)) one.dropped = true;
    one.fail(new Error("connection lost"));
  }

  /** The log loses power: what was not on the disk is gone in part, and all that was under way. */
  powerCut(): void {
    for (const one of [...this.#underWay]) {
      one.dropped = true;
      one.fail(new Error("connection lost"));
    }
    this.#unsynced = [];
    this.#store.powerCut(this.#random.between(0, this.#store.unsynced));
  }
}
