/** Processes of a bench: their start, and the CPU time and the memory that they have used. */

import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../../config.js";
import { NODE_OPTIONS, ROLE_ENVIRONMENT } from "../../roles/node-options.js";
import type { Running } from "../../supervisor/keep.js";
import type { Niceness, Priorities } from "../../supervisor/priorities.js";

/** Length of a clock tick in `/proc`, in s. */
const TICK_S = 0.01;
/** Longest time of a start on a busy machine, in ms. */
const READY_MS = 60_000;

interface ProcessOptions {
  /** Options of Node (default those of this process). */
  readonly execArgv?: readonly string[];
  /** True for a process with a session, and so a priority, of its own. It must end when its channel is closed. */
  readonly detached?: boolean;
}

/** Runs a file of this folder, or of another one, as a process; resolves when it has sent its first message. */
export async function startProcess(
  file: string,
  environment: Readonly<Record<string, string>> = {},
  { execArgv = process.execArgv, detached = false }: ProcessOptions = {},
): Promise<ChildProcess> {
  // The compiled bench runs compiled files, and a test runs the sources.
  const extension = path.extname(fileURLToPath(import.meta.url));
  const entry = fileURLToPath(new URL(`${file}${extension}`, import.meta.url));
  const child = fork(entry, [], {
    env: childEnvironment(environment),
    execArgv: [...execArgv],
    detached,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const endWithThis = (): void => void child.kill("SIGKILL");
  process.once("exit", endWithThis);
  child.once("exit", () => process.off("exit", endWithThis));
  await Promise.race([
    once(child, "message", { signal: AbortSignal.timeout(READY_MS) }),
    once(child, "exit").then(() => Promise.reject(new Error(`${file} ended before it was ready`))),
  ]);
  return child;
}

/** Starts a worker with the options of Node, and the environment, that `npm start` gives it. */
export function startWorker(
  environment: Readonly<Record<string, string>>,
  options: Pick<ProcessOptions, "detached"> = {},
): Promise<ChildProcess> {
  const execArgv = [...process.execArgv, ...NODE_OPTIONS.worker];
  return startProcess("../../worker", { ...ROLE_ENVIRONMENT, ...environment }, { ...options, execArgv });
}

/** Gives a process that has a session of its own a priority until it ends. */
export function prioritize(priorities: Priorities, child: ChildProcess, niceness: Niceness): void {
  const { pid } = child;
  if (pid === undefined) throw new Error("a process of the bench has no process id");
  const onExit: Running["onExit"] = (listener) => void child.once("exit", (code) => listener(String(code)));
  priorities.add({ pid, onExit }, niceness);
}

/** Kills a process; resolves when it has ended. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** Returns the CPU time that processes, and those of their children that have ended, have used, in s. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
}

function cpuSecondsOf(pid: number): number {
  if (process.platform !== "linux") return secondsOf(execFileSync("ps", ["-o", "time=", "-p", String(pid)]));
  const stat = statOf(pid);
  // The name of the program stands in brackets and may contain any character, so fields count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return TICK_S * fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
}

/** Returns the status of a process; that of one that has ended is empty, and its parent has its CPU time. */
function statOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return "";
  }
}

/** Returns the seconds of a time such as `1:02:03.45`. */
function secondsOf(time: Buffer): number {
  return time
    .toString()
    .trim()
    .split(/[:-]/)
    .reduce((sum, part) => 60 * sum + Number(part), 0);
}
