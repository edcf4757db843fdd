/** Measures how long work holds the event loop. */

import { readFileSync } from "node:fs";

/** Returns the processor time of the main thread in ms, which other processes do not change; elsewhere the time. */
function busyMs(): number {
  if (process.platform !== "linux") return performance.now();
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ")[0]) / 1e6;
}

/** Returns the longest turn of the event loop during the work, in ms of processor time. */
async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = busyMs();
  const state = { isDone: false };
  const watched = (async () => {
    while (!state.isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = busyMs();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  try {
    await work();
  } finally {
    state.isDone = true;
    await watched;
  }
  return longest;
}

/**
 * Returns the least of the longest turns of several runs, in ms. Compiling, collecting garbage and other programs only make
 * turns longer, and a load of the machine can do so in most runs, so a median would vary with it. A block by the code under
 * test is in every run, and therefore in the least.
 */
export async function usualLongestTurnMs(work: () => Promise<unknown>): Promise<number> {
  const turns: number[] = [];
  for (let run = 0; run < 8; run += 1) turns.push(await longestTurnMs(work));
  return Math.min(...turns);
}
