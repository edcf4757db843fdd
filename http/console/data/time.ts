/** Times in the zone and the language of the visitor. */

const DAY = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

/** Returns the time of day, in minutes. */
export const showClock = (ms: number): string => CLOCK.format(ms);
/** Returns the time of day, in seconds. */
export const showSeconds = (ms: number): string => SECONDS.format(ms);
/** Returns the day, without the year. */
export const showDay = (ms: number): string => DAY.format(ms);
/** Returns the day and the time of day. */
export const showMoment = (ms: number): string => `${DAY.format(ms)} ${CLOCK.format(ms)}`;
/** Returns day and time with their zone. */
export const showFull = (ms: number): string => FULL.format(ms);

const STEPS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
] as const;

/** Returns a duration in its largest whole unit: `3 min`. */
export function showDuration(ms: number): string {
  for (const [step, unit] of STEPS) if (ms >= step) return `${Math.floor(ms / step)} ${unit}`;
  return "0 s";
}
