/** The `default` of a switch over a closed union. */

const MAX_SHOWN = 200;

/** Formats a value for an error message: its JSON, cut to 200 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  return (text ?? "undefined").slice(0, MAX_SHOWN);
}

/** Throws an error that names the value. Such a value comes from a newer build or from a bug, and must not be skipped. */
export function unreachable(value: never): never {
  throw new Error(`unexpected value: ${shown(value)}`);
}
