/** Verdicts of the endurance bench over the samples of a run. */

import type { Row } from "../table.js";
import type { Sizes } from "./sampler.js";

/** One sample: what the traffic counted in an interval, and the sizes at its end. */
export interface Sample extends Sizes {
  readonly atS: number;
  readonly operationsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly refused: number;
  readonly unavailable: number;
  readonly slow: number;
}

/** Length of a run from which on the growth of its sizes is judged: a shorter one is still filling its windows. */
const JUDGED_S = 40 * 60;
const MAX_SLOPE_PERCENT = 1;
/** The roles, each of which runs in one process. */
export const ROLES = ["worker", "gateway", "projector", "jobs"];
/** Limits of the p99 at the end of a run, as a ratio to the p99 at its beginning. A short run varies more. */
const MAX_P99_RATIO = { long: 1.2, short: 2 };
const MAX_PAUSE_MS = 50;

/** Returns the slope of the values over the last three quarters of the time, in percent of their mean an hour. */
export function slopePercent(samples: readonly Sample[], valueOf: (sample: Sample) => number): number {
  const endS = samples.at(-1)?.atS ?? 0;
  const late = samples.filter(({ atS }) => atS >= endS / 4);
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanS = meanOf(late.map(({ atS }) => atS));
  const mean = meanOf(late.map(valueOf));
  let covariance = 0;
  let variance = 0;
  for (const sample of late) {
    covariance += (sample.atS - meanS) * (valueOf(sample) - mean);
    variance += (sample.atS - meanS) ** 2;
  }
  return (100 * 3_600 * covariance) / variance / mean;
}

function judged(row: Row, passes: boolean): Row {
  return { ...row, verdict: passes ? "pass" : "FAIL" };
}

/** Judges the flood: nothing may be refused, be slow, move or end. */
export function judgeFlood(bench: string, samples: readonly Sample[]): Row[] {
  const sum = (valueOf: (sample: Sample) => number): number =>
    samples.reduce((total, sample) => total + valueOf(sample), 0);
  const none = (measure: string, figure: number, unit: string): Row =>
    judged({ bench, measure, figure, unit }, figure === 0);
  return [
    none(
      "orders and cancels refused",
      sum(({ refused }) => refused),
      "",
    ),
    none(
      "requests that could not be served",
      sum(({ unavailable }) => unavailable),
      "",
    ),
    none(
      "requests over 2 s",
      sum(({ slow }) => slow),
      "",
    ),
    none("partitions that moved", moves(samples), ""),
    none("processes that were replaced", replaced(samples), ""),
  ];
}

/** Adds up the rises: the count of a worker that has ended is no longer in the sum. */
function moves(samples: readonly Sample[]): number {
  return samples.reduce(
    (sum, sample, index) => sum + Math.max(0, sample.moves - (samples[index - 1] ?? sample).moves),
    0,
  );
}

/** Returns the number of processes beyond one of each role. */
function replaced(samples: readonly Sample[]): number {
  const seen = new Set(samples.flatMap(({ processes }) => processes));
  const roles = new Set(samples.flatMap(({ rssBytes }) => Object.keys(rssBytes)));
  return seen.size - roles.size;
}

/** Judges a run at a steady rate; `p99Ms` are the p99 of its first and of its last sixth. */
export function judgeSteadyRun(
  bench: string,
  samples: readonly Sample[],
  p99Ms: { readonly first: number; readonly last: number },
): Row[] {
  const isLong = (samples.at(-1)?.atS ?? 0) >= JUDGED_S;
  const slope = (of: string, valueOf: (sample: Sample) => number): Row => {
    const figure = slopePercent(samples, valueOf);
    const row = { bench, measure: `growth of ${of}`, figure, unit: "% an hour" };
    return isLong ? judged(row, figure < MAX_SLOPE_PERCENT) : row;
  };
  const ratio = p99Ms.last / p99Ms.first;
  const longestPauseMs = Math.max(...samples.map(({ pauseMs }) => pauseMs));
  return [
    ...judgeFlood(bench, samples),
    slope("the used memory of Redis", ({ redisBytes }) => redisBytes),
    // A role without a report has no slope, and fails.
    ...ROLES.map((role) => slope(`the RSS: ${role}`, ({ rssBytes }) => rssBytes[role] ?? NaN)),
    { bench, measure: "p99 of the first sixth", figure: p99Ms.first, unit: "ms" },
    judged(
      { bench, measure: "p99 of the last sixth, ratio to the first", figure: ratio, unit: "" },
      ratio <= (isLong ? MAX_P99_RATIO.long : MAX_P99_RATIO.short),
    ),
    judged(
      { bench, measure: "longest pause of a worker", figure: longestPauseMs, unit: "ms" },
      longestPauseMs < MAX_PAUSE_MS,
    ),
  ];
}
