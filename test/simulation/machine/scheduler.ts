/** Clock of a simulation. Runs the events in order, and after each event every promise that can continue. */

import { Deadlines } from "../../../actors/deadlines.js";

interface Event {
  readonly call: () => void;
}

/** Resolves after every promise that can continue has run. */
function runPromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class Scheduler {
  nowMs: number;
  events = 0;
  readonly #due = new Deadlines<Event>();
  #failure: { readonly error: unknown } | undefined;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Schedules a call at a time in the future. The returned function cancels the call. */
  at(atMs: number, call: () => void): () => void {
    const event = { call };
    this.#due.set(Math.max(atMs, this.nowMs), 0, event);
    return () => this.#due.delete(event);
  }

  after(ms: number, call: () => void): () => void {
    return this.at(this.nowMs + ms, call);
  }

  /** Lets time pass in which nothing runs. What falls due meanwhile happens at the new time. */
  leap(ms: number): void {
    this.nowMs += ms;
  }

  /** Fails the simulation: `run` throws the first error passed here. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Runs events until `isDone`. Returns false when `limitMs` of simulated time pass first. */
  async run(isDone: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.nowMs + limitMs;
    await runPromises();
    while (!isDone()) {
      const due = this.#due.pop();
      if (due === undefined || due.at > untilMs) return false;
      const { at, subject: event } = due;
      this.nowMs = Math.max(this.nowMs, at);
      this.events += 1;
      event.call();
      await runPromises();
      if (this.#failure !== undefined) throw this.#failure.error;
    }
    return true;
  }
}
