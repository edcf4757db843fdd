/** Waiting for a condition in tests. */

const TIMEOUT_MS = 10_000;
const POLL_MS = 5;

/**
 * Repeats `read` until its result satisfies `holds` (by default: until the result is not false), and returns the
 * result. An error of `read` or `holds`, such as a failed expectation, is a failed attempt. Rejects after ten seconds
 * with the last error, or with the last result.
 */
export function until<T>(read: () => T | Promise<T>, holds?: (value: T) => boolean): Promise<T> {
  return untilWithin(TIMEOUT_MS, read, holds);
}

/** Waits as `until` does, for at most `timeoutMs`. */
export async function untilWithin<T>(
  timeoutMs: number,
  read: () => T | Promise<T>,
  holds: (value: T) => boolean = (value) => value !== false,
): Promise<T> {
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const value = await read();
      if (holds(value)) return value;
      failure = new Error(
        `still ${JSON.stringify(value)} after ${timeoutMs} ms: ${(holds.length === 0 ? read : holds).toString()}`,
      );
    } catch (error) {
      failure = error;
    }
    if (Date.now() > deadlineMs) throw failure;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
