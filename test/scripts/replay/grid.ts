function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: (to - from) / step + 1 }, (_, index) => from + index * step);
}

/** Price grid of the specification in ticks; the replay itself reads the grid of the exchange. */
export const GRID: readonly number[] = [...range(1, 50, 1), ...range(55, 945, 5), ...range(950, 999, 1)];
