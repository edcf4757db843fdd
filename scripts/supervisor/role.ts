import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { childEnvironment } from "../config.js";
import { ROLE_ENVIRONMENT } from "../roles/node-options.js";
import { StartError } from "./start-error.js";
import type { Running } from "./keep.js";
import type { Niceness } from "./priorities.js";
import { releaseWatcherAtExit, watched } from "./watched.js";

/** Program of one process of a role. */
export interface RoleProgram {
  readonly role: string;
  /** Name of the process, unique in its set. */
  readonly name: string;
  /** Compiled module to run. */
  readonly entry: string;
  readonly env: Readonly<Record<string, string>>;
  /** Options of Node for the process. */
  readonly nodeOptions?: readonly string[];
  /** True: the role may end by itself with exit code 0. */
  readonly mayFinish?: boolean;
  /** Priority of the processes (default that of the supervisor). */
  readonly niceness?: Niceness;
  /** Receives every process of the program when the process is ready. */
  readonly onReady?: (child: ChildProcess) => void;
}

/** Longest start of a role, in ms. */
const ROLE_READY_MS = 30_000;
/** Longest drain of a role, in ms. */
const ROLE_DRAIN_MS = 10_000;
/** Time in s in which a role must end after its supervisor was killed. */
const ORPHAN_SECONDS = 10;

/**
 * Starts a role and resolves when the role sends `ready` (see `runRole`). The role runs in a session of its own, so
 * that a Ctrl-C reaches only the supervisor, which stops the roles in order. When the supervisor dies, its channel to
 * the role closes and the role drains; a role that does not end is killed.
 */
export async function spawnRole(
  program: RoleProgram,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Running> {
  const child = spawn(
    "/bin/sh",
    watched({ signal: "KILL", afterSeconds: ORPHAN_SECONDS }, process.execPath, [
      "--enable-source-maps",
      ...(program.nodeOptions ?? []),
      program.entry,
    ]),
    {
      env: { ...ROLE_ENVIRONMENT, ...childEnvironment(program.env) },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe", "ipc"],
    },
  );
  releaseWatcherAtExit(child);
  const lastErrors: string[] = [];
  onLines(child.stdout, log);
  onLines(child.stderr, (line) => {
    lastErrors.push(line);
    if (lastErrors.length > 20) lastErrors.shift();
    log(line);
  });
  const exited = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code ?? "unknown"}`));
    child.once("error", (error) => resolve(error.message));
  });
  const stop = async (graceMs = ROLE_DRAIN_MS): Promise<void> => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), graceMs);
    await exited;
    clearTimeout(force);
  };
  const failure = await Promise.race([
    readyMessage(child),
    exited.then((how) => `ended before it was ready (${how})`),
    aborted(signal),
    timeOut(ROLE_READY_MS, `was not ready after ${ROLE_READY_MS / 1_000} s`),
  ]);
  if (failure !== undefined || child.pid === undefined) {
    child.kill("SIGKILL");
    throw new StartError([`${program.name} ${failure ?? "has no process"}`, ...lastErrors].join("\n  "));
  }
  program.onReady?.(child);
  return { pid: child.pid, stop, onExit: (listener) => void exited.then(listener) };
}

function onLines(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on("line", take);
}

function readyMessage(child: ChildProcess): Promise<undefined> {
  return new Promise((resolve) => {
    child.on("message", (message: unknown) => {
      if (message === "ready" || isReadyObject(message)) resolve(undefined);
    });
  });
}

function isReadyObject(message: unknown): boolean {
  return typeof message === "object" && message !== null && "ready" in message && message.ready === true;
}

function aborted(signal: AbortSignal | undefined): Promise<string> {
  return new Promise((resolve) => {
    const end = (): void => resolve("was stopped during its start");
    if (signal?.aborted === true) end();
    signal?.addEventListener("abort", end, { once: true });
  });
}

function timeOut(ms: number, message: string): Promise<string> {
  return new Promise((resolve) => setTimeout(resolve, ms, message).unref());
}
