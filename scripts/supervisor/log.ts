import fs from "node:fs";

/** The log file of a set: what every process of it says, one JSON object a line. */
export interface LogFile {
  readonly path: string;
  /** A writer for one source. Lines that are JSON objects already are kept as they are. */
  from(source: string): (line: string) => void;
  close(): void;
}

const ROTATE_BYTES = 50 * 1024 * 1024;

/** Opens the log for appending. At 50 MB it becomes `<path>.1`, replacing the one before, and begins anew. */
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
      // A full disk must not take the supervisor down with it: then these lines are lost.
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
