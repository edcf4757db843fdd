/** Small things that the tests of the log share. */

/** Repeats an expectation until it holds; its last failure is thrown after `timeoutMs`. */
export async function eventually<T>(expectation: () => T | Promise<T>, timeoutMs = 5_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await expectation();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
