/** Entries between the log, which gives them as they come, and the projector, which takes as many as there are. */

import type { Entry } from "../../stream/log/ports.js";

/** Above this many deltas the log has to wait: what is queued is memory, and one transaction. */
const FULL_DELTAS = 20_000;

export class EntryQueue {
  #entries: Entry[] = [];
  #deltas = 0;
  #failure: Error | undefined;
  #closed = false;
  #taker: (() => void) | undefined;
  #putters: (() => void)[] = [];

  /** Adds entries; resolves when there is room for more. */
  put(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      this.#entries.push(entry);
      for (const batch of entry.batches) this.#deltas += batch.deltas.length;
    }
    this.#taker?.();
    if (this.#deltas < FULL_DELTAS || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#putters.push(resolve));
  }

  /** All entries there are, or those that come within `waitMs`, or none; `undefined` once closed. Throws on `fail`. */
  async take(waitMs: number): Promise<readonly Entry[] | undefined> {
    if (this.#entries.length === 0 && this.#failure === undefined && !this.#closed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.#taker = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#taker = undefined;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closed) return undefined;
    const taken = this.#entries;
    this.#entries = [];
    this.#deltas = 0;
    this.#release();
    return taken;
  }

  fail(failure: Error): void {
    this.#failure ??= failure;
    this.#taker?.();
  }

  /** Nothing more is taken; whoever waits goes on. */
  close(): void {
    this.#closed = true;
    this.#taker?.();
    this.#release();
  }

  #release(): void {
    const waiting = this.#putters;
    this.#putters = [];
    for (const resolve of waiting) resolve();
  }
}
