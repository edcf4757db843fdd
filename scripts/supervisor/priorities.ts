/**
 * Priorities of processes, so that the event loop of a worker pauses less on busy cores. Linux shares the cores between
 * sessions by the nice value of their autogroups; every role and every backend of Postgres has a session of its own.
 * Where autogroups do not count, the nice values of threads do, so both are changed.
 */

import fs from "node:fs";
import os from "node:os";
import { parentOf, sessionOf } from "./identity.js";
import type { Running } from "./keep.js";
import { SpareTime } from "./spare-time.js";

/**
 * Nice values of a process and of its children: relative to this process for their threads, and as they are for their
 * autogroups. One that is not given stays.
 */
export interface Niceness {
  readonly process?: number;
  readonly children?: number;
}

/** True if the system lets this process raise priorities. */
const MAY_RAISE = mayRaise();

/** A worker receives 15 times the time of a gateway on a busy core, or 2.4 times where no priority may be raised. */
export const WORKER: Niceness = { process: MAY_RAISE ? -12 : 0 };
/** A gateway has the priority of Redis, or that of the background where a projector could not be raised beside it. */
export const GATEWAY: Niceness = { process: MAY_RAISE ? 0 : 4 };
const BACKGROUND_NICE = MAY_RAISE ? 8 : 4;
/**
 * The roles that no order waits for, and Postgres with its backends, receive a sixth of the time of a gateway, and as much
 * as it while a projector is behind. Where no priority may be raised, they always receive as much.
 */
export const BACKGROUND: Niceness = { process: BACKGROUND_NICE, children: BACKGROUND_NICE };
/** The child of Redis that rewrites its append-only file has spare time first, and then receives 0.1 of the time. */
export const REDIS: Niceness = { children: 10 };
/** The process runs only while a core has nothing else to do, or nearly so. */
export const IDLE: Niceness = { process: 19, children: 19 };

const HIGHEST_NICE = 19;
/** Interval in ms in which new backends of Postgres are found. */
const ROUND_MS = 1_000;
/** Interval of the rounds in ms while Linux refuses changes: it lets users other than root change one autogroup in a tenth of a second. */
const RETRY_MS = 110;

/** Gives processes and their children their priorities until they end. */
export class Priorities {
  readonly #kept = new Map<number, Niceness>();
  /** Processes of projectors that are behind. */
  readonly #behind = new Set<number>();
  readonly #spareTime: SpareTime;
  /** Processes of the last round that need no change any more. */
  #settled = new Set<number>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Reports the first failure. Each round repeats it. */
  #report: ((line: string) => void) | undefined;

  constructor(report: (line: string) => void, spareTime = new SpareTime()) {
    this.#report = report;
    this.#spareTime = spareTime;
  }

  /** Changes the priority of a running process, and of its present and future children, as `niceness` says. */
  add(running: Pick<Running, "pid" | "onExit">, niceness: Niceness): void {
    const { pid } = running;
    this.#kept.set(pid, niceness);
    running.onExit(() => {
      this.#kept.delete(pid);
      this.setBehind(pid, false);
    });
    this.#settled.clear();
    const { process: normal = 0 } = niceness;
    if (process.platform === "linux") this.#round();
    else this.#changeThreads(pid, normal, normal);
  }

  /** While any projector is behind, what has the priority of the background has that of this process. */
  setBehind(pid: number, isBehind: boolean): void {
    const wasHurried = this.#isHurried;
    if (isBehind && this.#kept.has(pid)) this.#behind.add(pid);
    else this.#behind.delete(pid);
    if (this.#isHurried === wasHurried || process.platform !== "linux") return;
    this.#settled.clear();
    this.#round();
  }

  get #isHurried(): boolean {
    return MAY_RAISE && this.#behind.size > 0;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#spareTime.stop();
  }

  #round(): void {
    if (this.#isStopped) return;
    const settled = new Set<number>();
    let isRefused = false;
    for (const pid of this.#processes()) {
      const change = this.#settled.has(pid) ? "done" : this.#change(pid);
      if (change === "done") settled.add(pid);
      isRefused ||= change === "refused";
    }
    this.#settled = settled;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#round(), isRefused ? RETRY_MS : ROUND_MS).unref();
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

  /**
   * Gives a process its priority. A process without a session of its own is visited again, because it may still open one, as
   * a new backend of Postgres does.
   */
  #change(pid: number): "done" | "again" | "refused" {
    let normal: number | undefined;
    let isBackground: boolean;
    let leadsSession: boolean;
    try {
      const own = this.#kept.get(pid);
      const parentPid = parentOf(pid);
      const parent = this.#kept.get(parentPid);
      // Where no priority may be raised, none could end the spare time.
      if (MAY_RAISE && parent === REDIS) this.#spareTime.begin(pid, parentPid);
      isBackground = (own ?? parent) === BACKGROUND;
      normal = own?.process ?? parent?.children;
      leadsSession = sessionOf(pid) === pid;
    } catch {
      // The process has ended.
      return "done";
    }
    if (normal === undefined) return "done";
    const niceness = isBackground && this.#isHurried ? 0 : normal;
    this.#changeThreads(pid, niceness, normal);
    if (!leadsSession) return "again";
    const text = String(niceness);
    const isDone = this.#attempt(niceness, () =>
      fs.writeFileSync(`/proc/${pid}/autogroup`, text, { flag: "r+" }),
    );
    return isDone ? "done" : "refused";
  }

  /** Changes the threads that have the nice value of this process or their normal one. Others have set theirs themselves. */
  #changeThreads(pid: number, niceness: number, normal: number): void {
    const base = os.getPriority();
    const given = [base, Math.min(HIGHEST_NICE, base + normal)];
    for (const thread of threadsOf(pid))
      this.#attempt(niceness, () => {
        if (given.includes(os.getPriority(thread)))
          os.setPriority(thread, Math.min(HIGHEST_NICE, base + niceness));
      });
  }

  /** Returns false when a change failed that may succeed later. */
  #attempt(niceness: number, change: () => void): boolean {
    try {
      change();
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") return false;
      // A process that has ended, or a system without autogroups, has nothing to change.
      if (code === "ENOENT" || code === "ESRCH") return true;
      // Only few users may raise a priority; a worker of the others keeps its own.
      if (niceness < 0 && (code === "EPERM" || code === "EACCES")) return true;
      this.#failed(error);
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

/** Returns whether the system lets this process raise a priority, by raising its own for a moment. */
function mayRaise(): boolean {
  const priority = os.getPriority();
  try {
    os.setPriority(Math.max(-20, priority - 1));
    os.setPriority(priority);
    return true;
  } catch {
    return false;
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
