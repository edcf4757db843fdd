/** Names that wait for a time. Only the latest names are known when there are too many. */
export class Waits {
  /** Times at which the names may go on, the earliest first. */
  readonly #untilMs = new Map<string, number>();

  constructor(
    private readonly waitMs: number,
    private readonly most: number,
  ) {}

  /** Lets a name wait from now on. */
  add(name: string): void {
    const nowMs = performance.now();
    this.#untilMs.delete(name);
    this.#untilMs.set(name, nowMs + this.waitMs);
    for (const [earliest, untilMs] of this.#untilMs) {
      if (untilMs > nowMs && this.#untilMs.size <= this.most) return;
      this.#untilMs.delete(earliest);
    }
  }

  has(name: string): boolean {
    return (this.#untilMs.get(name) ?? 0) > performance.now();
  }
}
