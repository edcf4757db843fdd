/** Times on a machine whose cores other programs use too. */

import { readFileSync } from "node:fs";

/** Returns the time in ms in which this process was ready to run and had no core; 0 where the system does not tell it. */
function waitedMs(): number {
  try {
    const [, nanoseconds] = readFileSync("/proc/self/schedstat", "latin1").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * Starts to measure a time, and returns a function that returns it, in ms, without the wait of this process for a core. At
 * least half of the time remains, so that a bound can fail on every machine.
 */
export function stopwatch(): () => number {
  const [beganMs, waitedBeforeMs] = [performance.now(), waitedMs()];
  return () => {
    const tookMs = performance.now() - beganMs;
    return tookMs - Math.min(waitedMs() - waitedBeforeMs, tookMs / 2);
  };
}
