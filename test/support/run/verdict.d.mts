/** Report of `reporter.mjs` about a run of Mocha. */
export interface Report {
  readonly skipped: number;
  readonly hasCrashed: boolean;
  readonly failed: readonly { readonly file: string }[];
  readonly files: readonly { readonly file: string; readonly passed: number }[];
}

export interface Result {
  readonly code: number | null;
  readonly report?: Report | undefined;
}

export function hasCrashed(result: Result): boolean;
export function showsPassed(run: Result, name: string): boolean;
export function conclude(
  results: readonly (Result & { readonly lane: { readonly name: string } })[],
  failures: readonly { readonly outcome: string }[],
  seconds: number,
): { readonly passed: boolean; readonly line: string };
