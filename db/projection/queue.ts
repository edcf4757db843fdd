/** A queue between the log, which emits entries as they come, and the projector, which takes one transaction of them. */

import type { Entry } from "../../stream/log/ports.js";

/** Deltas of one transaction, unless a single entry has more; and queued deltas at which the log must wait. */
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
      this.#deltas += deltasOf(entry);
    }
    this.#wakeTaker?.();
    if (this.#deltas < MAX_DELTAS || this.#closed) return Promise.resolve();
    return new Promise((resolve) => this.#wakePutters.push(resolve));
  }

  /**
   * Returns queued entries for one transaction. Waits up to `waitMs` for the first one, and returns none after that time. Returns
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
    let end = 0;
    let deltas = 0;
    for (const entry of this.#entries) {
      const more = deltasOf(entry);
      if (end > 0 && deltas + more > MAX_DELTAS) break;
      end += 1;
      deltas += more;
    }
    this.#deltas -= deltas;
    if (this.#deltas < MAX_DELTAS) this.#release();
    return this.#entries.splice(0, end);
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

function deltasOf({ batches }: Entry): number {
  return batches.reduce((sum, { deltas }) => sum + deltas.length, 0);
}
