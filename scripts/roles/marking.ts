/** Turns of the event loop in which V8 marks what lives on the heap. */

import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from "node:perf_hooks";

/** An entry about the heap, of which the types of Node lack the detail. */
export interface HeapEntry extends PerformanceEntry {
  readonly detail: NodeGCPerformanceDetail;
}

/** Time between two turns, in ms. */
const TURN_MS = 2;
/** Elements of an array that takes 64 KB, for which V8 does one step of marking. */
const STEP_ELEMENTS = 8_192;

/**
 * Lets V8 mark in turns of the event loop of its own until the returned function is called.
 *
 * Without a helper thread and without a task of its own, V8 marks only when something is allocated: for each 64 KB a step of
 * 1 ms while it keeps the schedule of its collection, and of 4.5 ms once it is behind. A loop that waits for requests falls
 * behind, and the next batch of orders pays for it within one turn. While a collection marks, these turns allocate 64 KB each,
 * and so nothing else has to catch up.
 */
export function startMarkingTurns(): () => void {
  let turns: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearInterval(turns);
    turns = undefined;
  };
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as HeapEntry[]) {
      if (detail.kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL)
        turns ??= setInterval(allocate, TURN_MS).unref();
      else if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) end();
    }
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => {
    observer.disconnect();
    end();
  };
}

/** Keeps the last array, so that its allocation is not optimized away. */
let kept: readonly number[] = [];

function allocate(): void {
  kept = new Array<number>(STEP_ELEMENTS).fill(kept.length);
}
