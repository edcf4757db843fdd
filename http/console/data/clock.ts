/** Clock of the service, which judges the timestamps of signed requests. */

/** Largest difference in ms that is not worth correcting: the service answers its time in whole seconds. */
const CLOSE_MS = 5_000;

/** Time in ms by which the clock of the service is ahead of that of this device. */
let aheadMs = 0;

/** Learns the clock of the service from an answer. */
export function learnClock(response: Response): void {
  const differsMs = Date.parse(response.headers.get("Date") ?? "") - Date.now();
  if (!Number.isNaN(differsMs)) aheadMs = Math.abs(differsMs) < CLOSE_MS ? 0 : differsMs;
}

/** Returns the time of the service in Unix ms, also where the clock of this device is wrong. */
export function serviceNow(): number {
  return Date.now() + aheadMs;
}
