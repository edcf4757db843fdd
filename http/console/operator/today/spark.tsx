/** Line of the last hour of a figure, as small as a word. */

import { serviceNow } from "../../data/clock.js";
import { HOUR_MS, pointsOf, type History, type Sample } from "../history.js";

const WIDTH = 120;
const HEIGHT = 20;
const MARGIN = 3;

interface SparkProps {
  readonly name: string;
  readonly history: History | undefined;
  readonly read: (sample: Sample) => number | null;
  /** Least and greatest value of the figure; without them the line fills its height. */
  readonly range?: readonly [least: number, most: number] | undefined;
  /** Returns a value in words. */
  readonly words: (value: number) => string;
}

/** The line breaks where the figure could not be read. */
export function Spark({ name, history, read, range, words }: SparkProps) {
  const points = history === undefined ? [] : pointsOf(history, read);
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined)
    return <span class="quiet">{history === undefined ? "" : "no samples"}</span>;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [bottom, top] = range ?? [least, most];
  const nowMs = serviceNow();
  // A figure that has not changed is a line at half the height.
  const share = (value: number): number => (top === bottom ? 0.5 : (value - bottom) / (top - bottom));
  const x = (ms: number): number => WIDTH - MARGIN - ((nowMs - ms) / HOUR_MS) * (WIDTH - 2 * MARGIN);
  const y = (value: number): number => HEIGHT - MARGIN - share(value) * (HEIGHT - 2 * MARGIN);
  const at = (ms: number, value: number): string => `${x(ms).toFixed(1)} ${y(value).toFixed(1)}`;
  const path = points.map(({ ms, value }, index) => {
    if (value === null) return "";
    const before = points[index - 1]?.value ?? null;
    return `${before === null ? "M" : "L"}${at(ms, value)}`;
  });
  const newest = points.findLast(({ value }) => value !== null);
  const summary =
    least === most
      ? `${words(last)} throughout`
      : `now ${words(last)}, from ${words(least)} to ${words(most)}`;
  return (
    <svg
      class="today-spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${name} in the last hour: ${summary}`}
    >
      <title>{summary}</title>
      <path class="today-spark-hour" d={`M${MARGIN} ${HEIGHT - 0.5}H${WIDTH - MARGIN}`} />
      <path d={path.join("")} fill="none" />
      {newest !== undefined && <circle cx={x(newest.ms)} cy={y(last)} r="2" />}
    </svg>
  );
}
