import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { markOf, isRunning, waitUntilGone, type ProcessMark } from "../supervisor/identity.js";
import { StartError } from "../supervisor/start-error.js";
import { releaseWatcherAtExit, watched } from "../supervisor/watched.js";
import { freePort, isFree } from "./ports.js";

/** Receives the output of a server or launcher line by line. */
export type LineLog = (line: string) => void;

/** Running server that belongs to this process. */
export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  readonly port: number;
  /** Stops the server in order, and by force after `graceMs`. Resolves when the process has ended. */
  stop(graceMs?: number): Promise<void>;
  /** Calls the listener once at the end of the process, whether or not `stop` was called. */
  onExit(listener: (how: string) => void): void;
}

/** Options of one server program. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** User of the server; only for a parent that runs as root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** Signal for an orderly stop. */
  readonly stopSignal: "INT" | "TERM";
  readonly log: LineLog;
}

/** Server process with its last lines of output, which explain a failed start. */
export interface ServerProcess {
  readonly pid: number;
  readonly lastLines: readonly string[];
  readonly exited: Promise<string>;
  hasExited(): boolean;
  stop(graceMs?: number): Promise<void>;
}

const STOP_TIMEOUT_MS = 20_000;
/** Longest wait for the processes of an earlier run to end, in ms. */
export const LEFTOVER_TIMEOUT_MS = 60_000;
/** Interval of the progress lines during that wait, in ms. */
export const PROGRESS_MS = 5_000;
/** Time in ms for an orderly stop of a server whose start is aborted. */
const ABORT_GRACE_MS = 1_000;
const LAST_LINES = 20;
const POLL_MS = 20;
/** Time in s in which the roles of a killed supervisor end, before its servers stop. */
const ORPHAN_SECONDS = 2;

/** Starts a server program in a session of its own, which a Ctrl-C at the terminal does not reach. */
export async function launch(options: Launch): Promise<ServerProcess> {
  const child = spawn(
    "/bin/sh",
    watched({ signal: options.stopSignal, afterSeconds: ORPHAN_SECONDS }, options.command, options.args),
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
    const finish = (code: number | null, signal: string | null): void =>
      resolve(signal ?? `exit code ${code ?? "unknown"}`);
    child.once("close", finish);
    // A grandchild can keep the output open; the wait for the last lines is therefore short.
    child.once("exit", (code, signal) => setTimeout(finish, 1_000, code, signal).unref());
  });
  return {
    pid,
    lastLines,
    exited,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    stop: async (graceMs = STOP_TIMEOUT_MS) => {
      child.kill(`SIG${options.stopSignal}`);
      if (!(await waitUntilGone(mark, graceMs))) child.kill("SIGKILL");
      await exited;
    },
  };
}

function readLines(child: ChildProcess, take: LineLog): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on("line", take);
  }
}

/**
 * Polls until `ready` resolves to true. Stops a server that ends, is not ready in time, or makes `ready` throw, and
 * rejects with the explanation of its last lines. After an abort it kills the server, which loses no acknowledged write.
 */
export async function waitUntilReady(
  server: ServerProcess,
  ready: () => Promise<boolean>,
  timeoutMs: number,
  explain: (lastLines: readonly string[]) => StartError,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  try {
    while (signal?.aborted !== true && !server.hasExited() && Date.now() < deadline) {
      if (await ready()) return;
      await sleep(POLL_MS);
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  await server.stop(signal?.aborted === true ? ABORT_GRACE_MS : undefined);
  throw explain(server.lastLines);
}

/**
 * Stops the process that served this data for a supervisor that was killed. Only one process may serve a data
 * directory, and the caller holds the lock of the directory, so that process has no supervisor.
 */
export async function stopLeftover(
  name: string,
  mark: ProcessMark | undefined,
  signal: "SIGINT" | "SIGTERM",
  log: LineLog,
): Promise<void> {
  if (mark === undefined || !isRunning(mark)) return;
  log(`${name}: stopping a server of an earlier run (process ${mark.pid})`);
  process.kill(mark.pid, signal);
  await waitForLeftover(name, mark, log);
}

/**
 * Returns the processes of a program whose working directory is `directory`. Only Linux shows working directories;
 * elsewhere the list is empty.
 */
export function processesIn(directory: string, programs: readonly string[]): number[] {
  if (process.platform !== "linux") return [];
  const home = fs.realpathSync(directory);
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        if (fs.readlinkSync(`/proc/${pid}/cwd`) !== home) return false;
        return programs.includes(fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim());
      } catch {
        // The process has ended, or belongs to another user.
        return false;
      }
    });
}

/**
 * Waits until a server of an earlier run has ended, and logs that every few seconds. A server that was killed, or that
 * writes its last checkpoint, needs a while.
 */
export async function waitForLeftover(name: string, mark: ProcessMark, log: LineLog): Promise<void> {
  for (let waitedMs = 0; waitedMs < LEFTOVER_TIMEOUT_MS; waitedMs += PROGRESS_MS) {
    if (await waitUntilGone(mark, PROGRESS_MS)) return;
    log(`${name}: waiting for process ${mark.pid} of an earlier run to end`);
  }
  throw new StartError(
    `${name}: process ${mark.pid} of an earlier run does not end: end it with kill -9 ${mark.pid}`,
  );
}

/**
 * Returns the port of a server: the remembered port, or a new one when another program uses it. With `keep` the
 * port must not change, because other processes already know it, and a port in use throws `StartError`.
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

/** Throws `StartError` on a disk that is nearly full, where a server would fail later with a less clear message. */
export function checkDiskSpace(name: string, directory: string): void {
  const { bavail, bsize } = fs.statfsSync(directory);
  if (bavail * bsize >= NEEDED_BYTES) return;
  const freeMb = Math.floor((bavail * bsize) / 1024 / 1024);
  throw new StartError(
    `${name}: only ${freeMb} MB are free at ${directory}: free at least 300 MB, or set DATA_DIR to another disk`,
  );
}
