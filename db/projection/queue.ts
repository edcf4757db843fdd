/** A queue between the log, which emits entries as they come, and the projector, which takes all that are queued. */

import type { Entry } from "../../stream/log/ports.js";

/** Queued deltas at which the log must wait, since they occupy memory and become one transaction. */
const MAX_DELTAS = 20_000;

export class EntryQueue {
  #entries: Entry[] = [];
  #deltas = 0;
  #failure: Error | undefined;
  #closed = false;
  #wakeTaker: (() => void) | undefined;
  #wakePutters: (() => void)[] = [];

  /** Adds entries; resolves when there is room for more. */
  put(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      this.#entries.push(entry);
      for (const batch of entry.batches) this.#deltas += batch.deltas.length;
    }
    this.#wakeTaker?.();
    if (this.#deltas < MAX_DELTAS || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#wakePutters.push(resolve));
  }

  /**
   * Returns all queued entries. Waits up to `waitMs` for the first one, and returns none after that time. Returns
   * `undefined` once the queue is closed, and throws the error of `fail`.
   */
  async take(waitMs: number): Promise<readonly Entry[] | undefined> {
    if (this.#entries.length === 0 && this.#failure === undefined && !this.#closed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs);
        this.#wakeTaker = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wakeTaker = undefined;
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
    this.#wakeTaker?.();
  }

  /** Ends the queue and every wait on it. */
  close(): void {
    this.#closed = true;
    this.#wakeTaker?.();
    this.#release();
  }

  #release(): void {
    const wakes = this.#wakePutters;
    this.#wakePutters = [];
    for (const wake of wakes) wake();
  }
}
