/** The only time there is in a simulation: events in order, each carried to where everything waits again. */

import { Deadlines } from "../../../actors/deadlines.js";

interface Event {
  readonly call: () => void;
  canceled: boolean;
}

/** Lets every promise that is settled run on. */
function everythingWaits(): Promise<void> {
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

  /** Calls at a time of the future; the returned function cancels it. */
  at(atMs: number, call: () => void): () => void {
    const event = { call, canceled: false };
    this.#due.push(Math.max(atMs, this.nowMs), 0, event);
    return () => {
      event.canceled = true;
    };
  }

  after(ms: number, call: () => void): () => void {
    return this.at(this.nowMs + ms, call);
  }

  /** The simulation has failed: `run` throws this. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Carries out events until `isOver`, or until `limitMs` of simulated time have passed: then it gives false. */
  async run(isOver: () => boolean, limitMs: number): Promise<boolean> {
    const untilMs = this.nowMs + limitMs;
    await everythingWaits();
    while (!isOver()) {
      const due = this.#due.pop();
      if (due === undefined || due.at > untilMs) return false;
      const { at, what: event } = due;
      if (event.canceled) continue;
      this.nowMs = at;
      this.events += 1;
      event.call();
      await everythingWaits();
      if (this.#failure !== undefined) throw this.#failure.error;
    }
    return true;
  }
}
