/**
 * Low priority for the processes that leave busy cores to a worker and to Redis, so that the event loop of a worker
 * pauses less. Linux shares the cores between sessions by the nice value of their autogroups; every role and every
 * backend of Postgres has a session of its own. Where autogroups do not count, the nice values of processes do, so both
 * are raised.
 */

import fs from "node:fs";
import os from "node:os";
import { parentOf } from "./identity.js";
import type { Running } from "./keep.js";

/** Added to the nice value: such a process receives 0.41 of the time that another one receives on a busy core. */
const NICE = 4;
/** Nice value of a process that runs only while a core has nothing else to do, or nearly so. */
export const HIGHEST_NICE = 19;
/** Interval in ms in which new backends of Postgres are found. */
const ROUND_MS = 1_000;
/** The same while Linux refuses changes: it lets users other than root change one autogroup in a tenth of a second. */
const RETRY_MS = 110;

/** Keeps processes and their children at a low priority until they end. */
export class LowPriority {
  readonly #parents = new Set<number>();
  /** Processes of the last round that need no change any more. */
  #settled = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Reports the first failure. Each round repeats it. */
  #report: ((line: string) => void) | undefined;

  /** `niceness` is added to the nice value of this process. */
  constructor(
    report: (line: string) => void,
    private readonly niceness = NICE,
  ) {
    this.#report = report;
  }

  /** Lowers the priority of a running process and of its present and future children. */
  add(running: Pick<Running, "pid" | "onExit">): void {
    const { pid } = running;
    this.#parents.add(pid);
    running.onExit(() => this.#parents.delete(pid));
    this.#settled.clear();
    if (process.platform === "linux") this.#round();
    else this.#lower(pid);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #round(): void {
    if (this.#isStopped) return;
    const settled = new Set<number>();
    let isRefused = false;
    for (const pid of this.#processes()) {
      if (this.#settled.has(pid) || !this.#concerns(pid) || this.#lower(pid)) settled.add(pid);
      else isRefused = true;
    }
    this.#settled = settled;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#round(), isRefused ? RETRY_MS : ROUND_MS).unref();
  }

  #concerns(pid: number): boolean {
    try {
      return this.#parents.has(pid) || this.#parents.has(parentOf(pid));
    } catch {
      // The process has ended.
      return false;
    }
  }

  /** Returns no process when the list cannot be read, as without a free file descriptor. The next round reads it again. */
  #processes(): readonly number[] {
    try {
      return fs
        .readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .map(Number);
    } catch (error) {
      this.#failed(error);
      return [];
    }
  }

  /** Returns false when Linux refuses the change for now. A change that is not permitted is left out. */
  #lower(pid: number): boolean {
    const isLowered = this.#attempt(() =>
      fs.writeFileSync(`/proc/${pid}/autogroup`, String(this.niceness), { flag: "r+" }),
    );
    const nice = Math.min(HIGHEST_NICE, os.getPriority() + this.niceness);
    for (const thread of threadsOf(pid))
      this.#attempt(() => {
        if (os.getPriority(thread) < nice) os.setPriority(thread, nice);
      });
    return isLowered;
  }

  /** Returns false when a change failed that may succeed later. */
  #attempt(change: () => void): boolean {
    try {
      change();
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") return false;
      // A process that has ended, or a system without autogroups, has nothing to change.
      if (code !== "ENOENT" && code !== "ESRCH") this.#failed(error);
      return true;
    }
  }

  #failed(error: unknown): void {
    const report = this.#report;
    this.#report = undefined;
    const reason = error instanceof Error ? error.message : String(error);
    report?.(`a process keeps its priority, and may take time from the workers: ${reason}`);
  }
}

/** Returns the threads of a process, which have nice values of their own on Linux. */
function threadsOf(pid: number): readonly number[] {
  try {
    return fs.readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // Another system has no such directory, and one nice value for a process.
    return [pid];
  }
}

/** Returns the code of a system call that failed. The errors of `os` have it in their facts. */
function codeOf(error: unknown): string | undefined {
  const { code, info } = error as NodeJS.ErrnoException & { readonly info?: { readonly code?: string } };
  return info?.code ?? code;
}
