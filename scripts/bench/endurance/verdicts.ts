/** Verdicts of the endurance bench over the samples of a run. */

import { median, type Row } from "../table.js";
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
  /**
   * Time of the processors that this client takes for an operation, in microseconds. Its work for one does not change, so
   * when it takes more, the machine has become slower, as a virtual machine does beside busy neighbors.
   */
  readonly clientMicros: number;
}

/** Length of a run from which on the growth of its sizes is judged: a shorter one is still filling its windows. */
const JUDGED_S = 40 * 60;
/** End of a run over which the growth of its sizes is judged. */
const JUDGED_LAST_S = 45 * 60;
/**
 * Beginning of a run in which its sizes may change: the ids and entries of the last ten minutes of the flood leave the
 * memory, and those of the run take their place.
 */
const WARM_UP_S = 15 * 60;
/** Share of a short run that counts as its beginning. */
const WARM_UP_SHARE = 1 / 4;
const MAX_SLOPE_PERCENT = 1;
/** Memory of the processes of Postgres besides the shared buffers, in MB. */
const MAX_POSTGRES_MB = 128;
/** The roles, each of which runs in one process or several. */
export const ROLES = ["worker", "gateway", "projector", "jobs"];
/** Limits of the p99 at the end of a run, as a ratio to the p99 at its beginning. A short run varies more. */
const MAX_P99_RATIO = { long: 1.2, short: 2 };
const MAX_PAUSE_MS = 50;

/** A value at a time of a run, in s. */
interface Point {
  readonly atS: number;
  readonly value: number;
}

/**
 * Length of a window in s: longer than between two collections of garbage. The memory of a process rises until the next
 * collection, so the lowest value of a window shows what is kept.
 */
const WINDOW_S = 300;

/** Returns the lowest value of each whole window. */
function lowestOf(points: readonly Point[]): readonly Point[] {
  const lowest = new Map<number, Point>();
  const windows = Math.floor((points.at(-1)?.atS ?? 0) / WINDOW_S);
  for (const point of points) {
    const window = Math.floor(point.atS / WINDOW_S);
    if (window >= windows) break;
    const known = lowest.get(window)?.value ?? Infinity;
    // A missing value leaves the run without a slope.
    if (point.value < known || Number.isNaN(point.value)) lowest.set(window, point);
  }
  return [...lowest.values()];
}

/** Slope of a size, and twice its standard error, in percent of its mean an hour. */
interface Slope {
  readonly percent: number;
  readonly errorPercent: number;
}

/** Returns the slope of a size at the end of a run. */
function slopeOf(samples: readonly Sample[], valueOf: (sample: Sample) => number): Slope {
  const endS = samples.at(-1)?.atS ?? 0;
  const beginS = endS >= JUDGED_S ? Math.max(WARM_UP_S, endS - JUDGED_LAST_S) : endS * WARM_UP_SHARE;
  const points = samples
    .filter(({ atS }) => atS > beginS)
    .map((sample) => ({ atS: sample.atS - beginS, value: valueOf(sample) }));
  const counted = endS >= JUDGED_S ? lowestOf(points) : points;
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanS = meanOf(counted.map(({ atS }) => atS));
  const mean = meanOf(counted.map(({ value }) => value));
  let covariance = 0;
  let variance = 0;
  for (const { atS, value } of counted) {
    covariance += (atS - meanS) * (value - mean);
    variance += (atS - meanS) ** 2;
  }
  const slope = covariance / variance;
  const residuals = counted.reduce(
    (sum, { atS, value }) => sum + (value - mean - slope * (atS - meanS)) ** 2,
    0,
  );
  const error = Math.sqrt(residuals / Math.max(1, counted.length - 2) / variance);
  const percentOf = (perSecond: number): number => (100 * 3_600 * perSecond) / mean;
  return { percent: percentOf(slope), errorPercent: 2 * percentOf(error) };
}

/** The memory of Postgres follows the connections that are open and what each has done, so it is judged by its most. */
function mostPostgres(bench: string, figure: number): Row {
  const row = { bench, measure: "most anonymous memory of Postgres", figure, unit: "MB" };
  return judged(row, figure < MAX_POSTGRES_MB);
}

