import { execFileSync } from "node:child_process";
import fs from "node:fs";

/** A process as we remember it on disk: its id alone may belong to somebody else by now. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string;
}

/**
 * When the process began, as an opaque text, or undefined when there is no such process. Together with
 * the process id it tells a process from a later one that was given the same id, which is common in
 * containers, where ids start at 1 again.
 */
export function startOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
      // The program's name stands in brackets and may contain anything, so fields count from the last one.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (fields[0] === "Z" || fields[0] === "X") return undefined;
      const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      return `${boot} ${fields[19] ?? ""}`;
    } catch {
      return undefined;
    }
  }
  try {
    const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return line === "" || line.startsWith("Z") ? undefined : line.replace(/^\S+\s+/, "");
  } catch {
    return undefined;
  }
}

/** The mark to keep of a process that is running now. */
export function markOf(pid: number): ProcessMark {
  return { pid, started: startOf(pid) ?? "" };
}

/** Whether the very process of the mark is still running. */
export function isRunning(mark: ProcessMark): boolean {
  return mark.started !== "" && startOf(mark.pid) === mark.started;
}

/** Waits until the process of the mark is gone; false when it is still there after `timeoutMs`. */
export async function waitUntilGone(mark: ProcessMark, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(mark)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
