/** Line of the last hour of a figure, as small as a word, from the samples of this page. */

import { HOUR_MS, samples, type Sample } from "../safety/history.js";

const WIDTH = 72;
const HEIGHT = 20;
const MARGIN = 2;

interface SparkProps {
  readonly name: string;
  readonly read: (sample: Sample) => number | null;
}

export function Spark({ name, read }: SparkProps) {
  const points = samples.value.flatMap((sample) => {
    const value = read(sample);
    return value === null ? [] : [{ ms: sample.ms, value }];
  });
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return <span class="quiet">not read</span>;
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  // A figure that has not changed is a line at half the height.
  const share = (value: number): number => (most === least ? 0.5 : (value - least) / (most - least));
  const x = (ms: number): string => (WIDTH - MARGIN - ((last.ms - ms) / HOUR_MS) * WIDTH).toFixed(1);
  const y = (value: number): string => (HEIGHT - MARGIN - share(value) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  return (
    <svg
      class="today-spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${name} since this page opened, at most an hour: from ${first.value} to ${last.value}, between ${least} and ${most}`}
    >
      <path d={`M${points.map(({ ms, value }) => `${x(ms)} ${y(value)}`).join("L")}`} fill="none" />
      <circle cx={x(last.ms)} cy={y(last.value)} r="2" />
    </svg>
  );
}
