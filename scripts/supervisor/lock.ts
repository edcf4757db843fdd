import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { StartError } from "./start-error.js";
import { identityOf, isRunning, markOf } from "./identity.js";

/** Content of the lock; earlier builds wrote no `directory`. */
const Holder = z.object({ pid: z.int(), started: z.string(), directory: z.string().optional() });

/** Exclusive lock on a data directory. */
export interface DataDirLock {
  release(): void;
}

/** Pause in ms after a take-over, after which the loser of two simultaneous take-overs finds another lock. */
const TAKE_OVER_PAUSE_MS = 100;

/**
 * Locks the data directory for this process. Takes over a lock whose process has ended, even if another program now
 * has its process id, and a lock that was copied together with the directory of a running set.
 * @throws StartError when another set uses the directory, or when the directory cannot be written.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const file = path.join(dataDir, "lock");
  let mine = "";
  try {
    fs.mkdirSync(dataDir, { recursive: true });
    mine = JSON.stringify({ ...markOf(process.pid), directory: identityOf(dataDir) });
    fs.writeFileSync(file, mine, { flag: "wx" });
  } catch (error) {
    if (!fs.existsSync(file)) {
      throw new StartError(
        `cannot write to ${dataDir} (${String(error)}): set DATA_DIR to a directory that you own`,
      );
    }
    refuseIfHeld(file, dataDir);
    const draft = `${file}.${process.pid}`;
    fs.writeFileSync(draft, mine);
    fs.renameSync(draft, file);
    await sleep(TAKE_OVER_PAUSE_MS);
    if (read(file) !== mine) refuseIfHeld(file, dataDir);
  }
  return {
    release: () => {
      if (read(file) === mine) fs.rmSync(file, { force: true });
    },
  };
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function refuseIfHeld(file: string, dataDir: string): void {
  const holder = Holder.safeParse(parseJson(read(file)));
  if (!holder.success || !isRunning(holder.data)) return;
  if (holder.data.directory !== undefined && holder.data.directory !== identityOf(dataDir)) return;
  throw new StartError(
    `${dataDir} is in use by process ${holder.data.pid}: stop it with kill ${holder.data.pid}, ` +
      "or set DATA_DIR to another directory",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
