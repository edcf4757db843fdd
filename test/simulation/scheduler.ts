/** The only time there is in a simulation: events in order, each carried to where everything waits again. */

interface Event {
  readonly atMs: number;
  readonly n: number;
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
  readonly #heap: Event[] = [];
  #count = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Calls at a time of the future; the returned function cancels it. */
  at(atMs: number, call: () => void): () => void {
    const event = { atMs: Math.max(atMs, this.nowMs), n: this.#count, call, canceled: false };
    this.#count += 1;
    this.#push(event);
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
      const event = this.#pop();
      if (event === undefined || event.atMs > untilMs) return false;
      if (event.canceled) continue;
      this.nowMs = event.atMs;
      this.events += 1;
      event.call();
      await everythingWaits();
      if (this.#failure !== undefined) throw this.#failure.error;
    }
    return true;
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !before(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let lesser = left;
      if (right !== undefined && before(right, left)) {
        lesser = right;
        child += 1;
      }
      if (!before(lesser, last)) break;
      heap[at] = lesser;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function before(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.n < b.n);
}
