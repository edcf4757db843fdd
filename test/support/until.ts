/** Waits until the condition holds. Throws when it does not hold within `timeoutMs`. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 8_000): Promise<void> {
  for (const end = Date.now() + timeoutMs; !(await condition());) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
