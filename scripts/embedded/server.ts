import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { markOf, isRunning, waitUntilGone, type ProcessMark } from "../supervisor/identity.js";
import { StartError } from "../supervisor/start-error.js";
import { freePort, isFree } from "./ports.js";

/** Receives what a server or launcher has to say, one line at a time. */
export type LineLog = (line: string) => void;

/** A running server that belongs to this process. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly port: number;
  /** Stops it in order, then by force after a time-out. Resolves when the process is gone. */
  stop(): Promise<void>;
  /** Calls back once when the process has ended, whether or not it was asked to. */
  onExit(listener: (how: string) => void): void;
}

/** How to start one server program. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The user to become; only for a parent that is root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** The signal for an orderly stop. */
  readonly stopSignal: "INT" | "TERM";
  readonly log: LineLog;
}

/** A server process and the last lines it wrote, from which a failed start is explained. */
export interface ServerProcess {
  readonly pid: number;
  readonly lastLines: readonly string[];
  readonly exited: Promise<string>;
  hasExited(): boolean;
  stop(): Promise<void>;
}

const STOP_TIMEOUT_MS = 20_000;
const LAST_LINES = 20;
const POLL_MS = 20;

/**
 * The server replaces this shell and keeps its process id. Before that, the shell leaves a watcher behind
 * which reads a pipe from the supervisor: when the pipe closes without the word that all is well, the
 * supervisor was killed, and the watcher stops the server, so that nothing is orphaned. It waits two seconds
 * to let the roles finish first. The double fork keeps the watcher from being a child of the server.
 */
const WATCHED = `(({ read -r _ || { sleep 2; kill -"$1" "$$"; } ; } <&3 >/dev/null 2>&1 &) 3<&3); shift; exec "$@" 3<&-`;

/** Starts a server program in a session of its own, out of reach of the terminal's Ctrl-C. */
export async function launch(options: Launch): Promise<ServerProcess> {
  const child = spawn(
    "/bin/sh",
    ["-c", WATCHED, "sh", options.stopSignal, options.command, ...options.args],
    {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      ...options.user,
    },
  );
  await once(child, "spawn");
  const { pid } = child;
  if (pid === undefined) throw new StartError(`${options.command} could not be started`);
  const mark = markOf(pid);
  const lastLines: string[] = [];
  readLines(child, (line) => {
    lastLines.push(line);
    if (lastLines.length > LAST_LINES) lastLines.shift();
    options.log(line);
  });
  releaseWatcherAtExit(child);
  const exited = new Promise<string>((resolve) => {
    const settle = (code: number | null, signal: string | null): void =>
      resolve(signal ?? `exit code ${code ?? "unknown"}`);
    child.once("close", settle);
    // The output can stay open in a grandchild; the last lines are worth waiting for, but not for long.
    child.once("exit", (code, signal) => setTimeout(settle, 1_000, code, signal).unref());
  });
  return {
    pid,
    lastLines,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    stop: async () => {
      child.kill(`SIG${options.stopSignal}`);
      if (!(await waitUntilGone(mark, STOP_TIMEOUT_MS))) child.kill("SIGKILL");
      await exited;
    },
  };
}

function readLines(child: ChildProcess, take: LineLog): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on("line", take);
  }
}

/** Tells the watcher that the server ended under our eyes, so that it does not signal a stranger's process id. */
function releaseWatcherAtExit(child: ChildProcess): void {
  const pipe = child.stdio[3];
  if (pipe === null || pipe === undefined || !("end" in pipe)) return;
  pipe.on("error", () => undefined);
  child.once("exit", () => pipe.end("done\n"));
}

/**
 * Polls until `ready` resolves to true. A server that ends before, or is not ready in time, or makes `ready`
 * throw, is stopped, and the call rejects with what `explain` makes of its last lines.
 */
export async function waitUntilReady(
  server: ServerProcess,
  ready: () => Promise<boolean>,
  timeoutMs: number,
  explain: (lastLines: readonly string[]) => string,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  try {
    while (!server.hasExited() && Date.now() < deadline) {
      if (await ready()) return;
      await sleep(POLL_MS);
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  await server.stop();
  throw new StartError(explain(server.lastLines));
}

/**
 * Stops the process that served this data for a supervisor that was killed. Only one process may serve a data
 * directory, and the caller holds the directory's lock, so whoever is left has no owner any more.
 */
export async function stopLeftover(
  name: string,
  mark: ProcessMark | undefined,
  signal: "SIGINT" | "SIGTERM",
  log: LineLog,
): Promise<void> {
  if (mark === undefined || !isRunning(mark)) return;
  log(`${name}: a server of an earlier run (process ${mark.pid}) still runs; stopping it`);
  process.kill(mark.pid, signal);
  if (await waitUntilGone(mark, STOP_TIMEOUT_MS)) return;
  throw new StartError(
    `${name}: process ${mark.pid} of an earlier run does not stop: end it with kill -9 ${mark.pid}`,
  );
}

/**
 * The port to serve on: the remembered one, or a new one when another program has taken it. With `keep` the
 * port must not change, because other processes already know it.
 */
export async function choosePort(
  name: string,
  remembered: number | undefined,
  keep: boolean,
  log: LineLog,
): Promise<number> {
  if (remembered === undefined) return freePort();
  if (await isFree(remembered)) return remembered;
  if (keep) throw new StartError(`${name}: port ${remembered} on 127.0.0.1 is taken by another program`);
  const port = await freePort();
  log(`${name}: port ${remembered} is taken by another program; using ${port}`);
  return port;
}

const NEEDED_BYTES = 300 * 1024 * 1024;

/** Refuses to start on a disk that is nearly full, where a server would fail later and less clearly. */
export function checkDiskSpace(name: string, directory: string): void {
  const { bavail, bsize } = fs.statfsSync(directory);
  if (bavail * bsize >= NEEDED_BYTES) return;
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  throw new StartError(
    `${name}: only ${freeMb} MB are free at ${directory}: free at least 300 MB, or set DATA_DIR to another disk`,
  );
}
