import fs from "node:fs";
import path from "node:path";

/** Returns whether this process runs as root, which Postgres refuses to do. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** User of the servers that root starts: nobody, by number, because the name differs between systems. */
export const NOBODY = Object.freeze({ uid: 65_534, gid: 65_534 });

const OTHERS_MAY_ENTER = 0o001;

/** Returns whether every user may enter this directory and its parents; a private home directory forbids that. */
export function isReachableByAll(directory: string): boolean {
  let current = fs.realpathSync(directory);
  for (;;) {
    if ((fs.statSync(current).mode & OTHERS_MAY_ENTER) === 0) return false;
    const parent = path.dirname(current);
    if (parent === current) return true;
    current = parent;
  }
}

/** Directory for the files that the unprivileged user cannot reach in the repository or the data directory. */
export const SHARED_HOME = "/var/lib/overround";

/** Creates a directory that every user may enter. */
export function makeReachable(directory: string): void {
  fs.mkdirSync(directory, { recursive: true, mode: 0o755 });
  fs.chmodSync(directory, 0o755);
}
