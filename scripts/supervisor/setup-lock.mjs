/** The lock of the set-up. It imports nothing but Node's own modules, because it runs before anything is installed. */
import fs from "node:fs";
import path from "node:path";

const POLL_MS = 200;
/** Age in ms from which a lock without a process id is stale: its writer died between creating and writing it. */
const UNWRITTEN_MS = 2_000;

/** Reports a lock that another live process still holds. */
export class LockHeld extends Error {}

/** Returns whether a process with this id runs, whoever owns it. */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Reads the process id and the age in ms of a lock, or returns undefined when nobody holds it any more. */
function readLock(file) {
  try {
    return { holder: Number(fs.readFileSync(file, "utf8")), ageMs: Date.now() - fs.statSync(file).mtimeMs };
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

function isStale({ holder, ageMs }) {
  return holder > 0 ? !isAlive(holder) : ageMs > UNWRITTEN_MS;
}

/**
 * Runs `work` while this process holds the lock `file`, so that two commands started together do not install or
 * compile at the same time. A lock whose process has ended is removed. `onWait` receives the id of the holder once.
 * Throws `LockHeld` when another process still holds the lock after `waitMs`.
 */
export function exclusively(file, { waitMs, onWait }, work) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const deadline = Date.now() + waitMs;
  let announced = false;
  for (;;) {
    try {
      fs.writeFileSync(file, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const lock = readLock(file);
    if (lock === undefined) continue;
    if (isStale(lock)) {
      fs.rmSync(file, { force: true });
      continue;
    }
    if (Date.now() > deadline) {
      throw new LockHeld(`another set-up (process ${lock.holder}) has not ended; stop it or remove ${file}`);
    }
    if (!announced && lock.holder > 0) {
      onWait(lock.holder);
      announced = true;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  try {
    work();
  } finally {
    fs.rmSync(file, { force: true });
  }
}
