/**
 * Turns of the senders of requests. Node serves all requests that have arrived in one turn of its event loop, so a sender
 * with many connections would take many turns for each one of another sender.
 */

import { performance } from "node:perf_hooks";

/** Time in ms for which a sender counts as present after its last request. */
const PRESENT_MS = 1_000;

/** Begins at most one request of each sender in a turn of the event loop, while there are several senders. */
export class Turns {
  /** Requests that wait, by sender. */
  readonly #lines = new Map<string, (() => void)[]>();
  /** Senders with a request that began in this turn of the event loop. */
  readonly #served = new Set<string>();
  #isTurning = false;
  /** The sender of the last request, and the last other one. */
  #last = { sender: "", atMs: -Infinity };
  #other = { sender: "", atMs: -Infinity };

  /** Begins a request in this turn of the event loop, or in a later one. */
  take(sender: string, begin: () => void): void {
    const isAlone = this.#isAlone(sender);
    const line = this.#lines.get(sender);
    if (line !== undefined) line.push(begin);
    else if (isAlone || !this.#served.has(sender)) {
      this.#serve(sender);
      begin();
    } else this.#lines.set(sender, [begin]);
  }

  /** Returns whether a sender who has a request now is the only one present. */
  #isAlone(sender: string): boolean {
    const nowMs = performance.now();
    if (this.#last.sender !== sender) this.#other = this.#last;
    this.#last = { sender, atMs: nowMs };
    return this.#other.atMs < nowMs - PRESENT_MS;
  }

  #serve(sender: string): void {
    this.#served.add(sender);
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => this.#next());
  }

  /** Begins the next request of each sender that waits. */
  #next(): void {
    this.#isTurning = false;
    this.#served.clear();
    for (const [sender, line] of this.#lines) {
      const begin = line.shift();
      if (line.length === 0) this.#lines.delete(sender);
      this.#serve(sender);
      begin?.();
    }
  }
}
