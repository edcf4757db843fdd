import { setFlagsFromString } from "node:v8";
import { readCommandLine } from "../command-line.mjs";
import { type Config, describeVariables, loadConfig } from "../config.js";
import { describe } from "../supervisor/start-error.js";

/** Role that has started. */
export interface RunningRole {
  /** Finishes the accepted work and releases all resources; resolves when the process may end. */
  stop(): Promise<void>;
}

/** Configuration of a process. */
export interface RoleConfig extends Config {
  /** Name of the process, unique on its host. */
  readonly processName: string;
  /** Drains the process and ends it with exit code 1, because it must not go on. */
  readonly end: (error: Error) => void;
}

/** Name and purpose of a role, for its messages and its help. */
export interface RoleCommand {
  readonly name: string;
  readonly summary: string;
  /** Shell command that starts the role when it is not `npm run NAME --`. */
  readonly call?: string;
  /** Longest drain, in ms (default a little longer than the longest request). */
  readonly drainMs?: number;
  /**
   * Growth of the JavaScript heap in percent of its live size, after which V8 collects it (default 50). With a default of its
   * own, V8 lets the heap of a role grow to four times its live size, so that its memory shows nothing for minutes but garbage.
   */
  readonly heapGrowthPercent?: number;
}

/** Growth of the heap of most roles. */
const HEAP_GROWTH_PERCENT = 50;
/**
 * Leaves the marking of a collection to V8's helper threads, and in a worker, which has none for it, to `WorkerHeap`. By
 * default the event loop marks along with them in a task of its own, which takes three quarters of its time for as long as
 * that lasts: on two cores no other role of the host then gets a turn, and requests wait for a fifth of a second.
 */
export const MARKS_BESIDE = "--no-incremental-marking-task";
/** Longest drain of most roles, in ms: a little longer than the longest request. */
const DRAIN_MS = 5_000;

/**
 * Runs a role as this process: reads the command line and the configuration, starts the role, reports to the
 * supervisor that it is ready, and drains once on SIGTERM, on SIGINT, or when the supervisor is gone. An error that
 * nothing catches ends the process with exit code 1, because the role's state is then unknown; the supervisor
 * restarts it.
 */
export async function runRole(
  {
    name,
    summary,
    call = `npm run ${name} --`,
    drainMs = DRAIN_MS,
    heapGrowthPercent = HEAP_GROWTH_PERCENT,
  }: RoleCommand,
  start: (config: RoleConfig) => Promise<RunningRole>,
): Promise<void> {
  readCommandLine({ name, call, summary, options: {}, notes: describeVariables });
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  setFlagsFromString(MARKS_BESIDE);
  const fail = (error: unknown): never => {
    console.error(`${name}: ${describe(error)}`);
    process.exit(1);
  };
  // The pipes to a supervisor that was killed are closed; a write to them must not prevent the drain.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
  const supervised = process.send !== undefined;
  let running: RunningRole | undefined;
  let draining = false;
  let noticeMs = 0;
  const drain = (code = 0): void => {
    if (draining) return;
    draining = true;
    if (running === undefined) process.exit(code);
    const limitMs = drainMs + noticeMs;
    setTimeout(() => fail(new Error(`did not drain within ${limitMs / 1_000} s`)), limitMs).unref();
    running.stop().then(() => process.exit(code), fail);
  };
  const end = (error: Error): void => {
    console.error(`${name}: ${describe(error)}`);
    drain(1);
  };
  process.on("SIGTERM", () => drain());
  process.on("SIGINT", () => drain());
  if (supervised) process.on("disconnect", () => drain());
  if (supervised && !process.connected) drain();
  try {
    const config = loadConfig();
    noticeMs = config.drainNoticeMs;
    const processName = config.processName ?? `${name}-${process.pid}`;
    running = await start({ ...config, processName, end });
  } catch (error) {
    fail(error);
  }
  if (supervised) process.send?.("ready");
  else console.log(`${name} is ready (process ${process.pid}); Ctrl-C stops it`);
}
