/** A failure that the person at the keyboard can mend: the message alone is shown, and it names the remedy. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** What a system call says when the machine, not the code, has to be mended. */
const SYSTEM_REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: "free space on that disk, or set DATA_DIR to another one",
  EDQUOT: "free space within that quota, or set DATA_DIR to another disk",
  EROFS: "set DATA_DIR to a directory that can be written",
  EACCES: "set DATA_DIR to a directory of yours, or start as the user who owns this one",
};

/** One line for a person where something can be mended, the whole story of anything unforeseen. */
export function describe(error: unknown): string {
  if (error instanceof StartError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const remedy = "code" in error ? SYSTEM_REMEDIES[String(error.code)] : undefined;
  return remedy === undefined ? (error.stack ?? error.message) : `${error.message}: ${remedy}`;
}
