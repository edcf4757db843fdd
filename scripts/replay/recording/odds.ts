/**
 * Converts decimal odds, and money at those odds, exactly into ticks and contracts. Odds have two decimals, so the
 * arithmetic is on whole hundredths and rounds only where it says so.
 */

/** Side of a ladder level: `back` is a bid on the runner itself, `lay` a bid on its opponent. */
export type Side = "back" | "lay";

function hundredths(value: number): number {
  return Math.round(value * 100);
}

/**
 * Returns the price of a bid in thousandths of a contract, rounded down. `atl` at odds `o` is a back of the runner:
 * a bid on it at `1/o`. `atb` at `o` is a lay of the runner: a bid on its opponent at `1 - 1/o`.
 */
export function thousandthsOf(odds: number, side: Side): number {
  const o = hundredths(odds);
  return Math.floor((side === "back" ? 100_000 : 1_000 * (o - 100)) / o);
}

/** Returns the highest price of the rising grid at or below `thousandths`, or `undefined` below the grid. */
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
 * Returns the contracts that `size` money at `odds` amounts to: its counterparty can receive `size x odds`, and a
 * contract pays one cent. The number is the same for both sides, because it is the whole payout.
 */
export function contractsOf(size: number, odds: number, scale: number): number {
  return Math.round((hundredths(size) * hundredths(odds) * scale) / 100);
}
