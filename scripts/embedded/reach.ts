import fs from "node:fs";
import path from "node:path";

/** Whether this process is root, which Postgres refuses to be. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The user that servers run as when we are root: nobody, by number, because names differ between systems. */
export const NOBODY = Object.freeze({ uid: 65_534, gid: 65_534 });

const OTHERS_MAY_ENTER = 0o001;

/** Whether every user may walk to this directory: a home directory on the way often forbids it. */
export function isReachableByAll(directory: string): boolean {
  let current = fs.realpathSync(directory);
  for (;;) {
    if ((fs.statSync(current).mode & OTHERS_MAY_ENTER) === 0) return false;
    const parent = path.dirname(current);
    if (parent === current) return true;
    current = parent;
  }
}

/** Where root keeps what another user must reach when the repository or the data directory is out of reach. */
export const SHARED_HOME = "/var/lib/overround";

/** Makes a directory that everybody may enter, for use below `SHARED_HOME`. */
export function makeReachable(directory: string): void {
  fs.mkdirSync(directory, { recursive: true, mode: 0o755 });
  fs.chmodSync(directory, 0o755);
}
