function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step);
}

/** The grid of the specification in ticks. The replay itself asks the exchange for it. */
export const GRID: readonly number[] = [...range(1, 50, 1), ...range(55, 945, 5), ...range(950, 999, 1)];
