/** Times on a machine whose cores other programs use too. */

import { readFileSync } from "node:fs";

/** Processes that a request passes, each of which a busy machine lets wait for a core about as long as this one. */
const PROCESSES = 3;

/** Returns the time in ms in which this process was ready to run and had no core; 0 where the system does not tell it. */
function waitedMs(): number {
  try {
    const [, nanoseconds] = readFileSync("/proc/self/schedstat", "latin1").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}

/** Starts to measure a time, and returns a function that returns it, in ms, without what a busy machine has added. */
export function stopwatch(): () => number {
  const [beganMs, waitedBeforeMs] = [performance.now(), waitedMs()];
  return () => performance.now() - beganMs - PROCESSES * (waitedMs() - waitedBeforeMs);
}
