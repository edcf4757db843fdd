/** A failure that the person at the keyboard can mend: the message alone is shown, and it names the remedy. */
export class StartError extends Error {
  override readonly name: string = "StartError";
}

/** One line for a person: the message of a `StartError`, the whole story of anything unforeseen. */
export function describe(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
