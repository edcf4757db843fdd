import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { StartError } from "./start-error.js";
import { isRunning, markOf } from "./identity.js";

const Holder = z.object({ pid: z.int(), started: z.string() });

/** The right to use a data directory. */
export interface DataDirLock {
  release(): void;
}

/** How long a taken-over lock is left alone before it counts, so that of two who take it over one notices. */
const SETTLE_MS = 100;

/**
 * Takes the data directory for this process alone. A lock whose process is gone is taken over, whatever runs
 * under its process id by now.
 * @throws StartError when another set uses the directory, or when it cannot be written.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const file = path.join(dataDir, "lock");
  const mine = JSON.stringify(markOf(process.pid));
  try {
    fs.mkdirSync(dataDir, { recursive: true });
    fs.writeFileSync(file, mine, { flag: "wx" });
  } catch (error) {
    if (!fs.existsSync(file)) {
      throw new StartError(
        `cannot write to ${dataDir} (${String(error)}): set DATA_DIR to a directory of yours`,
      );
    }
    refuseIfHeld(file, dataDir);
    const draft = `${file}.${process.pid}`;
    fs.writeFileSync(draft, mine);
    fs.renameSync(draft, file);
    await sleep(SETTLE_MS);
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
