import fs from "node:fs";

/** Log file of a set: the output of all its processes, one JSON object per line. */
export interface LogFile {
  readonly path: string;
  /** Returns a writer for one source, which leaves lines that are JSON objects unchanged. */
  from(source: string): (line: string) => void;
  close(): void;
}

const ROTATE_BYTES = 50 * 1024 * 1024;

/**
 * Opens the log for appending. At `rotateBytes` (default 50 MB) the file is renamed to `<path>.1`, replacing the previous
 * one. A full disk, or a file that somebody has moved or removed, does not end the supervisor.
 */
export function openLog(path: string, rotateBytes = ROTATE_BYTES): LogFile {
  let descriptor = fs.openSync(path, "a", 0o600);
  let bytes = fs.fstatSync(descriptor).size;
  const rotate = (): void => {
    // The next try comes after as many bytes again.
    bytes = 0;
    attempt(() => fs.renameSync(path, `${path}.1`));
    attempt(() => {
      const next = fs.openSync(path, "a", 0o600);
      fs.closeSync(descriptor);
      descriptor = next;
    });
  };
  const append = (line: string): void => {
    if (bytes > rotateBytes) rotate();
    attempt(() => {
      bytes += fs.writeSync(descriptor, `${line}\n`);
    });
  };
  return {
    path,
    from: (source) => (line) => append(isJsonObject(line) ? line : wrap(source, line)),
    close: () => fs.closeSync(descriptor),
  };
}

/** Runs a step that may fail: what it would have written is lost instead. */
function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // There is no other place to report it.
  }
}

function isJsonObject(line: string): boolean {
  return line.startsWith("{") && line.endsWith("}");
}

function wrap(source: string, line: string): string {
  return JSON.stringify({ time: new Date().toISOString(), name: source, msg: line });
}
