/** Runs the role `worker` in a process of its own, which a test can stop or kill. */

import { type ChildProcess, fork } from "node:child_process";
import path from "node:path";

const ENTRY = path.resolve(import.meta.dirname, "..", "..", "scripts", "worker.ts");

/** Worker that runs as under a supervisor. */
export class WorkerProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  readonly exited: Promise<number | string>;

  constructor(redisUrl: string | undefined) {
    // An empty variable counts as absent.
    const env = { ...process.env, LOG_LEVEL: "warn", REDIS_URL: redisUrl ?? "" };
    this.child = fork(ENTRY, [], {
      env,
      execArgv: ["--import", "tsx"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.exited = new Promise((resolve) => {
      this.child.once("exit", (code, signal) => resolve(signal ?? code ?? "unknown"));
    });
    this.ready = new Promise((resolve, reject) => {
      this.child.once("message", () => resolve());
      void this.exited.then((how) => reject(new Error(`ended before it was ready: ${how}`)));
    });
    this.ready.catch(() => undefined);
  }
}
