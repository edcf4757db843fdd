/**
 * Simulates the network between the processes and the log. Operations and answers take time, may be lost, and may
 * arrive twice, or long after their sender has paused, has given up or has died. The log answers an operation only once
 * its writes are on the disk. A power cut loses the other writes, and every connection.
 */

import type { Commit } from "../../../stream/log/log.js";
import type { Operation } from "../../support/log/memory-log.js";
import type { MemoryStore } from "../../support/log/memory-store.js";
import type { Random } from "./random.js";
import type { Scheduler } from "./scheduler.js";

/** Probabilities of the faults of one operation. All are 0 after the healing. */
export interface Faults {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly repeated: number;
  /** Probability of an operation that takes longer than a lease. */
  readonly late: number;
  readonly disconnected: number;
  readonly lostNotification: number;
}

export const NO_FAULTS: Faults = {
  lostRequest: 0,
  lostAnswer: 0,
  repeated: 0,
  late: 0,
  disconnected: 0,
  lostNotification: 0,
};

/** Process at the other end of a connection, as the network sees it. */
export interface Caller {
  readonly name: string;
  readonly isAlive: boolean;
  readonly pausedUntilMs: number;
  /** True for a process that relays messages between actors. */
  readonly relays: boolean;
  /** Runs a call in the process as soon as the process is not paused. Ignores the call if the process is dead. */
  run(call: () => void): void;
  disconnect(): void;
}

/** Operation in flight, with the partition of a `take` and the content of a `commit`. */
export interface Call {
  readonly caller: Caller;
  readonly operation: Operation;
  readonly partition: string | undefined;
  readonly commit: Commit | undefined;
}

/** Observes the operations as they reach the log. */
export interface NetworkObserver {
  onArrival(call: Call): void;
  onResult(call: Call, result: unknown, repeated: boolean): void;
  onFault(kind: string): void;
}

interface InFlight {
  readonly caller: Caller;
  /** Rejects the operation, so that its caller does not learn the outcome. */
  readonly fail: (error: Error) => void;
  /** True when the operation never reaches the log. */
  dropped: boolean;
}

/** Operations that never fail, because a process cannot start without them. */
const FAULT_FREE: ReadonlySet<Operation> = new Set<Operation>(["subscribe", "installation", "condition"]);

export class Network {
  faults: Faults = NO_FAULTS;
  /** Time until which messages between actors take seconds. */
  slowUntilMs = 0;
  /** Time until which the log executes nothing, and the number and the length of all stalls. */
  #stalledUntilMs = 0;
  #stalls = 0;
  #stallsMs = 0;
  /** Planted bug: the log answers before its writes are on the disk. */
  answersEarly = false;
  readonly #store: MemoryStore;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #observer: NetworkObserver;
  readonly #inFlight = new Set<InFlight>();
  #unsynced: (() => void)[] = [];
  #syncing = false;

