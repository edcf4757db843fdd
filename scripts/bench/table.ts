/** Rows of figures that a bench returns, and their output. */

export interface Row {
  readonly bench: string;
  readonly measure: string;
  readonly figure: number;
  readonly unit: string;
  /** Figure of the exchange divided by this figure, from the same run. */
  readonly ratio?: number | undefined;
  /** Judgment over a figure that has a limit; `unclear` when the figure exceeds it by less than its error. */
  readonly verdict?: "pass" | "unclear" | "FAIL";
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Returns the value below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function formatFigure(figure: number): string {
  return figure >= 100 || Number.isInteger(figure)
    ? Math.round(figure).toLocaleString("en-US")
    : figure.toPrecision(3);
}

export function printRows(rows: readonly Row[]): void {
  let bench = "";
  for (const row of rows) {
    if (row.bench !== bench) console.log(`\n${row.bench}`);
    bench = row.bench;
    const verdict = row.verdict === undefined ? "" : `  ${row.verdict}`;
    const ratio = row.ratio === undefined ? "" : `  the exchange: ${row.ratio.toFixed(2)} times`;
    console.log(
      `  ${row.measure.padEnd(40)} ${formatFigure(row.figure).padStart(14)} ${row.unit.padEnd(8)}${ratio}${verdict}`,
    );
  }
}
