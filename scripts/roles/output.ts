import fs from "node:fs";

/** Destination of a role's log lines. */
export interface Output {
  write(line: string): void;
  flushSync(): void;
}

const STDOUT = 1;
const RETRY_MS = 20;
/** Most characters that wait for a slow reader; further lines are dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/**
 * Returns a destination that writes log lines to the standard output without blocking the event loop. After a failed
 * write, such as to the closed pipe of a supervisor that was killed, it drops every line. The destination of pino
 * repeats such a write without end when the process exits.
 */
export function roleOutput(descriptor: number = STDOUT): Output {
  const output = new LineOutput(descriptor);
  process.once("exit", () => output.flushSync());
  return output;
}

class LineOutput implements Output {
  #waiting = "";
  #isWriting = false;
  #isClosed = false;

  constructor(private readonly descriptor: number) {}

  write(line: string): void {
    if (this.#isClosed || this.#waiting.length > MAX_WAITING) return;
    this.#waiting += line;
    if (!this.#isWriting) this.#next();
  }

  /** Writes the waiting lines at the end of the process. A reader that does not take them at once loses them. */
  flushSync(): void {
    if (this.#isClosed || this.#waiting === "") return;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = "";
    try {
      for (let from = 0; from < bytes.length;) from += fs.writeSync(this.descriptor, bytes, from);
    } catch {
      this.#isClosed = true;
    }
  }

  #next(): void {
    if (this.#waiting === "") return;
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = "";
    this.#isWriting = true;
    this.#writeFrom(bytes, 0);
  }

  #writeFrom(bytes: Buffer, from: number): void {
    fs.write(this.descriptor, bytes, from, bytes.length - from, null, (error, written) => {
      if (error !== null && error.code === "EAGAIN") {
        setTimeout(() => this.#writeFrom(bytes, from), RETRY_MS).unref();
      } else if (error !== null) {
        this.#isClosed = true;
        this.#waiting = "";
      } else if (from + written < bytes.length) {
        this.#writeFrom(bytes, from + written);
      } else {
        this.#isWriting = false;
        this.#next();
      }
    });
  }
}
