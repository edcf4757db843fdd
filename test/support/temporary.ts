import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** Runs `use` with a new directory, which is removed afterwards. */
export async function inTemporaryDirectory<T>(use: (directory: string) => T | Promise<T>): Promise<T> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "overround-test-"));
  try {
    return await use(directory);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}
