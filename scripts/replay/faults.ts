/** Kills processes of a running exchange during a replay, to check that no acknowledged order is lost. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { readRecord } from "../embedded/record.js";
import { StartError } from "../supervisor/start-error.js";
import { isRunning } from "../supervisor/identity.js";

export const VICTIMS = ["worker", "gateway", "projector", "jobs", "redis", "postgres"] as const;
type Victim = (typeof VICTIMS)[number];

export interface FaultOptions {
  /** Data directory of the exchange, whose supervisor restarts the killed processes. */
  readonly dataDir: string;
  /** Processes to kill, one after the other and again from the first. */
  readonly victims: readonly Victim[];
  readonly everyMs: number;
  readonly say: (line: string) => void;
}

const Lock = z.object({ pid: z.int(), started: z.string() });

/** Returns the process id of the supervisor of a data directory. Throws `StartError` when none runs there. */
function supervisorOf(dataDir: string): number {
  const file = path.join(dataDir, "lock");
  const lock = Lock.safeParse(fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined);
  if (lock.success && isRunning(lock.data)) return lock.data.pid;
  throw new StartError(
    `no exchange runs on ${dataDir}: --kill needs one on this machine; run npm start, or add --standalone`,
  );
}

/** Returns the process of a victim, or `undefined` before its restart. Finds only children of this supervisor. */
function processOf(dataDir: string, victim: Victim): number | undefined {
  if (victim === "redis" || victim === "postgres") {
    const mark = readRecord(dataDir, victim)?.process;
    return mark !== undefined && isRunning(mark) ? mark.pid : undefined;
  }
  const supervisor = supervisorOf(dataDir);
  const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  for (const line of table.split("\n")) {
    const [, pid, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    if (Number(parent) === supervisor && command.includes(`${path.sep}${victim}.js`)) return Number(pid);
  }
  return undefined;
}

/** Starts to kill the victims with SIGKILL; the returned function ends that and returns the number of kills. */
export function startFaults({ dataDir, victims, everyMs, say }: FaultOptions): () => number {
  supervisorOf(dataDir);
  let killed = 0;
  let turn = 0;
  const timer = setInterval(() => {
    const victim = victims[turn % victims.length];
    turn += 1;
    if (victim === undefined) return;
    const pid = processOf(dataDir, victim);
    if (pid === undefined) return;
    try {
      process.kill(pid, "SIGKILL");
      killed += 1;
      say(`killed ${victim} (process ${pid})`);
    } catch {
      // The process has just ended by itself.
    }
  }, everyMs);
  return () => {
    clearInterval(timer);
    return killed;
  };
}
