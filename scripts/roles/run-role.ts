import { type Config, loadConfig } from "../config.js";
import { describe } from "../supervisor/start-error.js";

/** A role that is up. */
export interface RunningRole {
  /** Finishes what was accepted and lets go of everything; resolves when the process may end. */
  stop(): Promise<void>;
}

/** A drain that takes longer than this is stuck; the supervisor would kill the process soon after. */
const DRAIN_MS = 12_000;

/**
 * The life of a role's process: reads the configuration, starts the role, tells the supervisor that it is
 * ready, and drains once on SIGTERM, on SIGINT, or when the supervisor is gone. A role that throws later ends
 * with exit code 1, because its state is unknown then; the supervisor starts it again.
 */
export async function runRole(name: string, start: (config: Config) => Promise<RunningRole>): Promise<void> {
  const fail = (error: unknown): never => {
    console.error(`${name}: ${describe(error)}`);
    process.exit(1);
  };
  process.on("uncaughtException", fail);
  process.on("unhandledRejection", fail);
  const supervised = process.send !== undefined;
  let running: RunningRole | undefined;
  let draining = false;
  const drain = (): void => {
    if (draining) return;
    draining = true;
    if (running === undefined) process.exit(0);
    setTimeout(() => fail(new Error(`did not drain within ${DRAIN_MS / 1_000} s`)), DRAIN_MS).unref();
    running.stop().then(() => process.exit(0), fail);
  };
  process.on("SIGTERM", drain);
  process.on("SIGINT", drain);
  if (supervised) process.on("disconnect", drain);
  try {
    running = await start(loadConfig());
  } catch (error) {
    fail(error);
  }
  if (supervised) process.send?.("ready");
  else console.log(`${name} is ready (process ${process.pid}); Ctrl-C stops it`);
}
