import { DatabaseUnreachable } from "../../db/database.js";
import { NewerRows } from "../../db/rows-version.js";
import { RedisUnreachable } from "../../stream/redis/connection.js";

/** Failure that the person at the terminal can fix; only its message is shown, and the message names the remedy. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** Remedies for system calls that fail because of the machine, by error code. */
const SYSTEM_REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: "free space on that disk, or set DATA_DIR to another one",
  EDQUOT: "free space within that quota, or set DATA_DIR to another disk",
  EROFS: "set DATA_DIR to a directory that can be written",
  EACCES: "set DATA_DIR to a directory that you own, or start as the user who owns this one",
};

/** Returns one line for a failure with a known remedy, and the stack of any other error. */
export function describe(error: unknown): string {
  for (const known of [StartError, RedisUnreachable, DatabaseUnreachable, NewerRows]) {
    if (error instanceof known) return error.message;
  }
  if (!(error instanceof Error)) return String(error);
  const remedy = "code" in error ? SYSTEM_REMEDIES[String(error.code)] : undefined;
  return remedy === undefined ? (error.stack ?? error.message) : `${error.message}: ${remedy}`;
}