  constructor(store: MemoryStore, scheduler: Scheduler, random: Random, observer: NetworkObserver) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#observer = observer;
  }

  /** Carries one operation of a process to the log, and carries the answer back. */
  carry<T>(call: Call, apply: () => T): Promise<T> {
    const { caller, operation } = call;
    const random = this.#random;
    const faults = FAULT_FREE.has(operation) ? NO_FAULTS : this.faults;
    return new Promise<T>((resolve, reject) => {
      let finished = false;
      const finish = (answer: () => void): void => {
        if (finished) return;
        finished = true;
        this.#inFlight.delete(inFlight);
        caller.run(answer);
      };
      const fail = (error: Error): void => finish(() => reject(error));
      const inFlight: InFlight = { caller, dropped: false, fail };
      this.#inFlight.add(inFlight);

      if (random.chance(faults.disconnected)) {
        this.#observer.onFault("disconnect");
        this.#scheduler.after(random.between(0, 3), () => this.disconnect(caller));
      }
      if (random.chance(faults.lostRequest)) {
        this.#observer.onFault("lost request");
        this.#scheduler.after(random.between(1, 300), () => fail(new Error("time-out")));
        return;
      }
      const losesAnswer = random.chance(faults.lostAnswer);
      const arrive = (): void => {
        if (inFlight.dropped) return;
        // A paused process sends its operation after the pause, perhaps when its result is no longer needed.
        if (caller.isAlive && caller.pausedUntilMs > this.#scheduler.nowMs) {
          this.#scheduler.at(caller.pausedUntilMs + random.between(0, 2), arrive);
          return;
        }
        if (this.#stalledUntilMs > this.#scheduler.nowMs) {
          this.#scheduler.at(this.#stalledUntilMs + random.between(0, 2), arrive);
          return;
        }
        const answer = this.#apply(call, apply, false);
        this.#whenSynced(() => {
          if (losesAnswer) {
            this.#observer.onFault("lost answer");
            this.#scheduler.after(random.between(1, 300), () => fail(new Error("time-out")));
            return;
          }
          this.#scheduler.after(random.between(0, 2), () => {
            finish(() => ("error" in answer ? reject(answer.error) : resolve(answer.result)));
          });
        });
      };
      const isLate = random.chance(faults.late);
      if (isLate) this.#observer.onFault("late request");
      const isSlow = operation === "append" && caller.relays && this.slowUntilMs > this.#scheduler.nowMs;
      const [least, most] = isSlow ? [500, 2_500] : isLate ? [200, 1_500] : [0, 2];
      this.#scheduler.after(random.between(least, most), arrive);
      if (random.chance(faults.repeated)) {
        this.#observer.onFault("repeated request");
        this.#scheduler.after(random.between(1, 800), () => {
          const isStalled = this.#stalledUntilMs > this.#scheduler.nowMs;
          if (!inFlight.dropped && !isStalled) this.#apply(call, apply, true);
        });
      }
    });
  }

  #apply<T>(
    call: Call,
    apply: () => T,
    repeated: boolean,
  ): { readonly result: T } | { readonly error: Error } {
    this.#observer.onArrival(call);
    let result: T;
    try {
      result = apply();
    } catch (error) {
      return { error: error instanceof Error ? error : new Error(String(error)) };
    }
    this.#observer.onResult(call, result, repeated);
    return { result };
  }

  /** Returns true for a notification that is lost on its way to a process. */
  losesNotification(): boolean {
    if (!this.#random.chance(this.faults.lostNotification)) return false;
    this.#observer.onFault("lost notification");
    return true;
  }

  /** Delivers a notification of the log to a process, once the writes before it are on the disk. */
  deliver(caller: Caller, call: () => void): void {
    this.#whenSynced(() => caller.run(call));
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
      for (const answer of answers) answer();
    });
  }

  /** Number of the stalls of the log so far. */
  get stalls(): number {
    return this.#stalls;
  }

  /** Time for which the log has been stalled so far. */
  get stalledMs(): number {
    return this.#stallsMs - Math.max(0, this.#stalledUntilMs - this.#scheduler.nowMs);
  }

  /** Stalls the log: operations arrive when it executes again. */
  stall(ms: number): void {
    this.#stalls += 1;
    const now = this.#scheduler.nowMs;
    const untilMs = Math.max(this.#stalledUntilMs, now + ms);
    this.#stallsMs += untilMs - Math.max(this.#stalledUntilMs, now);
    this.#stalledUntilMs = untilMs;
  }

  /** Cuts the connection of a process. Its operations in flight may or may not happen; the process does not learn which. */
  disconnect(caller: Caller): void {
    for (const operation of [...this.#inFlight]) if (operation.caller === caller) this.#abandon(operation);
    caller.run(() => caller.disconnect());
  }

  /** Drops a dead process. Some of its operations in flight still arrive. */
  abandonAll(caller: Caller): void {
    for (const operation of [...this.#inFlight]) if (operation.caller === caller) this.#abandon(operation);
  }

  #abandon(operation: InFlight): void {
    if (this.#random.chance(0.5)) operation.dropped = true;
    operation.fail(new Error("connection lost"));
  }

  /** Cuts the power of the log. A random part of the unsynced writes is lost, and all operations in flight. */
  powerCut(): void {
    for (const operation of [...this.#inFlight]) {
      operation.dropped = true;
      operation.fail(new Error("connection lost"));
    }
    this.#unsynced = [];
    this.#store.powerCut(this.#random.between(0, this.#store.unsynced));
  }
}
