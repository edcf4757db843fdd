/**
 * From bookmaker units to ours, exactly: decimal odds and money at those odds become ticks and contracts.
 * Odds have two decimals, so everything is a whole number of hundredths and nothing is rounded by accident.
 */

/** What a ladder level of a runner means here: a bid on the runner itself, or on its opponent. */
export type Side = "back" | "lay";

function hundredths(value: number): number {
  return Math.round(value * 100);
}

/**
 * The price of a bid in thousandths of a contract, rounded down. `atl` at odds `o` is somebody backing the runner:
 * a bid on it at `1/o`. `atb` at `o` is somebody laying it: a bid on the opponent at `1 - 1/o`.
 */
export function thousandthsOf(odds: number, side: Side): number {
  const o = hundredths(odds);
  return Math.floor((side === "back" ? 100_000 : 1_000 * (o - 100)) / o);
}

/** The highest price of the grid that is not above `thousandths`, or `undefined` below the grid. `grid` rises. */
export function snapDown(thousandths: number, grid: readonly number[]): number | undefined {
  let low = 0;
  let high = grid.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((grid[middle] ?? Infinity) <= thousandths) low = middle + 1;
    else high = middle;
  }
  return grid[low - 1];
}

/**
 * How many contracts `size` money at `odds` stands for: whoever is matched against it stands to receive
 * `size x odds`, and a contract pays one cent. The same for both sides, because it is the whole pot.
 */
export function contractsOf(size: number, odds: number, scale: number): number {
  return Math.round((hundredths(size) * hundredths(odds) * scale) / 100);
}
