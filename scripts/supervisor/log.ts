import fs from "node:fs";

/** Log file of a set: the output of all its processes, one JSON object per line. */
export interface LogFile {
  readonly path: string;
  /** Returns a writer for one source, which leaves lines that are JSON objects unchanged. */
  from(source: string): (line: string) => void;
  close(): void;
}

const ROTATE_BYTES = 50 * 1024 * 1024;

/** Opens the log for appending. At 50 MB the file is renamed to `<path>.1`, replacing the previous one. */
export function openLog(path: string): LogFile {
  let descriptor = fs.openSync(path, "a", 0o600);
  let bytes = fs.fstatSync(descriptor).size;
  const append = (line: string): void => {
    if (bytes > ROTATE_BYTES) {
      fs.closeSync(descriptor);
      fs.renameSync(path, `${path}.1`);
      descriptor = fs.openSync(path, "a", 0o600);
      bytes = 0;
    }
    try {
      bytes += fs.writeSync(descriptor, `${line}\n`);
    } catch {
      // A full disk must not end the supervisor: the line is lost instead.
    }
  };
  return {
    path,
    from: (source) => (line) => append(isJsonObject(line) ? line : wrap(source, line)),
    close: () => fs.closeSync(descriptor),
  };
}

function isJsonObject(line: string): boolean {
  return line.startsWith("{") && line.endsWith("}");
}

function wrap(source: string, line: string): string {
  return JSON.stringify({ time: new Date().toISOString(), name: source, msg: line });
}
