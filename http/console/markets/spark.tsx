/** A line of the last hour, as small as a word. */

const WIDTH = 72;
const HEIGHT = 20;
/** Smallest range of prices in thousandths, so that a calm market does not look wild. */
const LEAST = 0.02;

interface SparkProps {
  /** Prices of equal intervals, oldest first; null for one without a trade. */
  readonly prices: readonly (string | null)[];
  readonly name: string;
}

export function Spark({ prices, name }: SparkProps) {
  const points = prices.map((price) => (price === null ? undefined : Number(price)));
  const known = points.filter((price) => price !== undefined);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return <span class="spark-none quiet">no trades</span>;
  const middle = (Math.min(...known) + Math.max(...known)) / 2;
  const range = Math.max(LEAST, Math.max(...known) - Math.min(...known));
  const y = (price: number): number => HEIGHT / 2 - ((price - middle) / range) * (HEIGHT - 4);
  const x = (index: number): number => (index / (prices.length - 1)) * WIDTH;
  // A price stays in force until the next trade; before the first one there is none.
  let path = "";
  let at = first;
  points.forEach((price, index) => {
    if (path === "" && price === undefined) return;
    at = price ?? at;
    path += `${path === "" ? "M" : "L"}${x(index).toFixed(1)} ${y(at).toFixed(1)}`;
  });
  const change = last > first ? "up" : last < first ? "down" : "unchanged";
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${name} in the last hour: ${change}, from ${first.toFixed(3)} to ${last.toFixed(3)}`}
    >
      <path d={path} fill="none" />
      <circle cx={WIDTH - 2} cy={y(last)} r="2" />
    </svg>
  );
}
