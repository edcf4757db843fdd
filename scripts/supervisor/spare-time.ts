/**
 * Processes that run for their first minute only while a core has nothing else to do (SCHED_IDLE of Linux). A process with
 * a low nice value still holds its core until the scheduler's next look; one of this policy leaves it at once.
 */

import { execFile } from "node:child_process";
import { parentOf } from "./identity.js";

/** Time in ms after which a process runs as its nice value says, because busy cores might never let it end. */
const SPARE_MS = 60_000;

export class SpareTime {
  /** Timers by process, until it has ended. */
  readonly #timers = new Map<number, NodeJS.Timeout>();

  constructor(private readonly spareMs = SPARE_MS) {}

  /** Begins the minute of a child of `parent`, unless it has begun. Without `chrt` its nice value alone counts. */
  begin(pid: number, parent: number): void {
    if (this.#timers.has(pid)) return;
    setPolicy(pid, "--idle");
    const end = (): void => {
      if (isChild(pid, parent)) {
        setPolicy(pid, "--other");
        return;
      }
      clearInterval(this.#timers.get(pid));
      this.#timers.delete(pid);
    };
    this.#timers.set(pid, setInterval(end, this.spareMs).unref());
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearInterval(timer);
  }
}

function setPolicy(pid: number, policy: "--idle" | "--other"): void {
  // The process may have ended, and a system without `chrt` has no such policy.
  execFile("chrt", [policy, "--pid", "0", String(pid)], () => undefined);
}

function isChild(pid: number, parent: number): boolean {
  try {
    return parentOf(pid) === parent;
  } catch {
    return false;
  }
}
