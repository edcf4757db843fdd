/** Kills processes of a running exchange while a replay runs on it, to see that nothing acknowledged is lost. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { readRecord } from "../embedded/record.js";
import { StartError } from "../supervisor/start-error.js";
import { isRunning } from "../supervisor/identity.js";

export const VICTIMS = ["worker", "gateway", "projector", "jobs", "redis", "postgres"] as const;
export type Victim = (typeof VICTIMS)[number];

export interface FaultOptions {
  /** The data directory of the exchange, whose supervisor starts again what is killed. */
  readonly dataDir: string;
  /** Killed one after the other, over and over. */
  readonly victims: readonly Victim[];
  readonly everyMs: number;
  readonly say: (line: string) => void;
}

const Lock = z.object({ pid: z.int(), started: z.string() });

/** The supervisor of the data directory. Throws `StartError` when none runs there. */
function supervisorOf(dataDir: string): number {
  const file = path.join(dataDir, "lock");
  const lock = Lock.safeParse(fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined);
  if (lock.success && isRunning(lock.data)) return lock.data.pid;
  throw new StartError(
    `no exchange runs on ${dataDir}: --kill needs one on this machine, by npm start or --standalone`,
  );
}

/** The process of a victim, or `undefined` between two lives. Only children of this supervisor are ever found. */
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

/** Starts killing, with SIGKILL; the returned stop gives how many were killed. */
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
      // It ended by itself in this moment.
    }
  }, everyMs);
  return () => {
    clearInterval(timer);
    return killed;
  };
}
