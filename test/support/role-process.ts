/** Runs a role in a process of its own, which a test can stop or kill. */

import { type ChildProcess, fork } from "node:child_process";
import { programOf } from "./run/program.js";

/** Role that runs as under a supervisor. */
export class RoleProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  /** Resolves to the exit code, or to the signal that ended the process. */
  readonly exited: Promise<number | string>;

  constructor(role: "gateway" | "worker" | "projector" | "jobs", env: Readonly<Record<string, string>>) {
    const { entry, execArgv } = programOf(`scripts/${role}.ts`);
    this.child = fork(entry, [], {
      env: { ...process.env, LOG_LEVEL: "warn", ...env },
      execArgv: [...execArgv],
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

  /** Sends SIGTERM; resolves to the time to the end of the process in ms, and to how it ended. */
  async stop(): Promise<{ readonly tookMs: number; readonly how: number | string }> {
    const began = performance.now();
    this.child.kill("SIGTERM");
    const how = await this.exited;
    return { tookMs: performance.now() - began, how };
  }
}
