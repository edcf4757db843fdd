import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** Runs `use` with a directory of its own, which is removed afterwards. */
export async function inTemporaryDirectory<T>(use: (directory: string) => T | Promise<T>): Promise<T> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  try {
    return await use(directory);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

/** Resolves when `condition` holds; fails with `what` when it does not within `timeoutMs`. */
export async function eventually(what: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
