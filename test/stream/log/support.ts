/** Helpers that the tests of the log share. */

import type { ActorId } from "../../../actors/actor.js";
import type { Clock } from "../../../stream/log/clock.js";
import type { Change, CommitOutcome, Log, Ownership } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { counter, type CounterState } from "../runtime/counter.js";

/** Blocks the event loop. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** A clock that the test advances. */
export class ManualClock implements Clock {
  #nowMs: number;
  #timers: { atMs: number; call: () => void }[] = [];

  constructor(nowMs = 1_000_000) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { atMs: this.#nowMs + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Advances the time by `ms`, and calls each timer at its time. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers
        .filter(({ atMs }) => atMs <= endMs)
        .reduce<{ atMs: number; call: () => void } | undefined>(
          (first, timer) => (first === undefined || timer.atMs < first.atMs ? timer : first),
          undefined,
        );
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.call();
    }
    this.#nowMs = endMs;
  }
}

/** Returns the state of a counter in the log. */
export async function counterInLog(log: Log, id: ActorId): Promise<CounterState> {
  const { state } = await loadState({ log, actorOf: () => counter, logger: silentLogger }, id);
  return state as CounterState;
}

/** Takes a partition from any owner, and returns the new epoch. */
export async function takeFromAnyone(log: Log, partition: string, worker: string): Promise<number> {
  const lease = (await log.leases([partition])).get(partition);
  const outcome = await log.take(partition, worker, lease?.epoch ?? 0);
  if (outcome.kind !== "taken") throw new Error(`${partition} has changed its owner`);
  return outcome.epoch;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the microtask queue is empty. */
export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Commits changes in one partition. */
export function commitIn(
  log: Log,
  ownership: Ownership,
  changes: readonly Omit<Change, "partition">[],
): Promise<CommitOutcome> {
  const { partition } = ownership;
  return log.commit({
    ownerships: [ownership],
    changes: changes.map((change) => ({ partition, ...change })),
  });
}
