/** Allowance for loads of markets that nobody watches: their state is read from the log and kept for a minute. */

/** Loads that may come at once, as many as one request has markets. */
const BURST = 100;
const A_SECOND = 10;

export class ColdLoads {
  #left = BURST;
  #atMs: number;

  constructor(private readonly nowMs: () => number = () => performance.now()) {
    this.#atMs = nowMs();
  }

  /** Takes one load of the allowance. Returns false when none is left. */
  take(): boolean {
    const nowMs = this.nowMs();
    this.#left = Math.min(BURST, this.#left + ((nowMs - this.#atMs) / 1_000) * A_SECOND);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
