/** Collections of garbage of a worker, whose heap is larger than that of other roles, and whose pauses everybody waits for. */

import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";

/** An entry about the heap, of which the types of Node lack the detail. */
export interface HeapEntry extends PerformanceEntry {
  readonly detail: NodeGCPerformanceDetail;
}

/** Time between two turns of marking, in ms. */
const TURN_MS = 2;
/** Elements of an array that takes 64 KB, for which V8 does one step of marking. */
const STEP_ELEMENTS = 8_192;
const COMPACTS_TO_SHRINK = "--gc-experiment-less-compaction";
const COMPACTS = "--no-gc-experiment-less-compaction";
/** Number of collections of which one moves objects together. */
const COMPACT_EVERY = 8;

/**
 * Divides the collections of this process into short pauses, until it is stopped.
 *
 * Without a helper thread and without a task of its own, V8 marks only when something is allocated: for each 64 KB a step of
 * 1 ms while it keeps the schedule of its collection, and of 4.5 ms once it is behind. A loop that waits for requests falls
 * behind, and the next batch of orders pays for it within one turn. So while a collection marks, turns of the event loop
 * allocate 64 KB each, and less is left for the others.
 *
 * V8 moves objects at the end of most collections: at half load on two cores these took 26 ms in the median and 42 at most,
 * and 12 and 16 with neither moves nor remembered answers as objects. Without any moves, the free room between objects grows: a
 * heap of 391 MB by 17 MB in 22 minutes. One collection in eight therefore moves objects; the first one after a flood made a
 * heap of 370 MB smaller by 50.
 */
export class WorkerHeap {
  readonly #observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as HeapEntry[]) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL)
        this.#turns ??= setInterval(() => this.#allocate(), TURN_MS).unref();
      else if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) this.#collected();
    }
  });
  #turns: NodeJS.Timeout | undefined;
  readonly #setFlag: (flag: string) => void;
  #collections = 0;
  /** The last array, kept so that its allocation is not optimized away. */
  #allocated: readonly number[] = [];

  /** `setFlag` sets an option of V8 for this process. */
  constructor(setFlag: (flag: string) => void = setFlagsFromString) {
    this.#setFlag = setFlag;
    setFlag(COMPACTS_TO_SHRINK);
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  stop(): void {
    this.#observer.disconnect();
    this.#endTurns();
  }

  #allocate(): void {
    this.#allocated = new Array<number>(STEP_ELEMENTS).fill(this.#allocated.length);
  }

  #endTurns(): void {
    clearInterval(this.#turns);
    this.#turns = undefined;
  }

  #collected(): void {
    this.#endTurns();
    this.#collections += 1;
    this.#setFlag((this.#collections + 1) % COMPACT_EVERY === 0 ? COMPACTS : COMPACTS_TO_SHRINK);
  }
}