/** `mayPass`: whether the figure may be within its limit all the same, as far as this run can tell. */
function judged(row: Row, passes: boolean, mayPass = passes): Row {
  return { ...row, verdict: passes ? "pass" : mayPass ? "unclear" : "FAIL" };
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

/** Adds up the rises of each worker since the first sample; a worker that appears later has taken its partitions since. */
function moves(samples: readonly Sample[]): number {
  const [first, ...later] = samples;
  const counts = new Map(Object.entries(first?.moves ?? {}));
  let sum = 0;
  for (const sample of later) {
    for (const [process, count] of Object.entries(sample.moves)) {
      sum += count - (counts.get(process) ?? 0);
      counts.set(process, count);
    }
  }
  return sum;
}

/** Returns the number of processes beyond one of each name. */
function replaced(samples: readonly Sample[]): number {
  const seen = new Set(samples.flatMap(({ processes }) => Object.values(processes)));
  const names = new Set(samples.flatMap(({ processes }) => Object.keys(processes)));
  return seen.size - names.size;
}

/** Judges a run at a steady rate; `p99Ms` are the p99 of its first and of its last sixth. */
export function judgeSteadyRun(
  bench: string,
  samples: readonly Sample[],
  p99Ms: { readonly first: number; readonly last: number },
): Row[] {
  const last = samples.at(-1);
  if (last === undefined) throw new Error("a run without samples");
  const isLong = last.atS >= JUDGED_S;
  const slope = (of: string, valueOf: (sample: Sample) => number): Row => {
    const { percent, errorPercent } = slopeOf(samples, valueOf);
    const unit = `% an hour, ± ${errorPercent.toPrecision(2)}`;
    const row = { bench, measure: `growth of ${of}`, figure: percent, unit };
    if (!isLong) return row;
    return judged(row, percent < MAX_SLOPE_PERCENT, percent - errorPercent < MAX_SLOPE_PERCENT);
  };
  const ratio = p99Ms.last / p99Ms.first;
  const mostRatio = isLong ? MAX_P99_RATIO.long : MAX_P99_RATIO.short;
  const workIn = (sixth: number): number =>
    median(
      samples
        .filter(({ atS }) => Math.ceil((6 * atS) / last.atS) === sixth)
        .map(({ clientMicros }) => clientMicros),
    );
  // The exchange cannot answer as fast on a machine that has become slower.
  const slowdown = workIn(6) / workIn(1);
  const mostOf = (valueOf: (sample: Sample) => number): number => Math.max(...samples.map(valueOf));
  const longest = (measure: string, figure: number): Row =>
    judged({ bench, measure, figure, unit: "ms" }, figure < MAX_PAUSE_MS);
  return [
    ...judgeFlood(bench, samples),
    // The filters hold the ids of a day, and the run is shorter.
    { bench, measure: "filters of the ids of a day, in memory", figure: last.filterBytes / 1e6, unit: "MB" },
    {
      bench,
      measure: "filters of the ids of a day, in Redis",
      figure: last.filterSnapshotBytes / 1e6,
      unit: "MB",
    },
    slope(
      "the used memory of Redis, without filters of ids",
      (sample) => sample.redisBytes - sample.filterSnapshotBytes,
    ),
    // A role without a report has no slope, and fails.
    slope(
      "the RSS: worker, without filters of ids",
      ({ rssBytes, filterBytes }) => (rssBytes["worker"] ?? NaN) - filterBytes,
    ),
    ...ROLES.filter((role) => role !== "worker").map((role) =>
      slope(`the RSS: ${role}`, ({ rssBytes }) => rssBytes[role] ?? NaN),
    ),
    // Only Linux counts it apart from the shared buffers, which fill.
    ...(samples.some(({ postgresBytes }) => postgresBytes !== undefined)
      ? [mostPostgres(bench, mostOf(({ postgresBytes = 0 }) => postgresBytes) / 1e6)]
      : []),
    { bench, measure: "p99 of the first sixth", figure: p99Ms.first, unit: "ms" },
    judged(
      { bench, measure: "p99 of the last sixth, ratio to the first", figure: ratio, unit: "" },
      ratio <= mostRatio,
      ratio <= mostRatio * slowdown,
    ),
    {
      bench,
      measure: "time of the client for an operation, ratio of the same sixths",
      figure: slowdown,
      unit: "",
    },
    longest(
      "longest pause of a worker",
      mostOf(({ pauseMs }) => pauseMs),
    ),
    longest(
      "the same, without waiting for a core",
      mostOf(({ ownPauseMs }) => ownPauseMs),
    ),
    // Nothing in a virtual machine runs while its host runs others: this figure shows how much of a pause that was.
    {
      bench,
      measure: "the longest, without what the host took",
      figure: mostOf(({ guestPauseMs }) => guestPauseMs),
      unit: "ms",
    },
  ];
}
